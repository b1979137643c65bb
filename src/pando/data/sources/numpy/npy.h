// Arrays in the files of NumPy: one in .npy, several by name in .npz.
//
//   const Tensor x = load_npy("x_train.npy");
//   const auto arrays = load_npz("mnist.npz");   // arrays.at("x_train")
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "pando/tensor/tensor.h"

namespace pando {

// u1 becomes u8; other integers and bool become i32; f2, f4 and f8 become f32. Big-endian numbers
// and columns that lie together (Fortran order) are converted. Headers of versions 1.0 to 3.0 are
// read. Throws IoError for files that are missing, damaged or cut short, integers beyond i32, and
// arrays of other types; those of Python objects would have to be unpickled, which is refused.
Tensor load_npy(const std::string& path);

// The arrays of an archive by their names, stored or deflated, also of more than 4 GiB. Members
// that are not arrays are left out. Throws like load_npy(), and for damaged archives.
std::map<std::string, Tensor> load_npz(const std::string& path);

// Writes f32, f16, u8 or i32. Throws InvalidArgument for bf16, which NumPy does not have, and
// IoError.
void save_npy(const std::string& path, const Tensor& tensor);

namespace data {

// The same for the content of files; `place` names them in errors.
Tensor parse_npy(std::span<const uint8_t> content, const std::string& place);
std::map<std::string, Tensor> parse_npz(std::span<const uint8_t> content, const std::string& place);

}  // namespace data

}  // namespace pando
