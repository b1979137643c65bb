// Checks what the training program of cosmoflow keeps from forward to backward: pooled volumes,
// never a volume of the size of a convolution's output.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "pando/compiler/program.h"
#include "tests/support/training_graphs.h"

namespace pando::compiler {
namespace {

TestNetwork network() {
  CosmoflowOptions options;
  options.dropout = 0.2;
  return {"cosmoflow", cosmoflow({64, 64, 64, 4}, 4, options), Loss("mse")};
}

// The values that calls before the loss make and calls after it read.
std::vector<const ir::Value*> held(const Program& program) {
  std::vector<const ir::Value*> made;
  std::vector<const ir::Value*> found;
  bool backward = false;
  for (const Call& call : program.calls()) {
    backward = backward || call.node->op() == "loss_seed";
    for (const Operand& input : call.inputs) {
      const bool of_forward = backward && std::ranges::find(made, input.value) != made.end();
      if (of_forward && std::ranges::find(found, input.value) == found.end()) {
        found.push_back(input.value);
      }
    }
    if (backward || call.node->op() == "pack") continue;
    for (const Operand& output : call.outputs) made.push_back(output.value);
  }
  return found;
}

std::map<std::string, int> count_ops(const Program& program) {
  std::map<std::string, int> counts;
  for (const Call& call : program.calls()) ++counts[call.node->op()];
  return counts;
}

// The micro-batch is one sample, which workers cut into parts, or a slice of several samples.
void check(int64_t slice_batch, Division division) {
  const auto program =
      compile(training_graph(network(), slice_batch), {.slices = 2, .division = division});
  const std::map<std::string, int> ops = count_ops(*program);
  EXPECT_EQ(ops.at("conv_pool"), 5);
  EXPECT_FALSE(ops.contains("conv"));
  EXPECT_FALSE(ops.contains("max_pool"));
  EXPECT_EQ(ops.at("conv_pool_filter_grad"), 5);
  EXPECT_EQ(ops.at("conv_pool_input_grad"), 4);  // the data need no gradient
  EXPECT_FALSE(ops.contains("max_pool_grad"));
  int pooled = 0;
  for (const ir::Value* value : held(*program)) {
    const Shape& shape = value->shape();
    if (shape.rank() != 5) continue;
    ++pooled;
    // Layer i has 16 * 2^i filters on volumes of length 64 / 2^i: held volumes have half that
    // length.
    EXPECT_EQ(shape[1] * shape[4], 32 * 16) << shape << " held from " << value->producer()->name();
  }
  EXPECT_EQ(pooled, 5 + 5);  // for each layer, the volume and the indices of its maxima
}

TEST(CosmoflowMemory, OneSampleInParts) { check(1, Division::parts); }

TEST(CosmoflowMemory, SlicesOfSamples) { check(2, Division::batch); }

// Makes sure that the test detects a full-size volume if there is one.
TEST(CosmoflowMemory, WithoutFusionFullSizeVolumesAreHeld) {
  const auto program = compile(training_graph(network(), 1),
                               {.slices = 2,
                                .division = Division::parts,
                                .disabled_passes = {"fuse-pool-grad", "fuse-conv-pool"}});
  const std::vector<const ir::Value*> values = held(*program);
  EXPECT_TRUE(std::ranges::any_of(values, [](const ir::Value* value) {
    return value->shape() == Shape({1, 64, 64, 64, 16});
  }));
}

}  // namespace
}  // namespace pando::compiler
