// SPDX-License-Identifier: MIT
#include "pando/wire/text_format.h"

#include <algorithm>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando::wire {
namespace {

constexpr int kDeepestMessage = 32;

class TextFormatReader {
 public:
  TextFormatReader(std::string_view text, const std::string& source)
      : text_(text), source_(source) {}

  // Until `close`, or the end of the text for '\0'. Recursive, to a bounded depth.
  TextMessage message(char close, int depth) {
    if (depth > kDeepestMessage) fail("messages are nested too deep");
    TextMessage result;
    while (true) {
      skip_space();
      while (take(',') || take(';')) {
      }
      if (close != '\0' && take(close)) return result;
      if (at_end()) {
        if (close != '\0') fail(concat("expected '", close, "'"));
        return result;
      }
      add_field(result, depth);
    }
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '+' || c == '-';
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw InvalidArgument(source_, ":", place(), ": ", message);
  }
  std::string place() const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = std::ranges::count(before, '\n') + 1;
    const size_t begin = before.rfind('\n');
    return concat(line, ":", at_ - (begin == before.npos ? 0 : begin + 1) + 1);
  }

  void skip_space() {
    while (!at_end()) {
      if (peek() == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }
  bool take(char c) {
    skip_space();
    if (peek() != c || at_end()) return false;
    ++at_;
    return true;
  }
  std::string word(const char* what) {
    skip_space();
    const size_t begin = at_;
    while (!at_end() && is_word(peek())) ++at_;
    if (at_ == begin) fail(concat("expected ", what));
    return std::string(text_.substr(begin, at_ - begin));
  }

  void add_field(TextMessage& message, int depth) {
    skip_space();
    TextField field;
    field.place = place();
    field.name = word("the name of a field");
    const bool has_colon = take(':');
    if (has_colon && take('[')) return add_list(message, field, depth);
    if (!has_colon && peek() != '{' && peek() != '<') fail("expected ':' or '{'");
    read_value(field, depth);
    message.fields.push_back(std::move(field));
  }

  void add_list(TextMessage& message, const TextField& like, int depth) {
    if (take(']')) return;
    do {
      TextField field = like;
      skip_space();
      read_value(field, depth);
      message.fields.push_back(std::move(field));
    } while (take(','));
    if (!take(']')) fail("expected ',' or ']'");
  }

  void read_value(TextField& field, int depth) {
    skip_space();
    if (peek() == '{' || peek() == '<') {
      const char close = peek() == '{' ? '}' : '>';
      ++at_;
      field.is_message = true;
      field.message.push_back(message(close, depth + 1));
    } else if (peek() == '"' || peek() == '\'') {
      field.is_string = true;
      while (peek() == '"' || peek() == '\'') {  // strings one after the other are one
        append_string(field.text);
        skip_space();
      }
    } else {
      field.text = word("a value");
    }
  }

  void append_string(std::string& out) {
    const char quote = text_[at_++];
    while (true) {
      if (at_end() || peek() == '\n') fail("expected the end of a string");
      const char c = text_[at_++];
      if (c == quote) return;
      out += c == '\\' ? escaped() : c;
    }
  }

  char escaped() {
    if (at_end()) fail("expected the end of a string");
    const char c = text_[at_++];
    constexpr std::string_view kNames = "abfnrtv\\'\"?";
    constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"?";
    const size_t which = kNames.find(c);
    if (which != kNames.npos) return kValues[which];
    const int base = c == 'x' ? 16 : 8;
    if (c != 'x') --at_;
    int value = 0;
    int digits = 0;
    for (; digits < (base == 16 ? 2 : 3) && !at_end(); ++digits, ++at_) {
      const size_t digit =
          std::string_view("0123456789abcdef").find(to_lower(text_.substr(at_, 1)));
      if (digit == std::string_view::npos || digit >= static_cast<size_t>(base)) break;
      value = value * base + static_cast<int>(digit);
    }
    if (digits == 0) fail("unknown escape in a string");
    return static_cast<char>(value);
  }

  std::string_view text_;
  const std::string& source_;
  size_t at_ = 0;
};

[[noreturn]] void fail_field(const TextField& field, const std::string& source,
                             const char* expected) {
  throw InvalidArgument(source, ":", field.place, ": ", field.name, ": expected ", expected,
                        field.is_message ? ", got a message" : ", got '" + field.text + "'");
}

}  // namespace

TextMessage parse_text_format(std::string_view text, const std::string& source) {
  return TextFormatReader(text, source).message('\0', 0);
}

int64_t int_of(const TextField& field, const std::string& source) {
  const auto value = field.is_string || field.is_message ? std::nullopt : parse_int(field.text);
  if (!value) fail_field(field, source, "a whole number");
  return *value;
}

bool bool_of(const TextField& field, const std::string& source) {
  const std::string text = field.is_string || field.is_message ? "" : to_lower(field.text);
  if (text == "true" || text == "t" || text == "1") return true;
  if (text != "false" && text != "f" && text != "0") fail_field(field, source, "true or false");
  return false;
}

std::string string_of(const TextField& field, const std::string& source) {
  if (!field.is_string) fail_field(field, source, "a string in quotation marks");
  return field.text;
}

const TextMessage& message_of(const TextField& field, const std::string& source) {
  if (!field.is_message) fail_field(field, source, "a message { ... }");
  return field.message.front();
}

}  // namespace pando::wire
