// Completeness: every op has a shape rule, a gradient or none, a reference kernel and a test.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"

#include <set>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/kernels/kernel.h"
#include "tests/ops/gradient_cases.h"
#include "tests/ops/infer_text.h"

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
  // These ops are in no backward graph before fusion; standardise_image is never in one.
  const std::set<std::string> apart = {"class_counts",
                                       "score_counts",
                                       "target_sums",
                                       "conv_pool",
                                       "conv_pool_input_grad",
                                       "conv_pool_filter_grad",
                                       "fold_batch_norm",
                                       "fold_scale",
                                       "loss_seed",
                                       "pack",
                                       "round_variable",
                                       "standardise_image",
                                       "top_k_accuracy",
                                       "weigh"};
  for (const OpDef& op : builtin_ops().all()) {
    EXPECT_NE(covered.contains(op.name), apart.contains(op.name)) << op.name;
  }
}

TEST(AllOps, ActivationsNeedNothingButTheirInput) {
  for (const std::string& name : builtin_ops().names_with(Trait::activation)) {
    EXPECT_EQ(test::infer_text("x: f32[2,3]", "y = " + name + "(x)"), "f32[2,3]");
  }
}

// Fusion copies the attributes of a post_op to the op that applies it.
TEST(AllOps, PostOpsFitTheOpsThatApplyThem) {
  for (const OpDef& op : builtin_ops().all()) {
    EXPECT_TRUE(op.gradient_of.empty() || builtin_ops().get(op.gradient_of).has(Trait::post_op))
        << op.name;
    EXPECT_TRUE(op.has(Trait::activation) || !op.has(Trait::post_op)) << op.name;
    EXPECT_TRUE(op.has(Trait::batch_sum) || !op.has(Trait::moments)) << op.name;
    if (!op.has(Trait::takes_post_op)) continue;
    EXPECT_NE(op.attribute("activation"), nullptr) << op.name;
    for (const std::string& name : builtin_ops().names_with(Trait::post_op)) {
      for (const AttributeSpec& spec : builtin_ops().get(name).attributes) {
        EXPECT_NE(op.attribute(spec.name), nullptr) << op.name << " " << spec.name;
      }
    }
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
