// SPDX-License-Identifier: MIT
#include "pando/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <sys/mman.h>

#include "pando/base/memory_use.h"
#include "pando/tensor/convert.h"
#include "pando/tensor/half.h"

namespace pando {

namespace {

constexpr size_t kAlignment = 64;  // one cache line, one AVX-512 register
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLarge = size_t{1} << 30;  // smaller tensors need no look at the machine's memory

}  // namespace

void Tensor::FreeAligned::operator()(std::byte* data) const { std::free(data); }

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype), shape_(std::move(shape)), elements_(shape_.elements()) {
  if (static_cast<uint64_t>(elements_) > (uint64_t{1} << 62) / size_of(dtype_)) {
    throw ResourceError("tensor ", to_string(dtype_), shape_, " does not fit into memory");
  }
  const int64_t machine = bytes() < kLarge ? 0 : memory_use().machine;
  if (machine > 0 && bytes() > static_cast<size_t>(machine)) {
    throw ResourceError("a tensor ", to_string(dtype_), shape_, " needs ",
                        human_bytes(static_cast<double>(bytes())), ", the machine has ",
                        human_bytes(static_cast<double>(machine)));
  }
  // Large tensors (weights of dense layers) are read in strides: huge pages reduce address
  // look-ups.
  const bool huge = bytes() >= kHugePage;
  const size_t alignment = huge ? kHugePage : kAlignment;
  const size_t rounded = (std::max<size_t>(bytes(), 1) + alignment - 1) / alignment * alignment;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
  if (data_ == nullptr) {
    throw ResourceError("cannot allocate a tensor ", to_string(dtype_), shape_, " of ",
                        human_bytes(static_cast<double>(rounded)));
  }
  if (huge) madvise(data_.get(), rounded, MADV_HUGEPAGE);  // a hint: small pages work as well
  std::memset(data_.get(), 0, rounded);
}

Tensor::Tensor(Shape shape, std::span<const float> values) : Tensor(DType::f32, std::move(shape)) {
  if (static_cast<int64_t>(values.size()) != elements_) {
    throw InvalidArgument("tensor ", shape_, ": expected ", elements_, " values, got ",
                          values.size());
  }
  std::copy(values.begin(), values.end(), f32().begin());
}

Tensor::Tensor(const Tensor& other) : Tensor(other.dtype_, other.shape_) {
  if (other.data_ != nullptr) std::memcpy(data_.get(), other.data_.get(), bytes());
}

Tensor& Tensor::operator=(const Tensor& other) {
  if (this != &other) *this = Tensor(other);
  return *this;
}

Tensor::Tensor(Tensor&& other) noexcept
    : dtype_(other.dtype_),
      shape_(std::exchange(other.shape_, Shape{0})),
      elements_(std::exchange(other.elements_, 0)),
      data_(std::move(other.data_)) {}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  dtype_ = other.dtype_;
  shape_ = std::exchange(other.shape_, Shape{0});
  elements_ = std::exchange(other.elements_, 0);
  data_ = std::move(other.data_);
  return *this;
}

Tensor Tensor::of_f32(Shape shape, std::initializer_list<float> values) {
  return Tensor(std::move(shape), std::span(values.begin(), values.size()));
}

Tensor Tensor::of_i32(Shape shape, std::initializer_list<int32_t> values) {
  Tensor tensor(DType::i32, std::move(shape));
  if (static_cast<int64_t>(values.size()) != tensor.elements()) {
    throw InvalidArgument("tensor ", tensor.shape(), ": expected ", tensor.elements(),
                          " values, got ", values.size());
  }
  std::copy(values.begin(), values.end(), tensor.i32().begin());
  return tensor;
}

Tensor Tensor::reshaped(Shape shape) const& {
  Tensor copy(*this);
  return std::move(copy).reshaped(std::move(shape));
}

Tensor Tensor::reshaped(Shape shape) && {
  if (shape.elements() != elements_) {
    throw InvalidArgument("cannot reshape ", shape_, " (", elements_, " elements) to ", shape);
  }
  shape_ = std::move(shape);
  return std::move(*this);
}

Tensor Tensor::rows(int64_t begin, int64_t end) const {
  if (shape_.rank() == 0 || begin < 0 || end < begin || end > shape_[0]) {
    throw InvalidArgument("rows ", begin, " to ", end, " are not in a tensor of shape ", shape_);
  }
  Shape shape = shape_;
  shape[0] = end - begin;
  Tensor result(dtype_, shape);
  const size_t row = static_cast<size_t>(shape_.elements_from(1)) * size_of(dtype_);
  if (!result.empty())
    std::memcpy(result.data(), data() + static_cast<size_t>(begin) * row, result.bytes());
  return result;
}

void Tensor::check_type(DType wanted) const {
  if (wanted != dtype_) {
    throw InvalidArgument("expected a tensor of ", to_string(wanted), ", got ", to_string(dtype_));
  }
}

namespace {

float element_as_float(const Tensor& tensor, int64_t index) {
  const std::byte* at = tensor.data() + static_cast<size_t>(index) * size_of(tensor.dtype());
  const auto read = [&]<typename T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (tensor.dtype()) {
    case DType::f32: return read(float{});
    case DType::f16: return from_f16(read(uint16_t{}));
    case DType::bf16: return from_bf16(read(uint16_t{}));
    case DType::u8: return static_cast<float>(read(uint8_t{}));
    case DType::i32: return static_cast<float>(read(int32_t{}));
  }
  return 0;
}

void set_element(Tensor& tensor, int64_t index, float value) {
  std::byte* at = tensor.data() + static_cast<size_t>(index) * size_of(tensor.dtype());
  const auto write = [&](auto bits) { std::memcpy(at, &bits, sizeof bits); };
  switch (tensor.dtype()) {
    case DType::f32: return write(value);
    case DType::f16: return write(to_f16(value));
    case DType::bf16: return write(to_bf16(value));
    case DType::u8: return write(f32_to_u8(value));
    case DType::i32: return write(f32_to_i32(value));
  }
}

}  // namespace

Tensor cast(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor result(dtype, tensor.shape());
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    set_element(result, i, element_as_float(tensor, i));
  }
  return result;
}

Difference difference(const Tensor& a, const Tensor& b, double floor) {
  if (a.shape() != b.shape()) {
    throw InvalidArgument("cannot compare shapes ", a.shape(), " and ", b.shape());
  }
  Difference worst;
  const auto x = a.f32();
  const auto y = b.f32();
  for (size_t i = 0; i < x.size(); ++i) {
    const double gap = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    if (gap > worst.absolute || std::isnan(gap)) worst.absolute = gap;
    const double relative =
        gap / (std::abs(static_cast<double>(x[i])) + std::abs(static_cast<double>(y[i])) + floor);
    if (relative > worst.relative || std::isnan(relative)) worst.relative = relative;
  }
  return worst;
}

}  // namespace pando
