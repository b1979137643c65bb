// Tensors in JSON: nested lists of numbers, or of encoded bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pando/tensor/dtype.h"
#include "pando/wire/json_cursor.h"

namespace pando::wire {

struct TensorLimits {
  int64_t elements = int64_t{1} << 26;  // that are numbers
  // The most strings. An empty one takes three bytes of a body, and more than ten times as much in
  // memory.
  int64_t strings = int64_t{1} << 20;
  int rank = 8;  // of one value
};

// Collects values of one shape, each a number, a string, {"b64": "..."} or nested lists of such.
// The first value decides the shape and whether elements are numbers or bytes; a value that differs
// is refused by InvalidArgument, in the words of TensorFlow Serving.
class TensorBuilder {
 public:
  // How numbers are kept: f32, or i32, which must be whole.
  enum class Numbers { f32, i32 };

  explicit TensorBuilder(Numbers numbers = Numbers::f32, TensorLimits limits = {})
      : numbers_(numbers), limits_(limits) {}
  // The shape that the first value probably has. Makes reading faster, and changes nothing else.
  void expect(std::vector<int64_t> shape) { expected_ = std::move(shape); }

  void add(JsonCursor& cursor);

  int64_t values() const { return values_; }
  const std::vector<int64_t>& shape() const { return shape_; }  // of one value
  bool has_bytes() const { return kind_ == Kind::bytes; }
  // The elements: f32() or i32() has numbers, bytes() has bytes, the others are empty.
  std::vector<float>& f32() { return f32_; }
  std::vector<int32_t>& i32() { return i32_; }
  std::vector<std::string>& bytes() { return bytes_; }

 private:
  enum class Kind { unknown, numbers, bytes };

  bool add_fast(JsonCursor& cursor);
  void add_list(JsonCursor& cursor);
  void add_numbers(JsonCursor& cursor, int64_t& count);
  void add_element(JsonCursor& cursor);
  void add_number(JsonCursor& cursor);
  void add_bytes(JsonCursor& cursor, bool is_object);
  void close_list(int level, int64_t count);
  void check_level(int level) const;
  void check_kind(Kind kind);
  int64_t elements() const;

  Numbers numbers_;
  TensorLimits limits_;
  Kind kind_ = Kind::unknown;
  int64_t values_ = 0;
  int rank_ = -1;               // -1: no element was read yet
  std::vector<int64_t> shape_;  // -1: not known yet
  std::vector<int64_t> expected_;
  std::vector<float> f32_;
  std::vector<int32_t> i32_;
  std::vector<std::string> bytes_;
};

// Appends a number in the shortest form that gives the same bits back, with ".0" if it is whole, as
// clients tell floats by it; NaN, Infinity and -Infinity bare.
void append_float(std::string& out, float value);

// Appends the elements as nested lists of this shape; a shape without dimensions is one element.
// Requires: f32, u8 or i32, as many as the shape says.
void append_tensor(std::string& out, std::span<const int64_t> shape, DType dtype,
                   std::span<const std::byte> data);

}  // namespace pando::wire
