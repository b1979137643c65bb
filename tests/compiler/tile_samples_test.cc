// Chains of nodes that run on some samples at a time.
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "pando/compiler/memory_map.h"
#include "tests/compiler/playback.h"
#include "tests/compiler/program_of.h"
#include "tests/compiler/program_runner.h"
#include "tests/compiler/split_networks.h"

namespace pando::compiler {
namespace {

constexpr int64_t kTileBatch = 4;
constexpr size_t kSmallTiles = 16 << 10;  // the calls of the networks below move far more

using Outputs = ProgramRunner::Outputs;

TestNetwork small_network(const std::string& name) { return test_network(name, {32, 32, 3}); }

ProgramOptions in_tiles(ProgramOptions options = {}) {
  options.tile_bytes = kSmallTiles;
  return options;
}

Outputs outputs_of(const TestNetwork& test, ProgramOptions options) {
  const auto program = compile(training_graph(test, kTileBatch), std::move(options));
  const test::Values inputs = random_inputs(program->graph(), 10);
  return ProgramRunner(*program, inputs).run(kTileBatch);
}

std::set<std::string> tiled_ops(const Program& program) {
  std::set<std::string> ops;
  for (const Call& call : program.calls()) {
    if (call.tiles > 1) ops.insert(call.node->op());
  }
  return ops;
}

TEST(TileSamples, ChainsConvolutionsWithNormalisation) {
  const TestNetwork test = small_network("cifar_resnet8");
  const auto program = compile(training_graph(test, kTileBatch), in_tiles({.slices = 2}));
  const std::set<std::string> ops = tiled_ops(*program);
  for (const char* op : {"conv", "conv_input_grad", "conv_filter_grad", "batch_moments",
                         "batch_norm", "batch_norm_sums", "batch_norm_input_grad"}) {
    EXPECT_TRUE(ops.contains(op)) << op;
  }
  EXPECT_FALSE(ops.contains("combine_moments"));
  EXPECT_FALSE(ops.contains("cross_entropy"));
}

// The calls of a chain run tile by tile, all others once.
TEST(TileSamples, EveryTileRunsOnceAndInOrder) {
  const TestNetwork test = small_network("cifar_resnet8");
  const auto program = compile(training_graph(test, kTileBatch), in_tiles({.slices = 2}));
  std::map<const ir::Node*, int64_t> runs;
  std::set<int> buckets;
  for (const Segment& segment : program->sections()[0].segments) {
    for (const int number : segment.order) {
      const Call& call = program->runnable(number);
      ++runs[call.node];
      EXPECT_EQ(call.section, 0);
      if (call.bucket < 0) continue;
      EXPECT_TRUE(buckets.insert(call.bucket).second);
    }
  }
  EXPECT_EQ(buckets.size(), program->memory().buckets.size());
  for (const Call& call : program->calls()) {
    EXPECT_EQ(runs[call.node], call.section == 0 ? call.tiles : 0) << call.node->label();
  }
}

double root_mean_square(const std::vector<float>& numbers) {
  double squares = 0;
  for (const float number : numbers) squares += static_cast<double>(number) * number;
  return std::sqrt(squares / static_cast<double>(numbers.size()));
}

// Rounding may open a relu that is closed in the other program, so gradients of single channels
// differ, and gradients of offsets that the next normalisation removes are nothing but rounding.
void expect_close(const Outputs& found, const Outputs& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  std::map<std::string, double> largest;  // of each role
  const auto role = [](const std::string& output) { return output.substr(0, output.find(' ')); };
  for (const auto& [output, numbers] : wanted) {
    double& most = largest[role(output)];
    most = std::max(most, root_mean_square(numbers));
  }
  for (const auto& [output, numbers] : wanted) {
    std::vector<float> apart = found.at(output);
    for (size_t i = 0; i < apart.size(); ++i) apart[i] -= numbers[i];
    EXPECT_LT(root_mean_square(apart),
              0.02 * root_mean_square(numbers) + 1e-3 * largest[role(output)])
        << output;
  }
}

// The deeper network has larger pictures: statistics of few pixels magnify rounding.
TEST(TileSamples, ResultsAgreeWithThoseOfWholeSlices) {
  for (const auto& [name, extent] : {std::pair("cifar_resnet8", 32), std::pair("toy_model_bn", 32),
                                     std::pair("mobilenet_v2", 160)}) {
    SCOPED_TRACE(name);
    const TestNetwork test = test_network(name, {extent, extent, 3});
    expect_close(outputs_of(test, in_tiles()),
                 outputs_of(test, {.disabled_passes = {"tile-samples"}}));
  }
}

// Chains differ, but not the tiles in which sums are computed.
TEST(TileSamples, NeitherPipelinesNorRecomputationChangeBits) {
  for (const SplitNetwork& split : split_networks()) {
    SCOPED_TRACE(split.label);
    const TestNetwork test = split.build();
    const Outputs whole = outputs_of(test, in_tiles());
    for (const Recomputation mode : kModes) {
      SCOPED_TRACE(label_of(mode));
      const Outputs found = outputs_of(test, in_tiles({.pipelined = true, .recomputation = mode}));
      ASSERT_EQ(found.size(), whole.size());
      for (const auto& [name, numbers] : whole) EXPECT_TRUE(found.at(name) == numbers) << name;
    }
  }
}

TEST(TileSamples, NoValueIsOverwrittenWhileLive) {
  for (const Recomputation mode : kModes) {
    const auto program = compile(training_graph(small_network("cifar_resnet8"), kTileBatch),
                                 in_tiles({.slices = 2, .recomputation = mode}));
    Playback(*program).run();
  }
}

TEST(TileSamples, ValuesOfAChainTakeTheMemoryOfATile) {
  const auto program =
      compile(training_graph(small_network("cifar_resnet8"), kTileBatch), in_tiles({.slices = 2}));
  const MemoryMap map = memory_map(*program);
  int found = 0;
  for (const MemoryBlock& block : map.blocks) {
    const Place place = program->operand(block.values.front()).place;
    EXPECT_EQ(block.bytes * static_cast<size_t>(place.tiles), block.values.front()->bytes());
    found += place.tiles > 1 ? 1 : 0;
    for (const MemoryBlock& other : map.blocks) {
      const bool together = block.first <= other.last && other.first <= block.last;
      const bool apart =
          block.offset + block.bytes <= other.offset || other.offset + other.bytes <= block.offset;
      const bool same_memory = block.region == other.region && block.stage == other.stage;
      EXPECT_TRUE(&block == &other || !same_memory || !together || apart)
          << describe(block) << " and " << describe(other);
    }
  }
  EXPECT_GT(found, 10);
}

TEST(TileSamples, LeavesWhatFitsIntoACache) {
  const TestNetwork test = small_network("cifar_resnet8");
  const auto program = compile(training_graph(test, kTileBatch), {.slices = 2});
  EXPECT_TRUE(tiled_ops(*program).empty());
}

TEST(TileSamples, LeavesOtherProgramsAlone) {
  const TestNetwork test = small_network("cifar_resnet8");
  const auto expect_whole = [&](RunMode mode, ProgramOptions options) {
    EXPECT_TRUE(tiled_ops(*compile(graph_of(test, mode, kTileBatch), std::move(options))).empty());
  };
  expect_whole(RunMode::predict, in_tiles());
  expect_whole(RunMode::evaluate, in_tiles());
  expect_whole(RunMode::train, in_tiles({.slices = 2, .division = Division::parts}));
  expect_whole(RunMode::train, in_tiles({.precision = {DType::bf16, DType::f32}}));
  expect_whole(RunMode::train, {.tile_bytes = 0});
}

// Every tile would read the filter again.
TEST(TileSamples, LeavesLayersWhoseFilterIsLargerThanTheirSamples) {
  const auto program = program_of(R"(graph(x: f32[8,4,4,256] feed, k: f32[3,3,256,256] variable,
      t: f32[8,4,4,256] feed) {
      r = relu(x)
      y = conv(r, k) {padding="same"}
      l = mean_squared_error(y, t)
      s = loss_seed() {batch=8}
      dy = mean_squared_error_grad(s, y, t)
      dk = conv_filter_grad(r, dy) {filter=[3,3], padding="same"}
      return loss l=l, gradient k=dk })",
                                  {.tile_bytes = 1024});
  EXPECT_TRUE(tiled_ops(*program).empty());
}

}  // namespace
}  // namespace pando::compiler
