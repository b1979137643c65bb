// The header of a .npy file: a Python dictionary that tells type, order and shape.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pando/tensor/shape.h"

namespace pando::data {

struct NpyHeader {
  char kind = 'f';   // b, i, u or f, as NumPy writes them
  int64_t size = 4;  // bytes of an element
  bool big_endian = false;
  bool fortran_order = false;
  Shape shape;
  size_t bytes = 0;  // of the header, with the magic number

  int64_t payload() const { return shape.elements() * size; }
};

// Throws IoError with `place` for anything that is not the header of an array of numbers, and for
// one that asks for more elements than any file holds.
NpyHeader parse_npy_header(std::span<const uint8_t> content, const std::string& place);

}  // namespace pando::data
