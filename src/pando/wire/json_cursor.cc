// SPDX-License-Identifier: MIT
#include "pando/wire/json_cursor.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "pando/base/error.h"
#include "pando/wire/json_digits_impl.h"

namespace pando::wire {
namespace {

void append_utf8(std::string& out, unsigned code) {
  const auto add = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | (code >> 6));
    add(0x80 | (code & 63));
  } else if (code < 0x10000) {
    add(0xE0 | (code >> 12));
    add(0x80 | ((code >> 6) & 63));
    add(0x80 | (code & 63));
  } else {
    add(0xF0 | (code >> 18));
    add(0x80 | ((code >> 12) & 63));
    add(0x80 | ((code >> 6) & 63));
    add(0x80 | (code & 63));
  }
}

}  // namespace

// A number as digits: mantissa * 10^exponent, unless `is_long`, when only the text is right.
struct JsonCursor::Decimal {
  const char* begin = nullptr;
  const char* end = nullptr;
  uint64_t mantissa = 0;
  int64_t exponent = 0;
  int64_t digits = 0;
  bool negative = false;
  bool is_long = false;

  // By the library, correctly rounded. Nothing if it is too large.
  bool to_double(double& value) const {
    const auto result = std::from_chars(begin, end, value);
    if (result.ec == std::errc()) return true;
    // A number that is too small rounds to zero. One that is too large has its first digit far
    // before the point.
    constexpr int64_t kFar = 300;
    value = negative ? -0.0 : 0.0;
    return digits + exponent <= kFar;
  }
};

void JsonCursor::fail(std::string_view message) const {
  throw InvalidArgument("JSON Parse error: ", message, " at offset: ", offset());
}

JsonCursor::Kind JsonCursor::kind() {
  skip_space();
  switch (peek()) {
    case '{': return Kind::object;
    case '[': return Kind::array;
    case '"': return Kind::string;
    case 't':
    case 'f': return Kind::truth;
    case 'n': return Kind::null;
    case '-':
    case 'N':
    case 'I': return Kind::number;
    default: break;
  }
  if (is_digit(peek())) return Kind::number;
  fail(offset() == 0 && at_ == end_ ? "The document is empty." : "Invalid value.");
}

void JsonCursor::enter(char open) {
  skip_space();
  if (peek() != open) fail("Invalid value.");
  if (depth_ == kDeepest) fail("Lists and objects are nested too deep.");
  first_ |= uint64_t{1} << depth_;
  ++depth_;
  ++at_;
}

void JsonCursor::leave() {
  ++at_;
  --depth_;
}

void JsonCursor::enter_object() { enter('{'); }
void JsonCursor::enter_array() { enter('['); }

bool JsonCursor::next_element() {
  const uint64_t bit = uint64_t{1} << (depth_ - 1);
  skip_space();
  if (peek() == ']') {
    leave();
    return false;
  }
  if ((first_ & bit) == 0) {
    if (peek() != ',') fail("Missing a comma or ] after an array element.");
    ++at_;
  }
  first_ &= ~bit;
  return true;
}

