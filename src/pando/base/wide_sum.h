// A sum that does not depend on how its terms are grouped.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

namespace pando {

// Two doubles that together have twice the digits of one. Losses and metrics of f32 are added
// without rounding, so a sum that is interrupted, stored and continued gives the same bits as one
// that is not. Converts to the nearest double.
class WideSum {
 public:
  WideSum(double value = 0) : high_(value) {}  // NOLINT(google-explicit-constructor)
  // The parts of another sum, as high() and low() return them.
  WideSum(double high, double low) : high_(high), low_(low) {}

  operator double() const { return high_; }  // NOLINT(google-explicit-constructor)
  double high() const { return high_; }
  double low() const { return low_; }  // at most half of the last digit of high()

  WideSum& operator+=(const WideSum& more) {
    const Parts high = add(high_, more.high_);
    if (!std::isfinite(high.sum)) return *this = WideSum(high.sum);
    const Parts low = add(low_, more.low_);
    const Parts middle = add(high.sum, high.rest + low.sum);
    const Parts all = add(middle.sum, middle.rest + low.rest);
    return *this = WideSum(all.sum, all.rest);
  }

 private:
  struct Parts {
    double sum;
    double rest;
  };
  // The rounded sum and what rounding cut off (Knuth).
  static Parts add(double a, double b) {
    const double sum = a + b;
    const double of_b = sum - a;
    return {sum, (a - (sum - of_b)) + (b - of_b)};
  }

  double high_ = 0;
  double low_ = 0;
};

}  // namespace pando
