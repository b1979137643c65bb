// Networks that go out as ONNX and come back are the same: same weights, same bits.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <random>

#include "pando/nn/layers.h"
#include "pando/onnx/export.h"
#include "pando/zoo/zoo.h"
#include "tests/onnx/imported_model.h"
#include "tests/support/expect_error.h"

namespace pando::onnx {
namespace {

using testing_support::error_of;

std::map<std::string, Tensor> weights_of(const Model& model) {
  std::map<std::string, Tensor> weights;
  for (const std::string& name : model.weight_names())
    weights.emplace(name, model.get_weight(name));
  return weights;
}

// Weights and statistics that hide nothing.
void randomise(Model& model) {
  std::mt19937 random(7);
  std::vector<Tensor> weights = model.get_weights();
  const std::vector<std::string> names = model.weight_names();
  for (size_t i = 0; i < weights.size(); ++i) {
    if (names[i].ends_with("kernel")) continue;
    for (float& value : weights[i].f32()) {
      value = 0.5f + static_cast<float>(random() % 1000) / 1000;
    }
  }
  model.set_weights(weights);
}

Tensor random_samples(const Shape& sample, int64_t count) {
  std::vector<int64_t> dims = {count};
  dims.insert(dims.end(), sample.begin(), sample.end());
  Tensor x(DType::f32, Shape(dims));
  std::mt19937 random(3);
  for (float& value : x.f32()) value = static_cast<float>(random() % 2000) / 1000 - 1;
  return x;
}

ModelProto written_and_read(const ModelProto& model) {
  return parse_model(std::make_shared<const std::vector<uint8_t>>(to_bytes(model)), "memory", "");
}

void expect_same_after_round_trip(const Network& network, int64_t opset) {
  Model model(network);
  randomise(model);
  const ModelProto file =
      written_and_read(export_network(network, weights_of(model), {.opset = opset}));
  const ImportedNetwork imported = import_network(file);
  const std::map<std::string, Tensor> before = weights_of(model);
  ASSERT_EQ(imported.weights.size(), before.size());
  EXPECT_EQ(imported.network.parameters(), network.parameters());
  for (const LayerInfo& layer : network.layers()) {  // layers with weights keep their names
    if (layer.parameters() == 0) continue;
    EXPECT_NO_THROW(imported.network.layer(layer.name)) << layer.name;
  }
  for (const auto& [name, tensor] : imported.weights) {
    ASSERT_TRUE(before.contains(name)) << name;
    EXPECT_TRUE(std::ranges::equal(tensor.f32(), before.at(name).f32())) << name;
  }
  Model back = model_of(imported);
  const Tensor x = random_samples(network.inputs()[0].shape, 2);
  // On two cores, in slices of two samples: attributes with shapes follow the batch.
  const Tensor y = model.predict(x, 4), z = back.predict(x, 4);
  ASSERT_EQ(y.shape(), z.shape());
  EXPECT_TRUE(std::ranges::equal(y.f32(), z.f32()));
}

// A small input that the network takes.
Shape small_input(const ZooEntry& entry) {
  if (entry.name == "cosmoflow_v1") return {64, 64, 64, 4};
  if (entry.dataset == "cosmoflow") return {32, 32, 32, 4};
  if (entry.input_shape.rank() == 4) return {16, 16, 16, entry.input_shape.back()};
  if (entry.input_shape[0] != 224) return entry.input_shape;
  return {32, 32, 3};
}

class RoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, GivesTheSameBits) {
  const ZooEntry& entry = zoo_entry(GetParam());
  const int64_t opset = entry.name == "convnext_tiny" ? 17 : 13;
  expect_same_after_round_trip(entry.build(small_input(entry), 5), opset);
}

// The small ones, or all of the zoo for the slow test.
std::vector<std::string> zoo_names() {
  if (std::getenv("PANDO_WHOLE_ZOO") == nullptr) {
    return {"mnist_cnn",    "cifar_resnet8", "mobilenet_v2", "efficientnet_b0",
            "toy_model_bn", "unet_small",    "cosmoflow",    "cosmoflow_resnet"};
  }
  std::vector<std::string> names;
  for (const ZooEntry& entry : model_zoo()) names.push_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, RoundTrip, testing::ValuesIn(zoo_names()),
                         [](const auto& one) { return one.param; });

// ONNX Runtime would make zeros its padding otherwise.
TEST(OnnxExport, PoolingBehindZerosNamesItsPadding) {
  for (const auto& [padding, expected] :
       {std::pair<std::string, std::string>("valid", "VALID"), {"same", "SAME_UPPER"}}) {
    Model model(Sequential({5, 5, 2}, {ZeroPadding2D(), MaxPooling2D({.padding = padding})}));
    const ModelProto file = export_network(model.network(), {}, {});
    const NodeProto& pool = file.graph.nodes.back();
    ASSERT_EQ(pool.op_type, "MaxPool");
    ASSERT_NE(pool.find("auto_pad"), nullptr);
    EXPECT_EQ(pool.find("auto_pad")->s, expected);
    EXPECT_EQ(pool.find("pads"), nullptr);
    const ImportedNetwork again = import_network(file);
    EXPECT_EQ(again.network.outputs()[0].shape, model.network().outputs()[0].shape);
  }
}

TEST(OnnxExport, NamesWhatTheOpsetLacks) {
  const Network network =
      Sequential({4, 4, 3}, {LayerNormalization(), Conv2D({.filters = 2}), Flatten()});
  const Model model(network);
  EXPECT_SAYS(error_of<Unsupported>([&] { export_network(network, weights_of(model)); }),
              "opset 13", "layer_norm", "17");
  EXPECT_SAYS(
      error_of<InvalidArgument>([&] { export_network(network, weights_of(model), {.opset = 8}); }),
      "9 to 17", "8");
  EXPECT_SAYS(error_of<InvalidArgument>([&] { export_network(network, {}, {.opset = 17}); }),
              "weight");
}

}  // namespace
}  // namespace pando::onnx
