// An exact fraction, for frequencies such as "1/3 per epoch" that floating-point numbers cannot
// represent.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pando {

// A fraction in lowest terms; the denominator is above 0.
class Fraction {
 public:
  Fraction() = default;
  // Requires: the denominator is not 0, and neither number is the lowest int64_t.
  explicit Fraction(int64_t numerator, int64_t denominator = 1);

  int64_t numerator() const { return numerator_; }
  int64_t denominator() const { return denominator_; }
  double value() const {
    return static_cast<double>(numerator_) / static_cast<double>(denominator_);
  }
  bool is_whole() const { return denominator_ == 1; }
  bool operator==(const Fraction&) const = default;

 private:
  int64_t numerator_ = 0;
  int64_t denominator_ = 1;
};

// Writes "2" or "1/2".
std::string to_string(const Fraction& fraction);

// Numerators and denominators that parse_fraction returns are below this in size, so that products
// with them fit into int64_t.
inline constexpr int64_t kFractionLimit = int64_t{1} << 31;

// Reads "2", "0.5", "1e-2", "1/2" or "0.5/2" exactly. Returns nothing if the text is not such a
// number, or if numerator or denominator of the result in lowest terms is not below 2^31 in size.
std::optional<Fraction> parse_fraction(std::string_view text);

}  // namespace pando
