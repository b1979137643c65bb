// Results as a picture.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/benchmark/comparison.h"

namespace pando::benchmark {

// One chart per metric, with a row per variant; old values where the comparison has some. SVG.
std::string results_svg(const std::vector<VariantResult>& results, const Comparison* comparison);

}  // namespace pando::benchmark