bool JsonCursor::next_number() {
  const char* at = at_;
  const auto skip = [&] {
    while (at < end_ && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
  };
  skip();
  if (at == end_ || *at != ',') return false;
  ++at;
  skip();
  if (at == end_ || (!is_digit(*at) && *at != '-')) return false;
  at_ = at;
  return true;
}

bool JsonCursor::next_member(std::string& key) {
  const uint64_t bit = uint64_t{1} << (depth_ - 1);
  skip_space();
  if (peek() == '}') {
    leave();
    return false;
  }
  if ((first_ & bit) == 0) {
    if (peek() != ',') fail("Missing a comma or } after an object member.");
    ++at_;
    skip_space();
  }
  first_ &= ~bit;
  if (peek() != '"') fail("Missing a name for object member.");
  string(key);
  skip_space();
  if (peek() != ':') fail("Missing a colon after a name of object member.");
  ++at_;
  return true;
}

bool JsonCursor::take_word(std::string_view word) {
  if (static_cast<size_t>(end_ - at_) < word.size()) return false;
  if (std::string_view(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

JsonCursor::Decimal JsonCursor::decimal() {
  Decimal number;
  number.begin = at_;
  number.negative = peek() == '-';
  at_ += number.negative ? 1 : 0;
  const char* const digits = at_;
  const auto take_digits = [&] {
    while (end_ - at_ >= 8 && are_eight_digits(load8(at_))) {
      number.mantissa = number.mantissa * 100'000'000 + value_of_eight(load8(at_));
      at_ += 8;
    }
    while (is_digit(peek()))
      number.mantissa = number.mantissa * 10 + static_cast<uint64_t>(*at_++ - '0');
  };
  take_digits();
  ptrdiff_t count = at_ - digits;
  if (count == 0 || (count > 1 && *digits == '0')) fail("Invalid value.");
  if (peek() == '.') {
    const char* const fraction = ++at_;
    take_digits();
    if (at_ == fraction) fail("Miss fraction part in number.");
    number.exponent = fraction - at_;
    count += at_ - fraction;
  }
  if (peek() == 'e' || peek() == 'E') {
    ++at_;
    const bool minus = peek() == '-';
    if (peek() == '-' || peek() == '+') ++at_;
    const char* const power = at_;
    int64_t value = 0;
    while (is_digit(peek())) {
      if (value < 100'000) value = value * 10 + (*at_ - '0');
      ++at_;
    }
    if (at_ == power) fail("Miss exponent in number.");
    number.exponent += minus ? -value : value;
  }
  number.digits = count;
  number.is_long = count > 19;  // more digits than 64 bits hold
  number.end = at_;
  return number;
}

// NaN, Infinity and -Infinity, which JSON does not have.
bool JsonCursor::word_number(double& value) {
  const bool negative = peek() == '-';
  const char* const begin = at_;
  if (at_ + (negative ? 1 : 0) < end_ && is_digit(at_[negative ? 1 : 0])) return false;
  at_ += negative ? 1 : 0;
  if (!negative && take_word("NaN")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (take_word("Infinity") || take_word("Inf")) {
    value = std::numeric_limits<double>::infinity();
    if (negative) value = -value;
  } else {
    at_ = begin;
    return false;
  }
  return true;
}

double JsonCursor::number() {
  skip_space();
  double value = 0;
  if (word_number(value)) return value;
  const Decimal read = decimal();
  const bool is_exact = !read.is_long && read.mantissa <= kExactInDouble;
  if (is_exact && read.exponent <= 0 && read.exponent >= -22) {
    value = static_cast<double>(read.mantissa) / kPowersOfTen[static_cast<size_t>(-read.exponent)];
    return read.negative ? -value : value;
  }
  if (!read.to_double(value)) fail("Number too big to be stored in double.");
  return value;
}

float JsonCursor::number_f32() {
  skip_space();
  double value = 0;
  if (word_number(value)) return static_cast<float>(value);
  const Decimal read = decimal();
  if (!read.is_long && read.exponent <= 0 && read.exponent >= -22) {
    value = static_cast<double>(read.mantissa) / kPowersOfTen[static_cast<size_t>(-read.exponent)];
    if (read.negative) value = -value;
    float rounded = 0;
    if (round_to_f32(value, read.mantissa, rounded)) return rounded;
  }
  if (!read.to_double(value)) fail("Number too big to be stored in double.");
  // A cast out of range would be undefined.
  if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) {
    return std::strtof(std::string(read.begin, read.end).c_str(), nullptr);
  }
  return static_cast<float>(value);
}

void JsonCursor::skip_number() {
  double value = 0;
  if (!word_number(value)) decimal();
}

bool JsonCursor::truth() {
  skip_space();
  if (take_word("true")) return true;
  if (!take_word("false")) fail("Invalid value.");
  return false;
}

void JsonCursor::null() {
  skip_space();
  if (!take_word("null")) fail("Invalid value.");
}

// Where the next quotation mark, escape or control character is.
const char* JsonCursor::string_end() {
  const char* at = at_;
  while (at < end_ && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) ++at;
  return at;
}

void JsonCursor::string(std::string& out) {
  skip_space();
  if (peek() != '"') fail("Invalid value.");
  ++at_;
  out.clear();
  while (true) {
    const char* const end = string_end();
    out.append(at_, end);
    at_ = end;
    if (at_ == end_) fail("Missing a closing quotation mark in string.");
    if (*at_ == '"') break;
    if (*at_ != '\\') fail("Invalid encoding in string.");
    ++at_;
    escape(out);
  }
  ++at_;
}

void JsonCursor::escape(std::string& out) {
  const char c = peek();
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
  const size_t which = c == '\0' ? kNames.npos : kNames.find(c);
  if (which != kNames.npos) {
    out += kValues[which];
    ++at_;
    return;
  }
  if (c != 'u') fail("Invalid escape character in string.");
  ++at_;
  unsigned code = hex4();
  if (code >= 0xDC00 && code < 0xE000) fail("The surrogate pair in string is invalid.");
  if (code >= 0xD800 && code < 0xDC00) {
    if (!take_word("\\u")) fail("The surrogate pair in string is invalid.");
    const unsigned low = hex4();
    if (low < 0xDC00 || low >= 0xE000) fail("The surrogate pair in string is invalid.");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  append_utf8(out, code);
}

unsigned JsonCursor::hex4() {
  unsigned code = 0;
  if (end_ - at_ < 4) fail("Incorrect hex digit after \\u escape in string.");
  const auto result = std::from_chars(at_, at_ + 4, code, 16);
  if (result.ptr != at_ + 4) fail("Incorrect hex digit after \\u escape in string.");
  at_ += 4;
  return code;
}

void JsonCursor::end() {
  skip_space();
  if (at_ != end_) fail("The document root must not be followed by other values.");
}

void JsonCursor::skip() {
  const int outside = depth_;
  std::string text;
  std::array<bool, kDeepest> is_object = {};
  do {
    if (depth_ > outside) {
      const bool more =
          is_object[static_cast<size_t>(depth_ - 1)] ? next_member(text) : next_element();
      if (!more) continue;
    }
    switch (kind()) {
      case Kind::object:
        enter_object();
        is_object[static_cast<size_t>(depth_ - 1)] = true;
        break;
      case Kind::array:
        enter_array();
        is_object[static_cast<size_t>(depth_ - 1)] = false;
        break;
      case Kind::string: string(text); break;
      case Kind::number: skip_number(); break;
      case Kind::truth: truth(); break;
      case Kind::null: null(); break;
    }
  } while (depth_ > outside);
}

}  // namespace pando::wire
