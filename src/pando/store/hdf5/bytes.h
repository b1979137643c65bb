// The bytes of an HDF5 file. All that is read from it goes through here: no read leaves the file,
// and all metadata together is limited, so that no loop or overlap of blocks keeps a reader busy.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/base/error.h"
#include "pando/data/tfrecord/byte_input.h"

namespace pando::store::hdf5 {

using ByteSpan = std::span<const uint8_t>;
using Bytes = std::vector<uint8_t>;

constexpr uint64_t kNowhere = ~uint64_t{0};  // the address of a block that does not exist

// The number of bytes of addresses and of lengths in this file.
struct Widths {
  uint8_t address = 8;
  uint8_t length = 8;
};

// Reads little-endian fields one after the other. Throws IoError, which names `what`, at the end.
class Cursor {
 public:
  Cursor(ByteSpan bytes, Widths widths, std::string_view what)
      : left_(bytes), widths_(widths), what_(what) {}

  uint64_t number(size_t width);  // of at most 8 bytes
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  uint64_t length() { return number(widths_.length); }
  uint64_t address();  // kNowhere when all bits are set
  ByteSpan bytes(uint64_t count);
  void skip(uint64_t count) { bytes(count); }
  ByteSpan rest() const { return left_; }
  size_t left() const { return left_.size(); }
  Widths widths() const { return widths_; }

 private:
  ByteSpan left_;
  Widths widths_;
  std::string_view what_;
};

// Bytes are handed out by this budget, so that a small file cannot ask for a large memory.
struct DataBudget {
  uint64_t left;
  void take(uint64_t bytes);  // throws IoError
};

// All failures are IoErrors, which name neither file nor object: Hdf5Reader adds both. One thread
// at a time.
class FileBytes {
 public:
  explicit FileBytes(const std::string& path);
  // A view of `content`, which must outlive it. Without `checked`, checksums of metadata may be
  // wrong, for fuzzing: a fuzzer cannot guess them.
  FileBytes(ByteSpan content, bool checked);

  uint64_t size() const { return size_; }
  Widths widths() const { return widths_; }

  // The superblock says where addresses count from, where the file ends and how wide fields are.
  void describe(uint64_t base, uint64_t end, Widths widths);

  // Metadata. Throws if it is outside the file or if all calls together read too much.
  Bytes read(uint64_t address, uint64_t count);
  // A block that begins with a signature and, if `sealed`, ends with a checksum, which is checked.
  // Returns all of it.
  Bytes read_block(uint64_t address, uint64_t count, std::string_view signature, bool sealed);
  // Throws unless the last four bytes are the checksum of the others.
  void check_sum(ByteSpan block, std::string_view signature) const;
  // Counts bytes as read, for copies of metadata.
  void charge(uint64_t count);
  Cursor cursor(ByteSpan bytes, std::string_view what) const { return {bytes, widths_, what}; }

  // Contents of datasets.
  void read_data(uint64_t address, std::span<uint8_t> to) const;
  // Throws unless these bytes are in the file.
  void check_inside(uint64_t address, uint64_t count) const;

 private:
  std::unique_ptr<data::RandomAccessFile> file_;  // or content_
  ByteSpan content_;
  bool checked_ = true;
  uint64_t size_ = 0;
  uint64_t base_ = 0;
  uint64_t end_ = 0;  // size_, until the superblock is read
  uint64_t charged_ = 0;
  Widths widths_;
};

}  // namespace pando::store::hdf5
