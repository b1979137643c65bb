#include "pando/runtime/verification.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/compiler/pipeline.h"
#include "pando/ir/text.h"
#include "pando/nn/layers.h"
#include "tests/support/training_graphs.h"

namespace pando::runtime {
namespace {

void expect_agreement(const TestNetwork& network, const VerificationOptions& options) {
  const VerificationTable table = verify_network_graph(
      [&](int64_t slice_batch) { return training_graph(network, slice_batch); }, options);
  EXPECT_TRUE(table.ok()) << network.name << "\n" << to_text(table);
}

// Five samples in two slices of three: the last one is padding.
constexpr VerificationOptions kPadded = {.slices = 2, .slice_batch = 3, .valid = 5};
constexpr VerificationOptions kParts = {
    .slices = 2, .slice_batch = 1, .division = compiler::Division::parts};

TEST(Verification, ToyModelWithBatchNorm) {
  const TestNetwork network = test_network("toy_model_bn", {32, 32, 3});
  expect_agreement(network, {});
  expect_agreement(network, kPadded);
  // With one sample, the second normalisation would see one pixel at 32x32.
  expect_agreement(test_network("toy_model_bn", {62, 62, 3}), kParts);
}

TEST(Verification, MnistCnn) {
  const TestNetwork network = test_network("mnist_cnn", {12, 12, 1});
  expect_agreement(network, {});
  expect_agreement(network, kPadded);
  expect_agreement(network, kParts);
}

TEST(Verification, CifarResnet) {
  const TestNetwork network = test_network("cifar_resnet8", {16, 16, 3});
  expect_agreement(network, kPadded);
  expect_agreement(network, {.slices = 3, .slice_batch = 2, .division = compiler::Division::parts});
}

// A short one with both kinds of blocks and a stride.
TEST(Verification, ResnetOfImagenet) {
  const Network network =
      resnet({32, 32, 3}, 10, {.blocks = {2, 1, 0, 0}, .bottleneck = true, .norm = {}});
  expect_agreement({"resnet", network, Loss("sparse_categorical_crossentropy")}, kParts);
}

TEST(Verification, ResnetWithGroupNorm) {
  const ZooEntry& entry = zoo_entry("cifar_resnet8");
  const ZooOptions options = {.norm = {.name = "group_norm", .params = {{"num_groups", 4}}}};
  expect_agreement({"group", entry.build({16, 16, 3}, 10, options), Loss(entry.loss)}, kPadded);
}

TEST(Verification, Cosmoflow) {
  expect_agreement(test_network("cosmoflow", {32, 32, 32, 1}), kParts);
}

TEST(Verification, CosmoflowWithoutPadding) {
  const Network network = cosmoflow_v1({15, 15, 15, 4}, 4, {.conv_size = 8, .conv_layers = 3});
  expect_agreement({"cosmoflow_v1", network, Loss("mse")}, kPadded);
  expect_agreement({"cosmoflow_v1", network, Loss("mse")}, kParts);
}

// Both kinds of blocks and a stride, in three dimensions.
TEST(Verification, CosmoflowResnet) {
  const Network network =
      cosmoflow_resnet({12, 12, 12, 2}, 4, {.blocks = {2, 1, 0, 0}, .filters = 8, .norm = {}});
  expect_agreement({"cosmoflow_resnet", network, Loss("mse")}, kPadded);
  expect_agreement({"cosmoflow_resnet", network, Loss("mse")}, kParts);
}

// A layer that is used twice has two contributions to one gradient.
TEST(Verification, SharedLayer) {
  const SymbolicTensor input = Input({6, 6, 4});
  const Layer shared = Conv2D({.filters = 4, .kernel = {3, 3}, .padding = "same"});
  const SymbolicTensor x = Flatten()(shared(shared(input)));
  const TestNetwork network{"shared", Network(input, Dense({.units = 3})(x)), Loss("mse")};
  expect_agreement(network, kPadded);
  expect_agreement(network, kParts);
}

// Squeeze and excitation, then attention over the pixels.
TestNetwork gated_network() {
  const SymbolicTensor input = Input({6, 6, 3});
  SymbolicTensor x = Conv2D({.filters = 8, .kernel = {3, 3}, .padding = "same"})(input);
  x = PReLU({.shared_axes = {1, 2}})(LayerNormalization()(x));
  SymbolicTensor gate = Reduce({.axes = {1, 2}, .keepdims = true})(x);
  gate = Conv2D({.filters = 8, .activation = "sigmoid"})(gate);
  SymbolicTensor branch = SpatialDropout2D({.rate = 0.25})(Multiply()({x, gate}));
  x = Add()({x, StochasticDepth({.rate = 0.5})(branch)});
  x = GaussianNoise({.stddev = 0.1})(InstanceNormalization()(x));
  SymbolicTensor rows = Reshape({.shape = {36, 8}})(x);
  const SymbolicTensor keys = Permute({.dims = {2, 1}})(rows);
  const SymbolicTensor scores = Softmax({.axis = 2})(MatMul()({rows, keys}));
  rows = Maximum()({MatMul()({scores, rows}), Subtract()({rows, Slice({{0}, {1}})(rows)})});
  const SymbolicTensor most = Reduce({.function = "max", .axes = {1}})(rows);
  const SymbolicTensor least = Reduce({.function = "min", .axes = {1}})(rows);
  return {"gated", Network(input, Dense({.units = 3})(Average()({most, least}))), Loss("huber")};
}

TEST(Verification, GatesNoiseAndAttention) {
  expect_agreement(gated_network(), kPadded);
  expect_agreement(gated_network(), kParts);
  VerificationOptions half = kPadded;
  half.precision = parse_precision("16.32");
  expect_agreement(gated_network(), half);
}

// The mask of relu6 is applied inside the gradients of batch normalisation.
TEST(Verification, Relu6) {
  const Network network = Sequential(
      {8, 8, 3},
      {Conv2D({.filters = 8, .kernel = {3, 3}}), BatchNormalization(), ReLU({.max_value = 6}),
       DepthwiseConv2D({.kernel = {3, 3}, .activation = "relu6"}), Flatten(), Dense({.units = 3})});
  expect_agreement({"relu6", network, Loss("mse")}, kPadded);
  expect_agreement({"relu6", network, Loss("mse")}, kParts);
}

// The loss of a sample is the mean over its pixels.
TEST(Verification, Segmentation) {
  const Network network =
      Sequential({6, 6, 3}, {Conv2D({.filters = 4, .kernel = {3, 3}, .padding = "same"}),
                             LayerNormalization({.axis = {1, 2, 3}}), Softmax()});
  for (const Loss& loss : {CategoricalCrossentropy(), CategoricalFocalCrossentropy()}) {
    expect_agreement({"segmentation", network, loss}, kPadded);
  }
}

// In 16 bits, with tolerances of the type.
TEST(Verification, HalfPrecision) {
  const TestNetwork mnist = test_network("mnist_cnn", {12, 12, 1});
  const TestNetwork resnet = test_network("cifar_resnet8", {16, 16, 3});
  for (const char* precision : {"16.16", "16.32", "bf16.16"}) {
    for (VerificationOptions options : {kPadded, kParts}) {
      options.precision = parse_precision(precision);
      expect_agreement(mnist, options);
      if (options.precision.update == DType::f32) continue;
      options.slice_batch = 6;  // a rounding moves the statistics of two samples by much
      options.valid = options.division == compiler::Division::parts ? 6 : 11;
      expect_agreement(resnet, options);
    }
  }
}

// Sums in another order are sometimes rounded the other way.
TEST(Verification, HalfPrecisionHasATolerance) {
  const TestNetwork mnist = test_network("mnist_cnn", {12, 12, 1});
  VerificationOptions options = kPadded;
  options.precision = {DType::f16, DType::f16};
  options.tolerance = 1e-6;
  const VerificationTable table = verify_network_graph(
      [&](int64_t slice_batch) { return training_graph(mnist, slice_batch); }, options);
  EXPECT_EQ(table.tolerance, 1e-6);
  EXPECT_FALSE(table.ok()) << to_text(table);
}

TEST(Verification, EveryPassThatCanBeOffIsOffOnce) {
  const TestNetwork network = test_network("toy_model", {32, 32, 3});
  const VerificationTable table = verify_network_graph(
      [&](int64_t slice_batch) { return training_graph(network, slice_batch); }, {});
  std::vector<std::string> variants;
  for (const VerificationRow& row : table.rows) variants.push_back(row.variant);
  const compiler::PassPipeline pipeline = compiler::default_pipeline();
  size_t optional_passes = 0;
  for (const auto& pass : pipeline.passes()) {
    if (pass->required()) continue;
    ++optional_passes;
    EXPECT_NE(std::find(variants.begin(), variants.end(), "without " + std::string(pass->name())),
              variants.end());
  }
  EXPECT_EQ(table.rows.size(), 3 + optional_passes);
}

TEST(Verification, FindsADifference) {
  // What the graph computes depends on how the micro-batch is cut: the mean over a slice.
  const auto build = [](int64_t slice_batch) {
    const std::string batch = std::to_string(slice_batch);
    return ir::parse_graph("graph(x: f32[" + batch + ",4] feed, k: f32[4,2] variable) {" +
                           "y = dense(x, k) z = scale(y) {factor=" + batch +
                           ".0} return result z=z }");
  };
  EXPECT_TRUE(verify_network_graph(build, {.slices = 1}).ok());
  const VerificationTable table = verify_network_graph(build, {.slices = 2, .slice_batch = 2});
  EXPECT_FALSE(table.ok());
  EXPECT_EQ(table.rows[0].worst, "result z");
  EXPECT_NEAR(table.rows[0].relative, 0.5, 1e-3);
  EXPECT_NE(to_text(table).find("FAIL"), std::string::npos) << to_text(table);
  EXPECT_NE(to_text(table).find("they DIFFER"), std::string::npos);
}

TEST(Verification, RunsWithGivenVariables) {
  const auto build = [](int64_t slice_batch) {
    return ir::parse_graph("graph(x: f32[" + std::to_string(slice_batch) +
                           ",2] feed, k: f32[2,1] variable) {"
                           "y = dense(x, k) return result y=y }");
  };
  VariableStore variables;
  variables.add("k", Tensor::of_f32({2, 1}, {std::numeric_limits<float>::quiet_NaN(), 1}));
  EXPECT_FALSE(verify_network_graph(build, {.variables = &variables}).ok());
  variables.get("k").value.f32()[0] = 2;
  EXPECT_TRUE(verify_network_graph(build, {.variables = &variables}).ok());
}

TEST(Verification, RefusesWhatFitsNoMicroBatch) {
  const auto build = [](int64_t) { return ir::Graph(); };
  EXPECT_THROW(verify_network_graph(build, {.slices = 0}), InvalidArgument);
  EXPECT_THROW(verify_network_graph(build, {.slice_batch = 0}), InvalidArgument);
  EXPECT_THROW(verify_network_graph(build, {.slice_batch = 2, .valid = 3}), InvalidArgument);
  EXPECT_THROW(verify_network_graph(build, {.valid = -1}), InvalidArgument);
}

TEST(Verification, RefusesSamplesOfOtherTypes) {
  const auto build = [](int64_t slice_batch) {
    return ir::parse_graph("graph(x: f16[" + std::to_string(slice_batch) +
                           ",2] feed) { y = cast(x) {dtype=\"f32\"} return result y=y }");
  };
  EXPECT_THROW(verify_network_graph(build, {}), Unsupported);
}

}  // namespace
}  // namespace pando::runtime
