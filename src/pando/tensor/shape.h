// The extents of a tensor. Activations are channels-last: [batch, height, width, channels] and
// [batch, depth, height, width, channels]; filters of convolutions are [kh, kw, in, out].
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

namespace pando {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int axis) { return dims_[static_cast<size_t>(axis)]; }
  int64_t front() const { return dims_.front(); }
  int64_t back() const { return dims_.back(); }
  const std::vector<int64_t>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  // The product of the extents; throws InvalidArgument for a negative extent or an overflow.
  int64_t elements() const;
  // The product of the extents from axis `first` on.
  int64_t elements_from(int first) const;

  bool operator==(const Shape&) const = default;

 private:
  std::vector<int64_t> dims_;
};

std::string to_string(const Shape& shape);  // "[64,28,28,1]"
inline std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << to_string(shape);
}

}  // namespace pando
