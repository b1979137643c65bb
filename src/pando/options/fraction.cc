// SPDX-License-Identifier: MIT
#include "pando/options/fraction.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "pando/base/error.h"

namespace pando {
namespace {

bool multiply(int64_t& value, int64_t factor) {
  return !__builtin_mul_overflow(value, factor, &value);
}

bool append_digit(int64_t& value, char digit) {
  return multiply(value, 10) && !__builtin_add_overflow(value, digit - '0', &value);
}

// Reads a decimal number without rounding: its digits divided by a power of ten.
std::optional<Fraction> parse_decimal(std::string_view text) {
  const auto number = parse_double(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  // From here on the text is well formed.
  const size_t exponent_at = text.find_first_of("eE");
  int64_t exponent = 0;
  if (exponent_at != std::string_view::npos) {
    const auto written = parse_int(text.substr(exponent_at + 1));
    if (!written) return std::nullopt;
    exponent = *written;
  }
  int64_t digits = 0;
  bool after_point = false;
  for (const char c : text.substr(0, exponent_at)) {
    if (c == '.') after_point = true;
    if (c < '0' || c > '9') continue;
    if (!append_digit(digits, c)) return std::nullopt;
    if (after_point) --exponent;
  }
  if (digits == 0) return Fraction();
  int64_t denominator = 1;
  for (; exponent > 0; --exponent) {
    if (!multiply(digits, 10)) return std::nullopt;
  }
  for (; exponent < 0; ++exponent) {
    if (!multiply(denominator, 10)) return std::nullopt;
  }
  return Fraction(std::signbit(*number) ? -digits : digits, denominator);
}

std::optional<Fraction> divide(const Fraction& a, const Fraction& b) {
  if (b.numerator() == 0) return std::nullopt;
  int64_t numerator = a.numerator();
  int64_t denominator = a.denominator();
  if (!multiply(numerator, b.denominator()) || !multiply(denominator, b.numerator())) {
    return std::nullopt;
  }
  return Fraction(numerator, denominator);
}

}  // namespace

Fraction::Fraction(int64_t numerator, int64_t denominator) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  PANDO_CHECK(denominator != 0 && denominator != kLowest && numerator != kLowest, numerator, "/",
              denominator);
  const int64_t divisor = std::gcd(numerator, denominator) * (denominator < 0 ? -1 : 1);
  numerator_ = numerator / divisor;
  denominator_ = denominator / divisor;
}

std::string to_string(const Fraction& fraction) {
  if (fraction.is_whole()) return std::to_string(fraction.numerator());
  return concat(fraction.numerator(), "/", fraction.denominator());
}

std::optional<Fraction> parse_fraction(std::string_view text) {
  const size_t slash = text.find('/');
  auto fraction = parse_decimal(text.substr(0, slash));
  if (fraction && slash != std::string_view::npos) {
    const auto divisor = parse_decimal(text.substr(slash + 1));
    fraction = divisor ? divide(*fraction, *divisor) : std::nullopt;
  }
  if (!fraction || std::abs(fraction->numerator()) >= kFractionLimit ||
      fraction->denominator() >= kFractionLimit) {
    return std::nullopt;
  }
  return fraction;
}

}  // namespace pando
