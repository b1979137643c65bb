// Reads JSON from memory, value by value, without building a tree: bodies of requests are mostly
// numbers, which go straight to their place. Beyond JSON it takes NaN, Infinity and -Infinity, as
// TensorFlow Serving does. Never reads outside the text; lists and objects nest 64 deep at most.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pando::wire {

// All functions but skip() and kind() require that the next value is of their kind. They throw
// InvalidArgument "JSON Parse error: ... at offset: N", in the words of TensorFlow Serving.
class JsonCursor {
 public:
  enum class Kind { object, array, string, number, truth, null };
  static constexpr int kDeepest = 64;

  explicit JsonCursor(std::string_view text)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  Kind kind();  // of the next value

  //   cursor.enter_object(); while (cursor.next_member(key)) { one value }
  //   cursor.enter_array();  while (cursor.next_element()) { one value }
  void enter_object();
  bool next_member(std::string& key);  // false: the object has ended
  void enter_array();
  bool next_element();  // false: the array has ended
  // Goes to the next element if there is one and it begins like a number; else stays before it.
  bool next_number();
  int depth() const { return depth_; }

  double number();
  // The same rounded to f32, much faster for numbers of many digits.
  float number_f32();
  bool truth();
  void null();
  void string(std::string& out);  // without its escapes, in UTF-8
  void skip();                    // any value
  void end();                     // requires that nothing but space follows

  // Reads nested lists of exactly this shape into `out`, at the speed of memory. Returns false,
  // without having read anything, if the text has another shape or is not in the simplest form.
  bool read_lists(std::span<const int64_t> shape, float* out);

  size_t offset() const { return static_cast<size_t>(at_ - begin_); }
  std::string_view text_from(size_t offset) const { return {begin_ + offset, at_}; }

  [[noreturn]] void fail(std::string_view message) const;

 private:
  struct Decimal;

  void skip_space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  char peek() const { return at_ < end_ ? *at_ : '\0'; }
  void enter(char open);
  void leave();
  bool take_word(std::string_view word);
  Decimal decimal();
  bool word_number(double& value);
  void skip_number();
  void escape(std::string& out);
  unsigned hex4();
  const char* string_end();

  const char* begin_;
  const char* at_;
  const char* end_;
  int depth_ = 0;
  uint64_t first_ = 0;  // bit d: nothing was read yet in the list or object of depth d + 1
};

}  // namespace pando::wire
