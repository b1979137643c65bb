// Bytes read in sequence from a file or from memory, plain or decompressed. Only compression.cc
// includes zlib.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace pando::data {

// One thread at a time.
class ByteInput {
 public:
  virtual ~ByteInput() = default;
  ByteInput(const ByteInput&) = delete;
  ByteInput& operator=(const ByteInput&) = delete;

  // Fills `to` and returns the number of bytes; fewer than asked for mean the end. Throws IoError.
  virtual size_t read(std::span<uint8_t> to) = 0;
  // An upper bound of the bytes still to come; exact when exact() is true.
  virtual uint64_t most_left() const = 0;
  virtual bool exact() const = 0;
  // The reason if the bytes ended too early; otherwise "".
  virtual std::string cut_short() const { return {}; }

 protected:
  ByteInput() = default;
};

using ByteInputPtr = std::unique_ptr<ByteInput>;

// A regular file read at any place. Any number of threads may read it.
class RandomAccessFile {
 public:
  explicit RandomAccessFile(const std::string& path);  // throws IoError with path and reason
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  uint64_t size() const { return size_; }  // when it was opened
  // Fills `to` with the bytes from `offset` on and returns their number; fewer than asked for mean
  // the end of the file. Throws IoError.
  size_t read(uint64_t offset, std::span<uint8_t> to) const;
  // Tells the system that small pieces far apart will be read, so that it reads nothing ahead.
  void expect_jumps() const;

 private:
  std::string path_;
  int descriptor_;
  uint64_t size_ = 0;
};

// A regular file from its front. Throws IoError with path and reason.
ByteInputPtr open_input(const std::string& path);
// A view of `content`, which must outlive it.
ByteInputPtr memory_input(std::span<const uint8_t> content);
// Gives `front`, which was read from `rest` before, and then `rest`.
ByteInputPtr pushed_back(std::span<const uint8_t> front, ByteInputPtr rest);

}  // namespace pando::data
