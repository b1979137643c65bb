// Completeness: what every op must bring along.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"

#include <set>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/kernels/kernel.h"
#include "tests/ops/gradient_cases.h"

namespace pando::ops {
namespace {

TEST(AllOps, HaveAShapeRuleAndAGradientOrNone) {
  for (const OpDef& op : builtin_ops().all()) {
    EXPECT_TRUE(op.infer) << op.name;
    EXPECT_NE(op.has(Trait::no_grad), static_cast<bool>(op.grad)) << op.name;
    EXPECT_FALSE(op.outputs.empty()) << op.name;
  }
}

TEST(AllOps, HaveAReferenceKernelLast) {
  for (const OpDef& op : builtin_ops().all()) {
    if (op.name == "pack") continue;  // its kernels come with the layouts
    EXPECT_EQ(kernels::candidates(op.name).back().name, "reference") << op.name;
  }
  EXPECT_THROW(kernels::candidates("pack"), InvalidArgument);
}

TEST(AllOps, HaveANumericGradientCheck) {
  std::set<std::string> covered;
  for (const test::GradientCase& gradient_case : test::gradient_cases()) {
    const ir::Graph graph = test::gradient_graph(gradient_case);
    for (const auto& node : graph.nodes()) covered.insert(node->op());
  }
  // These take part in no backward graph before fusion; standardise_image in none at all.
  const std::set<std::string> apart = {
      "conv_pool", "conv_pool_input_grad", "conv_pool_kernel_grad", "loss_seed",
      "pack",      "round_variable",       "standardise_image",     "top_k_accuracy"};
  for (const OpDef& op : builtin_ops().all()) {
    EXPECT_NE(covered.contains(op.name), apart.contains(op.name)) << op.name;
  }
}

TEST(AllOps, OptionalInputsAndOutputsAreTheLast) {
  for (const OpDef& op : builtin_ops().all()) {
    bool optional = false;
    for (const InputSpec& input : op.inputs) {
      EXPECT_TRUE(input.optional || !optional) << op.name;
      optional = optional || input.optional;
    }
    EXPECT_LT(op.optional_outputs, static_cast<int>(op.outputs.size())) << op.name;
  }
}

}  // namespace
}  // namespace pando::ops
