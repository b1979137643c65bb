// The fast way through lists of numbers whose shape is known: nearly all of a request is read here.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/wire/json_cursor.h"
#include "pando/wire/json_digits_impl.h"

namespace pando::wire {
namespace {

// Reads lists; every function returns false at the first thing that it did not expect.
class ListReader {
 public:
  ListReader(const char* at, const char* end, float* out) : at_(at), end_(end), out_(out) {}

  bool lists(std::span<const int64_t> shape) {
    if (!take('[')) return false;
    for (int64_t i = 0; i < shape[0]; ++i) {
      if (i > 0 && !take(',')) return false;
      if (shape.size() == 1 ? !number() : !lists(shape.subspan(1))) return false;
    }
    return take(']');
  }
  const char* at() const { return at_; }

 private:
  void skip_space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool take(char c) {
    if (at_ < end_ && *at_ == c) [[likely]] {
      ++at_;
      return true;
    }
    skip_space();
    if (at_ >= end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  bool number() {
    if (at_ < end_ && *at_ == ' ') ++at_;
    const char* at = at_;
    const bool negative = at < end_ && *at == '-';
    at += negative ? 1 : 0;
    uint64_t mantissa = 0;
    const char* const digits = at;
    while (at < end_ && is_digit(*at))
      mantissa = mantissa * 10 + static_cast<uint64_t>(*at++ - '0');
    ptrdiff_t count = at - digits;
    if (count == 0 || (count > 1 && *digits == '0')) return other_number();
    ptrdiff_t places = 0;
    if (at < end_ && *at == '.') {
      const char* const fraction = ++at;
      while (end_ - at >= 8 && are_eight_digits(load8(at))) {
        mantissa = mantissa * 100'000'000 + value_of_eight(load8(at));
        at += 8;
      }
      while (at < end_ && is_digit(*at))
        mantissa = mantissa * 10 + static_cast<uint64_t>(*at++ - '0');
      places = at - fraction;
      count += places;
      if (places == 0) return false;
    }
    if (count > 19 || (at < end_ && (*at == 'e' || *at == 'E'))) return other_number();
    const double value = static_cast<double>(mantissa) / kPowersOfTen[static_cast<size_t>(places)];
    if (!round_to_f32(negative ? -value : value, mantissa, *out_)) return other_number();
    ++out_;
    at_ = at;
    return true;
  }

  // Numbers with exponents or many digits, NaN and Infinity.
  bool other_number() {
    try {
      JsonCursor cursor(std::string_view(at_, static_cast<size_t>(end_ - at_)));
      if (cursor.kind() != JsonCursor::Kind::number) return false;
      *out_++ = cursor.number_f32();
      at_ += cursor.offset();
      return true;
    } catch (const InvalidArgument&) {
      return false;
    }
  }

  const char* at_;
  const char* const end_;
  float* out_;
};

}  // namespace

bool JsonCursor::read_lists(std::span<const int64_t> shape, float* out) {
  if (shape.empty() || depth_ + static_cast<int>(shape.size()) > kDeepest) return false;
  ListReader reader(at_, end_, out);
  if (!reader.lists(shape)) return false;
  at_ = reader.at();
  return true;
}

}  // namespace pando::wire
