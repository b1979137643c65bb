// Writes pickles as Python 2 wrote the CIFAR archives (protocol 2, byte strings), so that every
// program that loads those loads these.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace pando::data {

// Values follow each other as they are written; a dict is begin_dict, then key and value in turn,
// then end_dict; a list likewise. finish() ends the pickle of the one value.
class PickleWriter {
 public:
  PickleWriter();

  void begin_dict();
  void end_dict();
  void begin_list();
  void end_list();
  void text(std::string_view bytes);  // a str of Python 2
  void integer(int32_t value);
  // A numpy array of u8 [rows, columns], row-major.
  void matrix(std::span<const uint8_t> bytes, size_t rows, size_t columns);

  std::vector<uint8_t> finish() &&;

 private:
  void raw(std::string_view bytes);
  void number(uint64_t value, int bytes);

  std::vector<uint8_t> bytes_;
};

}  // namespace pando::data
