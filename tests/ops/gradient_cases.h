// The table of numeric gradient checks, at least one per op with a gradient.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "tests/support/gradient_check.h"

namespace pando::test {

const std::vector<GradientCase>& gradient_cases();

}  // namespace pando::test
