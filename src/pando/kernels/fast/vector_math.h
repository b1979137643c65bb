// exp, tanh and the logistic function as straight-line code that the compiler can vectorise. The
// polynomials minimise the maximum relative error; the stated bounds were measured against double
// precision over the whole range.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

#include "pando/base/multiversion.h"

namespace pando::kernels::fast {

// 2^n for n in [-126, 127]: a biased exponent with a mantissa of 1.
PANDO_INLINE float power_of_two(int32_t n) {
  return std::bit_cast<float>(static_cast<uint32_t>(n + 127) << 23);
}

// Returns x if `kept`, else `other`. Uses a mask: with a plain choice the compiler may compute with
// the value that was not chosen, and the floating-point exceptions of that computation would remain
// (runtime/machine/fp_exceptions.h).
PANDO_INLINE float keep_or(bool kept, float x, float other) {
  const auto mask = static_cast<uint32_t>(-static_cast<int32_t>(kept));
  return std::bit_cast<float>((std::bit_cast<uint32_t>(x) & mask) |
                              (std::bit_cast<uint32_t>(other) & ~mask));
}

PANDO_INLINE float magnitude_of(float x) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0x7fffffffU);
}

// e^x within 2 units in the last place; infinity above 88.73, 0 below -104, NaN for NaN.
PANDO_INLINE float vector_exp(float x) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;  // few mantissa bits: n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  x = keep_or(!(x < -104.0f), x, -104.0f);
  x = x > 89.0f ? 89.0f : x;
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float q = 0.000197893372f;
  q = q * r + 0.00139457348f;
  q = q * r + 0.00833350327f;
  q = q * r + 0.0416662805f;
  q = q * r + 0.166666657f;
  q = q * r + 0.5f;
  const float value = 1.0f + (r + r * r * q);
  // Uses two factors, because 2^n alone leaves the range of normal numbers at both ends.
  const int32_t exponent =
      static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kRound));
  const int32_t half = exponent >> 1;
  return value * power_of_two(half) * power_of_two(exponent - half);
}

// 1 / (1 + e^-x) within 3 units in the last place where the result is a normal number. Uses only
// powers that are at most 1, so nothing overflows.
PANDO_INLINE float vector_sigmoid(float x) {
  const float e = vector_exp(-magnitude_of(x));
  return (x < 0 ? e : 1.0f) / (1.0f + e);
}

// tanh within 3 units in the last place.
PANDO_INLINE float vector_tanh(float x) {
  const float magnitude = magnitude_of(x);
  const float near = keep_or(magnitude < 0.625f, x, 0.0f);  // powers of larger values overflow
  const float square = near * near;
  float p = 0.00214316789f;
  p = p * square - 0.00817765016f;
  p = p * square + 0.0217008200f;
  p = p * square - 0.0539467894f;
  p = p * square + 0.133332059f;
  p = p * square - 0.333333313f;
  const float small = near + near * (square * p);
  const float e = vector_exp(-2.0f * magnitude);
  const float large = (1.0f - e) / (1.0f + e);
  const float signed_large = x < 0 ? -large : large;
  return magnitude < 0.625f ? small : signed_large;
}

// e^x - 1 within 6 units in the last place for x of at most 0.
PANDO_INLINE float vector_expm1(float x) {
  const float t = vector_tanh(0.5f * x);
  return 2.0f * t / (1.0f - t);
}

// log(1 + x) within 2 units in the last place for x from 0 to 1, by the series of 2 artanh(x / (2 +
// x)).
PANDO_INLINE float vector_log1p_unit(float x) {
  const float s = x / (2.0f + x);
  const float square = s * s;
  float p = 1.0f / 15;
  p = p * square + 1.0f / 13;
  p = p * square + 1.0f / 11;
  p = p * square + 1.0f / 9;
  p = p * square + 1.0f / 7;
  p = p * square + 1.0f / 5;
  p = p * square + 1.0f / 3;
  return 2.0f * (s + s * (square * p));
}

// log(x) within 3 units in the last place for normal positive x.
PANDO_INLINE float vector_log(float x) {
  constexpr uint32_t kRootHalf =
      0x3f3504f3;  // sqrt(1/2): the mantissa lies between it and its double
  const uint32_t bits = std::bit_cast<uint32_t>(x) - kRootHalf;
  const float n = static_cast<float>(static_cast<int32_t>(bits) >> 23);
  const float mantissa = std::bit_cast<float>((bits & 0x007fffffU) + kRootHalf);
  const float s = (mantissa - 1.0f) / (mantissa + 1.0f);
  const float square = s * s;
  float p = 1.0f / 11;
  p = p * square + 1.0f / 9;
  p = p * square + 1.0f / 7;
  p = p * square + 1.0f / 5;
  p = p * square + 1.0f / 3;
  const float small = 2.0f * (s + s * (square * p));
  return n * 0.693359375f + (small - n * 2.12194440e-4f);
}

// A point of the unit circle.
struct Circle {
  float cosine;
  float sine;
};

