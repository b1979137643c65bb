// SPDX-License-Identifier: MIT
#include "pando/data/sources/numpy/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "pando/base/memory_limit.h"
#include "pando/base/new_file.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/numpy/npy_header.h"
#include "pando/tensor/half.h"

namespace pando {

namespace {

using data::NpyHeader;

// Numbers of `From` as elements of `To`; Bits is the unsigned type of that size.
template <typename From, typename Bits, typename To, typename Convert>
void convert_numbers(const NpyHeader& header, std::span<const uint8_t> payload, std::span<To> to,
                     const Convert& convert) {
  for (size_t i = 0; i < to.size(); ++i) {
    Bits bits = 0;
    std::memcpy(&bits, payload.data() + i * sizeof(Bits), sizeof(Bits));
    if constexpr (sizeof(Bits) > 1) {
      if (header.big_endian) {
        Bits swapped = 0;
        for (size_t b = 0; b < sizeof(Bits); ++b) {
          swapped = static_cast<Bits>(uint64_t{swapped} << 8 | (uint64_t{bits} >> (8 * b) & 0xff));
        }
        bits = swapped;
      }
    }
    to[i] = convert(std::bit_cast<From>(bits), i);
  }
}

template <typename From, typename Bits>
void convert_whole(const NpyHeader& header, std::span<const uint8_t> payload,
                   const std::string& place, std::span<int32_t> to) {
  convert_numbers<From, Bits>(header, payload, to, [&](From value, size_t i) {
    if (!std::in_range<int32_t>(value)) {
      throw IoError(place, ": element ", i, " is ", value, ", expected whole numbers of 32 bits");
    }
    return static_cast<int32_t>(value);
  });
}

template <typename From, typename Bits>
void convert_real(const NpyHeader& header, std::span<const uint8_t> payload, std::span<float> to) {
  convert_numbers<From, Bits>(header, payload, to,
                              [](From value, size_t) { return static_cast<float>(value); });
}

// The elements in the order of the file.
Tensor convert_elements(const NpyHeader& header, std::span<const uint8_t> payload,
                        const std::string& place) {
  const bool is_u8 = header.kind == 'u' && header.size == 1;
  Tensor tensor(is_u8 ? DType::u8 : header.kind == 'f' ? DType::f32 : DType::i32, header.shape);
  if (is_u8) {
    std::ranges::copy(payload, tensor.u8().begin());
  } else if (header.kind == 'f' && header.size == 2) {
    convert_numbers<uint16_t, uint16_t>(header, payload, tensor.f32(),
                                        [](uint16_t bits, size_t) { return from_f16(bits); });
  } else if (header.kind == 'f' && header.size == 4) {
    convert_real<float, uint32_t>(header, payload, tensor.f32());
  } else if (header.kind == 'f') {
    convert_real<double, uint64_t>(header, payload, tensor.f32());
  } else if (header.kind == 'u') {
    switch (header.size) {
      case 2: convert_whole<uint16_t, uint16_t>(header, payload, place, tensor.i32()); break;
      case 4: convert_whole<uint32_t, uint32_t>(header, payload, place, tensor.i32()); break;
      default: convert_whole<uint64_t, uint64_t>(header, payload, place, tensor.i32()); break;
    }
  } else {
    switch (header.size) {
      case 1: convert_whole<int8_t, uint8_t>(header, payload, place, tensor.i32()); break;
      case 2: convert_whole<int16_t, uint16_t>(header, payload, place, tensor.i32()); break;
      case 4: convert_whole<int32_t, uint32_t>(header, payload, place, tensor.i32()); break;
      default: convert_whole<int64_t, uint64_t>(header, payload, place, tensor.i32()); break;
    }
  }
  return tensor;
}

// Elements whose first index varies fastest, in the usual order.
template <typename T>
void reorder(std::span<const T> from, const Shape& shape, std::span<T> to) {
  const auto rank = static_cast<size_t>(shape.rank());
  std::vector<size_t> steps(rank, 1);  // in `from`, for one step along each axis
  for (size_t axis = 1; axis < rank; ++axis) {
    steps[axis] = steps[axis - 1] * static_cast<size_t>(shape[static_cast<int>(axis) - 1]);
  }
  std::vector<int64_t> index(rank, 0);
  size_t at = 0;
  for (T& value : to) {
    value = from[at];
    for (size_t axis = rank; axis-- > 0;) {
      at += steps[axis];
      if (++index[axis] < shape[static_cast<int>(axis)]) break;
      at -= steps[axis] * static_cast<size_t>(shape[static_cast<int>(axis)]);
      index[axis] = 0;
    }
  }
}

Tensor in_rows(const Tensor& columns) {
  Tensor rows(columns.dtype(), columns.shape());
  if (columns.dtype() == DType::u8) {
    reorder(columns.u8(), columns.shape(), rows.u8());
  } else if (columns.dtype() == DType::f32) {
    reorder(columns.f32(), columns.shape(), rows.f32());
  } else {
    reorder(columns.i32(), columns.shape(), rows.i32());
  }
  return rows;
}

const char* numpy_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return "<f4";
    case DType::f16: return "<f2";
    case DType::u8: return "|u1";
    case DType::i32: return "<i4";
    case DType::bf16: break;
  }
  throw InvalidArgument("save_npy: NumPy has no bf16; cast the tensor to f32");
}

}  // namespace

Tensor data::parse_npy(std::span<const uint8_t> content, const std::string& place) {
  const NpyHeader header = parse_npy_header(content, place);
  const std::span<const uint8_t> payload = content.subspan(header.bytes);
  if (std::ssize(payload) != header.payload()) {
    throw IoError(place, ": ", payload.size(), " bytes follow the header, expected ",
                  header.payload(), " for an array ", header.shape, " of ", header.size,
                  " bytes each");
  }
  require_memory(concat("the array in ", place), 4 * header.shape.elements());
  Tensor tensor = convert_elements(header, payload, place);
  if (header.fortran_order && header.shape.rank() > 1) return in_rows(tensor);
  return tensor;
}

Tensor load_npy(const std::string& path) { return data::parse_npy(data::read_file(path), path); }

std::map<std::string, Tensor> load_npz(const std::string& path) {
  return data::parse_npz(data::read_file(path), path);
}

void save_npy(const std::string& path, const Tensor& tensor) {
  std::string shape;
  for (const int64_t extent : tensor.shape()) shape += concat(extent, ", ");
  if (tensor.shape().rank() > 1) shape.resize(shape.size() - 2);
  std::string header = concat("{'descr': '", numpy_type(tensor.dtype()),
                              "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr size_t kBefore = 10;     // bytes in front of the dictionary
  constexpr size_t kAlignment = 64;  // of the elements
  header.resize((kBefore + header.size() + kAlignment) / kAlignment * kAlignment - kBefore - 1,
                ' ');
  header += '\n';
  std::string start = "\x93NUMPY";
  for (const size_t byte : {size_t{1}, size_t{0}, header.size() % 256, header.size() / 256}) {
    start += static_cast<char>(byte);
  }
  NewFile file(path);
  start += header;
  file.write(std::as_bytes(std::span(start)));
  file.write(std::span(tensor.data(), tensor.bytes()));
  file.commit();
}

}  // namespace pando
