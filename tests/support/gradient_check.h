// Compares the gradients that append_gradients() builds with numeric ones, for any graph.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/run_graph.h"

namespace pando::test {

// One graph to check. Its only result is projected on random weights; inputs of role variable are
// differentiated. f32 inputs are random in [low, high], all distinct and none near zero so that a
// small change crosses no kink; `values` overrides inputs by name.
struct GradientCase {
  std::string name;
  std::string graph;
  float low = -1;
  float high = 1;
  Values values = {};
  int64_t valid = -1;  // valid samples of the batch; -1: all. Padding gets weight zero
  double tolerance = 2e-2;
};

// What is wrong with each variable whose gradient is missing or differs; empty when all agree.
std::vector<std::string> check_gradients(const GradientCase& gradient_case);

// The graph of the case with its gradients appended, as check_gradients() runs it.
ir::Graph gradient_graph(const GradientCase& gradient_case);

}  // namespace pando::test