// The point after `turns` of a full turn, from 0 to 1, within 2e-7.
PANDO_INLINE Circle vector_circle(float turns) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  constexpr float kFullTurn = 6.28318531f;
  const float shifted = turns * 4.0f + kRound;
  const uint32_t quarter = std::bit_cast<uint32_t>(shifted);  // its last two bits count quarters
  const float angle = (turns - (shifted - kRound) * 0.25f) * kFullTurn;  // at most an eighth turn
  const float square = angle * angle;
  float p = 2.75573192e-6f;
  p = p * square - 1.98412698e-4f;
  p = p * square + 8.33333333e-3f;
  p = p * square - 0.166666667f;
  const float sine = angle + angle * (square * p);
  float q = 2.48015873e-5f;
  q = q * square - 1.38888889e-3f;
  q = q * square + 4.16666667e-2f;
  q = q * square - 0.5f;
  const float cosine = 1.0f + square * q;
  const bool odd = (quarter & 1U) != 0;
  const float x = odd ? sine : cosine;
  const float y = odd ? cosine : sine;
  const uint32_t sign_y = (quarter & 2U) << 30;
  const uint32_t sign_x = ((quarter + 1U) & 2U) << 30;
  return {std::bit_cast<float>(std::bit_cast<uint32_t>(x) ^ sign_x),
          std::bit_cast<float>(std::bit_cast<uint32_t>(y) ^ sign_y)};
}

// x, cut off at -limit and limit; NaN for NaN.
PANDO_INLINE float clamped(float x, float limit) {
  const float low = x < -limit ? -limit : x;
  return low > limit ? limit : low;
}

// x times factor, but 0 where the factor is 0 and x infinite.
PANDO_INLINE float product(float x, float factor) { return keep_or(factor != 0, x, 0.0f) * factor; }

// x sigmoid(x) within a few units in the last place, as x / (1 + e^-x). Beyond +-87 the powers
// would overflow or become denormal, and the result is x or 0 to f32's precision.
PANDO_INLINE float vector_swish(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float near = x < -87.0f ? -87.0f : x;
  const float z = near > 87.0f ? -87.0f : -near;
  const float shifted = z * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (z - n * 0.693359375f) + n * 2.12194440e-4f;
  float q = 0.000197893372f;
  q = q * r + 0.00139457348f;
  q = q * r + 0.00833350327f;
  q = q * r + 0.0416662805f;
  q = q * r + 0.166666657f;
  q = q * r + 0.5f;
  const float power = 1.0f + (r + r * r * q);
  return near / (1.0f + power * std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) +
                                                     (uint32_t{127} << 23)));
}

// x times (x/6 + 1/2, cut off below 0 and above 1).
PANDO_INLINE float vector_hard_swish(float x) {
  const float middle = clamped(x, 3.0f);
  const float inside = middle * (middle / 6.0f + 0.5f);
  return x >= 3 ? x : inside;
}

// The probability that a normally distributed number is at most x, within a 1e-5th of it down to
// x = -12.5; below that it is less than 1e-35. The polynomial approximates e^(z^2) erfc(z) / t for
// z = |x| / sqrt(2).
PANDO_INLINE float vector_normal(float x) {
  const float near = clamped(x, 15.0f);
  const float z = magnitude_of(near) * 0.707106781f;
  const float t = 1.0f / (1.0f + 0.5f * z);
  float p = -0.0590382375f;
  p = p * t + 0.284424564f;
  p = p * t - 0.486887317f;
  p = p * t + 0.27770806f;
  p = p * t - 0.0263771303f;
  p = p * t + 0.202581158f;
  p = p * t + 0.243130638f;
  p = p * t + 0.28237159f;
  p = p * t + 0.282086632f;
  const float tail = 0.5f * (t * p) * vector_exp(-0.5f * near * near);
  return near < 0 ? tail : 1.0f - tail;
}

// x times its vector_normal.
PANDO_INLINE float vector_gelu(float x) { return product(x, vector_normal(x)); }

// The sigmoid whose product with x approximates gelu, by the formula with tanh: that of
// 2 sqrt(2/pi) (x + c x^3). Requires: |x| of at most 100.
constexpr float kNearGeluFactor = 1.59576912f;
constexpr float kNearGeluCubic = 0.044715f;
PANDO_INLINE float vector_near_normal(float x) {
  return vector_sigmoid(kNearGeluFactor * (x + kNearGeluCubic * x * x * x));
}
PANDO_INLINE float vector_near_gelu(float x) {
  return product(x, vector_near_normal(clamped(x, 100.0f)));
}

// x where x is positive, else alpha (e^x - 1).
PANDO_INLINE float vector_elu(float x, float alpha) {
  return x > 0 ? x : alpha * vector_expm1(x > 0 ? 0.0f : x);
}

constexpr float kVectorSeluScale = 1.05070099f;
constexpr float kVectorSeluProduct = 1.75809934f;  // of the scale and alpha
PANDO_INLINE float vector_selu(float x) {
  return x > 0 ? kVectorSeluScale * x : kVectorSeluProduct * vector_expm1(x > 0 ? 0.0f : x);
}

// log(1 + e^x).
PANDO_INLINE float vector_softplus(float x) {
  const float positive = x < 0 ? 0.0f : x;
  return positive + vector_log1p_unit(vector_exp(-magnitude_of(x)));
}

// tanh(softplus(x)), where e is e^-|x|: a quotient of polynomials of e^x, or of e^-x for positive
// x, so that nothing overflows.
PANDO_INLINE float vector_mish_gate(float x, float e) {
  const float upper = x < 0 ? e * (e + 2.0f) : 1.0f + 2.0f * e;
  const float rest = x < 0 ? 2.0f : 2.0f * e * e;
  return upper / (upper + rest);
}
PANDO_INLINE float vector_mish(float x) {
  return product(x, vector_mish_gate(x, vector_exp(-magnitude_of(x))));
}

}  // namespace pando::kernels::fast
