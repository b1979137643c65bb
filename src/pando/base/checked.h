// Arithmetic on sizes that notices an overflow.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "pando/base/error.h"

namespace pando {

// Returns nothing if the result does not fit into int64_t.
inline std::optional<int64_t> product_of(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  return product;
}
inline std::optional<int64_t> sum_of(std::initializer_list<int64_t> terms) {
  int64_t sum = 0;
  for (const int64_t term : terms) {
    if (__builtin_add_overflow(sum, term, &sum)) return std::nullopt;
  }
  return sum;
}

// Throws an InvalidArgument that begins with `what` if the product is too large: "fit: batch_size:
// 4 x 5 is too large".
inline int64_t checked_product(std::string_view what, std::initializer_list<int64_t> factors) {
  if (const std::optional<int64_t> product = product_of(factors)) return *product;
  std::string text;
  for (const int64_t factor : factors) text += (text.empty() ? "" : " x ") + std::to_string(factor);
  throw InvalidArgument(what, ": ", text, " is too large");
}

}  // namespace pando
