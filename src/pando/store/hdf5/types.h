// Datatypes, dataspaces and elements: what the bytes of a dataset or an attribute mean.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pando/store/hdf5/bytes.h"
#include "pando/store/hdf5/heaps.h"
#include "pando/tensor/tensor.h"

namespace pando::store::hdf5 {

enum class ElementKind { integer, floating, fixed_string, variable_string, other };
enum class StringPadding : uint8_t { zero_terminated = 0, zeros = 1, spaces = 2 };

struct Datatype {
  ElementKind kind = ElementKind::other;
  uint32_t bytes = 0;  // of an element in the file
  bool big_endian = false;
  bool is_signed = false;
  StringPadding padding = StringPadding::zeros;
  std::string name;  // for messages: "int64", "a compound type"

  bool is_string() const {
    return kind == ElementKind::fixed_string || kind == ElementKind::variable_string;
  }
  bool is_number() const { return kind == ElementKind::integer || kind == ElementKind::floating; }
};

// Types that we do not read have the kind `other`: they are refused when they are used.
Datatype parse_datatype(const FileBytes& file, ByteSpan body);

struct Dataspace {
  bool null = false;  // no element and no shape
  std::vector<uint64_t> dims;
  std::vector<uint64_t> most_dims;  // kNowhere: no limit

  // 1 for a scalar. Throws IoError when it is more than 2^48.
  uint64_t elements() const;
};

Dataspace parse_dataspace(const FileBytes& file, ByteSpan body);

// The functions below require: `raw` holds whole elements of that type.
std::vector<std::string> decode_strings(const FileBytes& file, GlobalHeap& heap,
                                        const Datatype& type, ByteSpan raw);
std::vector<double> decode_numbers(const Datatype& type, ByteSpan raw);

// The type of the tensor that holds numbers of that type: f16 for float16, f32 for wider floating
// point, u8 for uint8, i32 for other integers. Throws IoError for anything but numbers.
DType tensor_type(const Datatype& type);
// True when the bytes in the file are those of the tensor.
bool same_bytes(const Datatype& type);
// Throws IoError when an integer does not fit into i32.
void decode_tensor(const Datatype& type, ByteSpan raw, Tensor& to);

}  // namespace pando::store::hdf5
