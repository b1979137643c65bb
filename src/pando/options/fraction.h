// An exact fraction, for frequencies such as "1/3 per epoch" that no floating-point number holds.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pando {

// In lowest terms, the denominator above 0.
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

// "2", "1/2".
std::string to_string(const Fraction& fraction);

// What parse_fraction gives lies below this, so that products with it fit.
inline constexpr int64_t kFractionLimit = int64_t{1} << 31;

// "2", "0.5", "1e-2", "1/2" or "0.5/2", exactly; nothing when the text is no such number or a part
// of the result, in lowest terms, does not lie below 2^31 in size.
std::optional<Fraction> parse_fraction(std::string_view text);

}  // namespace pando
