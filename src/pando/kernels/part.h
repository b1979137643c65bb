// A share of one piece of work: part `index` of `count`. All parts together are the whole work, and
// the result of a part does not depend on which thread runs it or when.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace pando::kernels {

struct Part {
  int index = 0;
  int count = 1;

  // The bounds of this part's share of `total` units, as even as whole units allow.
  int64_t begin(int64_t total) const { return total * index / count; }
  int64_t end(int64_t total) const { return total * (index + 1) / count; }
};

}  // namespace pando::kernels
