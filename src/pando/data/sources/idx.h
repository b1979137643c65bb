// IDX files (MNIST and its relatives): two zero bytes, a type byte, the number of axes, one 32-bit
// big-endian extent per axis, then the elements big-endian in row-major order.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "pando/tensor/tensor.h"

namespace pando {

// The array in a raw or gzip-compressed IDX file. u8, i32 and f32 stay what they are, i8 and i16
// become i32, f64 becomes f32. Throws IoError, which names the path, when the file is missing, not
// IDX, cut short or too long. Allocates no more memory than the file can fill.
Tensor read_idx(const std::string& path);

// The same for a file that is already in memory; `place` names it in errors.
Tensor parse_idx(std::span<const uint8_t> content, const std::string& place);

}  // namespace pando
