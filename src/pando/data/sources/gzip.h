// Reads a file that may be gzip-compressed, in sequence. Only gzip.cc includes zlib.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace pando::data {

// Reads a whole regular file. Throws IoError with the path.
std::vector<uint8_t> read_file(const std::string& path);

// Reads bytes that are raw or gzip, decided by how they begin. A view of `content`; `place` names
// the file in errors. One thread at a time.
class PlainReader {
 public:
  PlainReader(std::span<const uint8_t> content, std::string place);
  ~PlainReader();

  bool compressed() const { return inflater_ != nullptr; }
  // Fills `to` and returns the number of bytes; fewer than asked for mean the end. Throws IoError
  // when compressed data is damaged, cut short or followed by something else.
  size_t read(std::span<uint8_t> to);
  // An upper bound of the bytes still to come, exact for raw content. A header that asks for more
  // is wrong.
  uint64_t most_left() const;

 private:
  struct Inflater;
  size_t read_compressed(std::span<uint8_t> to);
  void end_of_member();

  std::span<const uint8_t> content_;  // what is not read yet, when raw
  std::string place_;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace pando::data
