// How the many values of a metric in the output of a program become one.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace pando::benchmark {

struct Reduction {
  const char* name;
  double (*apply)(const std::vector<double>& values);  // requires: at least one value
};

// The only list of reductions. Throws UsageError that starts with `place` for an unknown name.
const Reduction& reduction(const std::string& name, const std::string& place);

// The middle value; the mean of the two in the middle if their number is even.
double median(std::vector<double> values);

}  // namespace pando::benchmark
