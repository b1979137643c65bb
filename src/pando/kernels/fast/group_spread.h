// Reads channels-last pixels for convolutions with groups of a few channels: the vector of results
// that starts at channel c needs, at each lane, one channel of that lane's group.
// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>
#include <utility>

#include "pando/kernels/fast/vectors.h"

namespace pando::kernels::fast {

// Lane n holds lane n / per_group * per_group + from of the values.
template <int per_group, int from, typename Values, int... lane>
PANDO_INLINE Values spread_lanes(const Values& values, std::integer_sequence<int, lane...>) {
  return __builtin_shufflevector(values, values, (lane / per_group * per_group + from)...);
}

// Loads, for channel c and those that follow it in Values, channel `from` of their groups; x is the
// address of channel c. Requires: for a vector, c is a multiple of per_group.
template <int per_group, int from, typename Values>
PANDO_INLINE void load_spread(const float* x, int64_t c, Values& values) {
  if constexpr (std::is_same_v<Values, float>) {
    values = x[from - c % per_group];
  } else {
    load(x, values);
    if constexpr (per_group > 1) {
      constexpr int kCount = kWidthOf<Values>;
      values = spread_lanes<per_group, from>(values, std::make_integer_sequence<int, kCount>());
    }
  }
}

}  // namespace pando::kernels::fast
