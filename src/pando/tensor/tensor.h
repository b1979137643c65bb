// A dense tensor in host memory, row-major, with its type and shape. Users pass data in and get
// results back as tensors. Programs on a device work on an arena instead and allocate no tensors
// per step.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "pando/base/error.h"
#include "pando/tensor/dtype.h"
#include "pando/tensor/shape.h"

namespace pando {

// Owns its elements; copying copies the elements, moving leaves an empty tensor of shape [0]
// behind.
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, Shape shape);  // zero-filled
  Tensor(Shape shape, std::span<const float> values);
  Tensor(const Tensor& other);
  Tensor& operator=(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;

  static Tensor of_f32(Shape shape, std::initializer_list<float> values);
  static Tensor of_i32(Shape shape, std::initializer_list<int32_t> values);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  size_t bytes() const { return static_cast<size_t>(elements_) * size_of(dtype_); }
  bool empty() const { return elements_ == 0; }

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }

  // The elements as a typed span. Requires: T is the type of dtype().
  template <typename T>
  std::span<T> span() {
    check_type(DTypeOf<T>::value);
    return {reinterpret_cast<T*>(data_.get()), static_cast<size_t>(elements_)};
  }
  template <typename T>
  std::span<const T> span() const {
    check_type(DTypeOf<T>::value);
    return {reinterpret_cast<const T*>(data_.get()), static_cast<size_t>(elements_)};
  }
  std::span<float> f32() { return span<float>(); }
  std::span<const float> f32() const { return span<float>(); }
  std::span<uint8_t> u8() { return span<uint8_t>(); }
  std::span<const uint8_t> u8() const { return span<uint8_t>(); }
  std::span<int32_t> i32() { return span<int32_t>(); }
  std::span<const int32_t> i32() const { return span<int32_t>(); }

  // The same elements with another shape; throws InvalidArgument if the number of elements differs.
  Tensor reshaped(Shape shape) const&;
  Tensor reshaped(Shape shape) &&;

  // Rows [begin, end) of the first axis, copied.
  Tensor rows(int64_t begin, int64_t end) const;

 private:
  struct FreeAligned {
    void operator()(std::byte* data) const;
  };
  void check_type(DType wanted) const;

  DType dtype_ = DType::f32;
  Shape shape_ = {0};
  int64_t elements_ = 0;
  std::unique_ptr<std::byte, FreeAligned> data_;
};

// Converts between element types; to integers as in tensor/convert.h.
Tensor cast(const Tensor& tensor, DType dtype);

// The largest |a - b| and the largest |a - b| / (|a| + |b| + floor) of all elements; `floor` keeps
// the relative difference of numbers near zero small. Requires: both are f32 and have the same
// shape.
struct Difference {
  double absolute = 0;
  double relative = 0;
};
Difference difference(const Tensor& a, const Tensor& b, double floor = 1e-3);

}  // namespace pando
