// SPDX-License-Identifier: MIT
#include "pando/wire/json_tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "pando/base/error.h"
#include "pando/wire/base64.h"

namespace pando::wire {

int64_t TensorBuilder::elements() const {
  return static_cast<int64_t>(f32_.size() + i32_.size() + bytes_.size());
}

void TensorBuilder::add(JsonCursor& cursor) {
  if (cursor.kind() == JsonCursor::Kind::array) {
    if (add_fast(cursor)) return;
    add_list(cursor);
  } else {
    check_level(0);
    add_element(cursor);
  }
  // Lists without elements close all levels without any element.
  if (rank_ < 0) rank_ = static_cast<int>(shape_.size());
  ++values_;
}

// Reads a value of the shape that is known or expected; false if it is another one.
bool TensorBuilder::add_fast(JsonCursor& cursor) {
  const std::vector<int64_t>& shape = rank_ >= 0 ? shape_ : expected_;
  if (numbers_ != Numbers::f32 || kind_ == Kind::bytes) return false;
  if (shape.empty() || static_cast<int>(shape.size()) > limits_.rank) return false;
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 1 || extent > limits_.elements / count) return false;
    count *= extent;
  }
  const size_t before = f32_.size();
  if (static_cast<int64_t>(before) > limits_.elements - count) return false;
  f32_.resize(before + static_cast<size_t>(count));
  if (!cursor.read_lists(shape, f32_.data() + before)) {
    f32_.resize(before);
    return false;
  }
  kind_ = Kind::numbers;
  if (rank_ < 0) {
    rank_ = static_cast<int>(shape.size());
    shape_ = shape;
  }
  ++values_;
  return true;
}

// Without recursion: `counts` has the elements so far of every open list.
void TensorBuilder::add_list(JsonCursor& cursor) {
  std::array<int64_t, JsonCursor::kDeepest> counts = {};
  int level = 0;  // open lists
  const auto open = [&] {
    if (level == limits_.rank) {
      throw InvalidArgument("expected lists of at most ", limits_.rank, " levels, got more");
    }
    cursor.enter_array();
    if (static_cast<int>(shape_.size()) == level) {
      if (rank_ >= 0) {
        throw InvalidArgument("Encountered list at level: ", level, " expected an element");
      }
      shape_.push_back(-1);
    }
    counts[static_cast<size_t>(level++)] = 0;
  };
  open();
  while (level > 0) {
    int64_t& count = counts[static_cast<size_t>(level - 1)];
    if (!cursor.next_element()) {
      close_list(level - 1, count);
      --level;
      continue;
    }
    ++count;
    const JsonCursor::Kind kind = cursor.kind();
    if (kind == JsonCursor::Kind::array) {
      open();
    } else {
      check_level(level);
      if (rank_ < 0) rank_ = level;
      add_element(cursor);
      if (kind == JsonCursor::Kind::number) add_numbers(cursor, count);
    }
  }
}

// The rest of a list of numbers, as long as only numbers follow: nearly all of a request is read
// here.
void TensorBuilder::add_numbers(JsonCursor& cursor, int64_t& count) {
  if (numbers_ != Numbers::f32) return;
  while (cursor.next_number()) {
    if (static_cast<int64_t>(f32_.size()) >= limits_.elements) add_number(cursor);  // refuses
    f32_.push_back(cursor.number_f32());
    ++count;
  }
}

void TensorBuilder::check_level(int level) const {
  if (level == static_cast<int>(shape_.size()) && (rank_ < 0 || rank_ == level)) return;
  throw InvalidArgument("Encountered element at level: ", level, " expected list");
}

void TensorBuilder::close_list(int level, int64_t count) {
  int64_t& expected = shape_[static_cast<size_t>(level)];
  if (expected < 0) expected = count;
  if (expected != count) {
    throw InvalidArgument("Encountered list at unexpected size: ", count, " at level: ", level,
                          " expected size: ", expected);
  }
}

void TensorBuilder::check_kind(Kind kind) {
  if (kind_ == Kind::unknown) kind_ = kind;
  if (kind_ != kind) {
    throw InvalidArgument("expected numbers or bytes in a tensor, got both");
  }
  const int64_t most = kind == Kind::bytes ? limits_.strings : limits_.elements;
  if (elements() >= most) {
    throw InvalidArgument("expected at most ", most, kind == Kind::bytes ? " strings" : " elements",
                          " in a tensor, got more");
  }
}

void TensorBuilder::add_element(JsonCursor& cursor) {
  switch (cursor.kind()) {
    case JsonCursor::Kind::number: return add_number(cursor);
    case JsonCursor::Kind::string: return add_bytes(cursor, false);
    case JsonCursor::Kind::object: return add_bytes(cursor, true);
    default: break;
  }
  const size_t begin = cursor.offset();
  cursor.skip();
  throw InvalidArgument("JSON Value: ", cursor.text_from(begin),
                        " is not of expected type: ", numbers_ == Numbers::f32 ? "float" : "int32");
}

void TensorBuilder::add_number(JsonCursor& cursor) {
  check_kind(Kind::numbers);
  if (numbers_ == Numbers::f32) {
    f32_.push_back(cursor.number_f32());
    return;
  }
  const double value = cursor.number();
  if (value != std::trunc(value) || std::abs(value) > 2147483648.0 || value == 2147483648.0) {
    throw InvalidArgument("JSON Value: ", value, " Type: Number is not of expected type: int32");
  }
  i32_.push_back(static_cast<int32_t>(value));
}

// A string stands for its own bytes.
void TensorBuilder::add_bytes(JsonCursor& cursor, bool is_object) {
  check_kind(Kind::bytes);
  std::string& bytes = bytes_.emplace_back();
  if (!is_object) return cursor.string(bytes);
  std::string text;
  cursor.enter_object();
  const bool has_key =
      cursor.next_member(text) && text == "b64" && cursor.kind() == JsonCursor::Kind::string;
  if (has_key) cursor.string(text);
  std::string other;
  if (!has_key || cursor.next_member(other)) {
    throw InvalidArgument("expected an object with the one key \"b64\" and a string");
  }
  if (!base64_decode(text, bytes)) throw InvalidArgument("Unable to base64 decode");
}

}  // namespace pando::wire
