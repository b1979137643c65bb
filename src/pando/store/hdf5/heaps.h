// The three heaps of HDF5 files, which hold objects of any size.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pando/store/hdf5/bytes.h"

namespace pando::store::hdf5 {

// The names of an old group.
class LocalHeap {
 public:
  LocalHeap(FileBytes& file, uint64_t address);
  std::string text(uint64_t offset) const;  // up to a zero byte

 private:
  Bytes content_;
};

// The links or attributes of one object, when there are many or large ones.
class FractalHeap {
 public:
  FractalHeap(FileBytes& file, uint64_t address);
  size_t id_bytes() const { return id_bytes_; }
  Bytes object(ByteSpan id);

 private:
  // Blocks of the heap grow with the row: two rows of the smallest size, then twice as large ones.
  uint64_t row_block_bytes(size_t row) const;
  Bytes managed_object(Cursor id);
  Bytes huge_object(Cursor id);
  struct Block {
    uint64_t address;
    uint64_t start;  // its place in the heap
    uint64_t bytes;
  };
  Block find_block(uint64_t offset);
  const Bytes& read_direct_block(const Block& block);
  const Bytes& read_indirect_block(uint64_t address, size_t rows);

  FileBytes& file_;
  uint64_t id_bytes_ = 0;
  bool sealed_blocks_ = false;
  uint64_t largest_managed_ = 0;
  uint64_t huge_tree_ = kNowhere;
  size_t width_ = 0;  // blocks per row
  uint64_t first_block_bytes_ = 0;
  uint64_t largest_block_bytes_ = 0;
  size_t offset_bits_ = 0;
  uint64_t root_ = kNowhere;
  size_t root_rows_ = 0;  // 0: the root is a direct block
  std::map<uint64_t, Bytes> blocks_;
  struct Place {
    uint64_t address;
    uint64_t bytes;
  };
  std::map<uint64_t, Place> huge_;  // by key, once one was asked for
  bool huge_known_ = false;
};

// Strings of variable length, in collections.
class GlobalHeap {
 public:
  GlobalHeap(FileBytes& file, DataBudget& budget) : file_(file), budget_(budget) {}
  // The first `bytes` bytes of an object.
  std::string text(uint64_t collection, uint32_t index, uint32_t bytes);

 private:
  const std::map<uint32_t, std::string>& objects(uint64_t collection);

  FileBytes& file_;
  DataBudget& budget_;
  std::map<uint64_t, std::map<uint32_t, std::string>> collections_;  // by address
};

}  // namespace pando::store::hdf5
