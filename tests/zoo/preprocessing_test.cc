#include "pando/zoo/preprocessing.h"

#include <gtest/gtest.h>

#include "pando/ir/text.h"
#include "pando/nn/layers.h"
#include "pando/nn/pipeline_stage.h"
#include "pando/zoo/zoo.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

// The layers before those of the model, as "name:type of the result in training".
std::vector<std::string> front(const PreprocessOptions& options,
                               const Shape& sample = {32, 32, 3}) {
  const Network body = toy_model(sample, 10);
  const Network network = with_preprocessing(body, options);
  const ir::Graph graph = network.build({.batch = 1, .training = true}).graph;
  std::vector<std::string> nodes;
  for (const auto& node : graph.nodes()) {
    if (node->name() == "conv2d_0") break;
    nodes.push_back(node->name() + ":" + to_string(node->output()->type()));
  }
  return nodes;
}

using Names = std::vector<std::string>;

TEST(WithPreprocessing, PutsLayersBeforeAModel) {
  using enum PreprocessValues;
  const std::string decompression = "eight_bit_transfer_decompression_layer:f32[1,32,32,3]";
  const std::string values = "preprocessing_layer:f32[1,32,32,3]";
  EXPECT_EQ(front({}), Names{});
  EXPECT_EQ(front({.eight_bit = true}), (Names{decompression}));
  EXPECT_EQ(front({.values = standardise}), (Names{values}));
  EXPECT_EQ(front({.eight_bit = true, .values = normalise_imagenet}),
            (Names{decompression, values}));
  EXPECT_EQ(front({.eight_bit = true, .values = standardise, .flip = true}),
            (Names{"preprocessing_flip:u8[1,32,32,3]", decompression, values}));
  for (const PreprocessValues each : {standardise, normalise_imagenet, scale_255}) {
    EXPECT_EQ(front({.eight_bit = true, .values = each, .fused = true}), (Names{values}));
  }
  EXPECT_EQ(front({.eight_bit = true, .values = scale_255, .fused = true}, {28, 28, 1}),
            (Names{"preprocessing_layer:f32[1,28,28,1]"}));
}

TEST(WithPreprocessing, LeavesTheModelsWeightsAlone) {
  const PreprocessOptions options = {
      .eight_bit = true, .values = PreprocessValues::normalise_imagenet, .flip = true};
  const Network body = zoo_entry("cifar_resnet8").build({32, 32, 3}, 10);
  const Network network = with_preprocessing(body, options);
  EXPECT_EQ(network.inputs()[0].dtype, DType::u8);
  EXPECT_EQ(network.parameters(), body.parameters());
  for (const LayerInfo& layer : body.layers()) {
    EXPECT_EQ(network.layer(layer.name).parameters(), layer.parameters()) << layer.name;
  }
  const std::string summary = network.summary("resnet");
  EXPECT_SAYS(summary, "eight_bit_transfer_decompression_layer (EightBitDecompression)");
  EXPECT_SAYS(summary, "preprocessing_layer (NormalisePixels)");
}

TEST(WithPreprocessing, BelongsToTheFirstStage) {
  const PreprocessOptions options = {.eight_bit = true, .flip = true};
  const Network body = toy_model({32, 32, 3}, 10);
  const auto stages = [](const Network& network) {
    std::vector<int> all;
    for (const StageAssignment& entry : network.stage_assignment()) {
      all.push_back(entry.pipeline_stage);
    }
    return all;
  };
  const std::vector<int> wanted = {0, 0, 0, 0, 1, 1, 1, 1};
  EXPECT_EQ(stages(with_preprocessing(body.with_splits({"conv2d_1"}), options)), wanted);
  EXPECT_EQ(stages(with_preprocessing(body, options).with_splits({"conv2d_1"})), wanted);
  const PipelineStage scope(0);
  EXPECT_EQ(with_preprocessing(body.with_splits({"conv2d_1"}), options).stages(), 2);
}

TEST(WithPreprocessing, RefusesWhatDoesNotGoTogether) {
  const auto error = [](const Network& network, const PreprocessOptions& options) {
    return error_of([&] { with_preprocessing(network, options); });
  };
  const SymbolicTensor flat = Input({32, 32});
  EXPECT_SAYS(error(Network(flat, Flatten()(flat)), {}), "[height, width, channels]",
              "got shape [32,32]");
  const Network grey = mnist_cnn({28, 28, 1}, 10);
  EXPECT_SAYS(error(grey, {.values = PreprocessValues::normalise_imagenet}), "3 channels",
              "got shape [28,28,1]");
  EXPECT_SAYS(error(grey, {.fused = true}), "fused", "got none");
  const PreprocessOptions flip{.flip = true};
  EXPECT_SAYS(error(with_preprocessing(grey, flip), flip), "one input", "got 2");
}

}  // namespace
}  // namespace pando
