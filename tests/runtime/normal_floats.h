// Random numbers for tests of arithmetic.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "pando/base/random.h"

namespace pando::runtime {

inline std::vector<float> normal_floats(int64_t count, uint64_t key) {
  RandomStream random(key);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) x = random.next_normal();
  return values;
}

}  // namespace pando::runtime
