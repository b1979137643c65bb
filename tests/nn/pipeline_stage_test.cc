// SPDX-License-Identifier: MIT
#include "pando/nn/pipeline_stage.h"

#include <thread>

#include <gtest/gtest.h>

#include "pando/nn/layers.h"
#include "pando/nn/network.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

TEST(PipelineStage, IsCurrentUntilItEnds) {
  EXPECT_EQ(PipelineStage::current(), -1);
  {
    const PipelineStage stage(3);
    EXPECT_EQ(PipelineStage::current(), 3);
  }
  EXPECT_EQ(PipelineStage::current(), -1);
}

TEST(PipelineStage, RefusesNegativeNumbers) {
  EXPECT_SAYS(error_of([] { const PipelineStage stage(-2); }), "stage", "got -2");
  EXPECT_EQ(PipelineStage::current(), -1);
}

TEST(PipelineStage, DoesNotNest) {
  const PipelineStage outer(1);
  EXPECT_SAYS(error_of([] { const PipelineStage inner(2); }), "stage 2", "inside stage 1");
  EXPECT_EQ(PipelineStage::current(), 1);
}

TEST(PipelineStage, BelongsToItsThread) {
  const PipelineStage stage(1);
  int elsewhere = 0;
  std::thread([&] { elsewhere = PipelineStage::current(); }).join();
  EXPECT_EQ(elsewhere, -1);
}

TEST(PipelineStage, LayersTakeTheStageTheyAreMadeIn) {
  std::vector<Layer> layers;
  {
    const PipelineStage stage(0);
    layers.push_back(Dense({.units = 2}));
  }
  {
    const PipelineStage stage(1);
    layers.push_back(ReLU());
  }
  const Network network = Sequential({4}, layers);
  EXPECT_EQ(network.stages(), 2);
  EXPECT_EQ(network.stage_assignment()[0].pipeline_stage, 0);
  EXPECT_EQ(network.stage_assignment()[1].pipeline_stage, 1);
}

TEST(PipelineStage, TheStageOfTheCallCountsMore) {
  const SymbolicTensor input = Input({4});
  SymbolicTensor x = input;
  const auto made = [](int stage) {
    const PipelineStage scope(stage);
    return Dense({.units = 4});
  };
  const Layer late = made(1);
  const Layer early = made(0);
  {
    const PipelineStage stage(0);
    x = late(x);
  }
  {
    const PipelineStage stage(1);
    x = early(x);
  }
  const std::vector<StageAssignment> assignment = Network(input, late(x)).stage_assignment();
  EXPECT_EQ(assignment[0].pipeline_stage, 0);
  EXPECT_EQ(assignment[1].pipeline_stage, 1);
  EXPECT_EQ(assignment[2].pipeline_stage, 1);  // called outside: the stage where it was created
}

}  // namespace
}  // namespace pando
