#include "pando/compiler/compilation_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/compiler/report.h"
#include "tests/compiler/split_networks.h"

namespace pando::compiler {
namespace {

using nlohmann::json;

const OpReport& op_named(const CompilationReport& report, const std::string& op) {
  for (const OpReport& row : report.ops) {
    if (row.op == op) return row;
  }
  throw std::runtime_error("no " + op);
}

const LayerReport& layer_named(const CompilationReport& report, const std::string& layer) {
  for (const LayerReport& row : report.layers) {
    if (row.layer == layer) return row;
  }
  throw std::runtime_error("no " + layer);
}

const std::vector<std::string> kLayers = {"conv2d",  "max_pooling2d", "conv2d_1", "max_pooling2d_1",
                                          "flatten", "dropout",       "dense"};

std::unique_ptr<const Program> mnist(ProgramOptions options = {}) {
  return compile(training_graph(test_network("mnist_cnn", {28, 28, 1}), 4), std::move(options));
}

TEST(CompilationReport, OpsHaveTheirPartWorkAndBytes) {
  const auto program = mnist();
  const CompilationReport report = compilation_report(*program, kLayers);
  ASSERT_EQ(report.ops.size(), program->calls().size());
  EXPECT_EQ(report.slice_batch, 4);
  const OpReport& dense = op_named(report, "dense");
  EXPECT_EQ(dense.part, StepPart::forward);
  EXPECT_EQ(dense.layer, "dense");
  EXPECT_EQ(dense.flops, 2.0 * 4 * 1600 * 10);
  EXPECT_EQ(dense.bytes_read, sizeof(float) * (4 * 1600 + 1600 * 10 + 10));
  EXPECT_EQ(dense.bytes_written, sizeof(float) * 4 * 10);
  EXPECT_EQ(op_named(report, "dense_filter_grad").part, StepPart::backward);
  EXPECT_EQ(op_named(report, "pack").part, StepPart::prologue);
  const OpReport& conv = op_named(report, "conv_pool");
  EXPECT_EQ(conv.result, "f32[4,13,13,32]");
  ASSERT_FALSE(conv.layouts.empty());
  EXPECT_EQ(conv.layouts[0].substr(0, 10), "filter as ");
}

TEST(CompilationReport, LayersComeInTheOrderOfTheNetwork) {
  const auto program = mnist();
  const CompilationReport report = compilation_report(*program, kLayers);
  std::vector<std::string> names;
  for (const LayerReport& layer : report.layers) names.push_back(layer.layer);
  ASSERT_GE(names.size(), 6u);
  names.resize(6);
  EXPECT_EQ(names, (std::vector<std::string>{"conv2d", "max_pooling2d", "conv2d_1",
                                             "max_pooling2d_1", "dropout", "dense"}));
  const LayerReport& conv = layer_named(report, "conv2d");
  EXPECT_EQ(conv.weights, 320);
  EXPECT_EQ(conv.weight_bytes, 320 * sizeof(float));
  EXPECT_EQ(conv.forward_flops, 2.0 * 4 * 26 * 26 * 9 * 32);
  EXPECT_EQ(conv.backward_flops, conv.forward_flops);  // images have no gradient
  // Kept are its pooled result and the indices of the maxima, not the full result.
  EXPECT_EQ(conv.kept_bytes, size_t{4} * 13 * 13 * 32 * (sizeof(float) + 1));
  EXPECT_EQ(layer_named(report, "fed x").kept_bytes, sizeof(float) * 4 * 28 * 28);
}

TEST(CompilationReport, WithoutNamesOfLayersNodesStandForThem) {
  const auto program = mnist();
  EXPECT_GT(layer_named(compilation_report(*program), "dense").forward_flops, 0);
}

// The work of one sample does not depend on the division.
TEST(CompilationReport, WorkIsThatOfTheNetwork) {
  const TestNetwork network = test_network("mnist_cnn", {28, 28, 1});
  const double forward = forward_flops(network.network);
  for (const ProgramOptions& options : std::vector<ProgramOptions>{
           {}, {.slices = 3}, {.slices = 3, .division = Division::parts}, {.pipelined = true}}) {
    const auto program = mnist(options);
    const CompilationReport report = compilation_report(*program);
    EXPECT_DOUBLE_EQ(report.flops(StepPart::forward), forward);
    EXPECT_NEAR(report.flops(), 14.26e6, 0.005e6);
  }
}

TEST(CompilationReport, RecomputedWorkIsOfBackward) {
  const SplitNetwork split = split_networks()[0];
  const auto work = [&](Recomputation mode) {
    const auto program =
        compile(training_graph(split.build(), 4), {.pipelined = true, .recomputation = mode});
    return compilation_report(*program).flops(StepPart::backward);
  };
  EXPECT_GT(work(Recomputation::then_backward), work(Recomputation::none));
}

TEST(CompilationReport, GatheredInputsAreReadOfAllSlices) {
  const auto program =
      compile(training_graph(test_network("toy_model_bn", {32, 32, 3}), 4), {.slices = 2});
  const CompilationReport report = compilation_report(*program);
  const OpReport& gathers = op_named(report, "combine_moments");
  const Call& call = program->calls()[static_cast<size_t>(gathers.call)];
  EXPECT_EQ(gathers.bytes_read, 2 * call.node->input(0)->bytes());
}

TEST(CompilationReport, JsonHasWhatTheReportHas) {
  const auto program = mnist({.slices = 2});
  const CompilationReport report = compilation_report(*program, kLayers);
  const json parsed = json::parse(to_json(report));
  EXPECT_EQ(parsed["ops"].size(), report.ops.size());
  EXPECT_EQ(parsed["layers"].size(), report.layers.size());
  EXPECT_EQ(parsed["passes"].size(), program->passes().size());
  EXPECT_EQ(parsed["precision"], "32.32");
  EXPECT_EQ(parsed["division"]["slices"], 2);
  EXPECT_EQ(parsed["memory"]["blocks"].size(), report.memory.blocks.size());
  EXPECT_EQ(parsed["memory"]["unshared_bytes"], program->memory().unshared_bytes);
  EXPECT_EQ(parsed["memory"]["always_live"]["gradients"], program->memory().stages[0].gradients);
  for (size_t i = 0; i < report.ops.size(); ++i) {
    EXPECT_EQ(parsed["ops"][i]["kernel"], report.ops[i].kernel);
  }
}

TEST(CompilationReport, BlocksAreListedOnDemand) {
  const auto program = mnist();
  const CompilationReport report = compilation_report(*program, kLayers);
  EXPECT_EQ(to_text(report).find("memory map"), std::string::npos);
  const std::string text = to_text(report, {.blocks = true});
  EXPECT_NE(text.find("memory map"), std::string::npos);
  EXPECT_NE(text.find("-- packed variables"), std::string::npos);
  EXPECT_NE(text.find("-- gradients of stage 0"), std::string::npos);
}

}  // namespace
}  // namespace pando::compiler
