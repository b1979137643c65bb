// The last batch of an epoch is filled up with samples. Zeros would not do: some functions, or
// their slopes, are infinite at 0.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/train/device_strategy.h"
#include "tests/onnx/made_models.h"

namespace pando::onnx {
namespace {

// Two dense layers with these nodes between them, from "h" to "g".
ModelProto between_dense_layers(const std::vector<NodeProto>& nodes) {
  std::vector<NodeProto> all = {node_of("MatMul", {"x", "first"}, "h")};
  all.insert(all.end(), nodes.begin(), nodes.end());
  all.push_back(node_of("MatMul", {"g", "second"}, "y"));
  return model_with({2}, all,
                    {reals("first", {2, 2}, {0.5f, 0.25f, 0.25f, 0.5f}),
                     reals("second", {2, 2}, {0.5f, -0.5f, 0.25f, 0.5f}), reals("half", {}, {0.5f}),
                     reals("halves", {2}, {0.5f, 0.75f})});
}

// Trains on three samples in batches of two, on one device or two.
void expect_finite_weights(const std::vector<NodeProto>& nodes, int replicas = 1) {
  const DeviceStrategy strategy({.devices = replicas});
  const DeviceStrategy::Scope scope = strategy.scope();
  Model model = model_of(import_network(between_dense_layers(nodes)));
  model.compile({.optimizer = SGD({.learning_rate = 0.01}), .loss = "mean_squared_error"});
  model.fit(Tensor::of_f32({3, 2}, {1, 2, 3, 4, 5, 6}), Tensor::of_f32({3, 2}, {1, 0, 0, 1, 1, 1}),
            {.epochs = 2, .batch_size = 2, .verbose = 0});
  for (const std::string& name : model.weight_names()) {
    const Tensor weight = model.get_weight(name);
    for (const float value : weight.f32()) {
      EXPECT_TRUE(std::isfinite(value)) << nodes[0].op_type << " " << name;
    }
  }
}

TEST(OnnxPaddedSamples, InfiniteSlopesReachNoWeight) {
  expect_finite_weights({node_of("Sqrt", {"h"}, "g")});
  expect_finite_weights({node_of("Pow", {"h", "half"}, "g")});
  expect_finite_weights({node_of("Pow", {"h", "halves"}, "g")});
  for (const char* function : {"Log", "Reciprocal"}) {
    expect_finite_weights({node_of(function, {"h"}, "f"), node_of("Sigmoid", {"f"}, "g")});
  }
}

TEST(OnnxPaddedSamples, InfiniteValuesReachNoWeight) {
  for (const char* function : {"Log", "Reciprocal"}) {
    expect_finite_weights({node_of(function, {"h"}, "g")});
    expect_finite_weights({node_of(function, {"h"}, "g")}, 2);  // one gets no sample at last
  }
}

}  // namespace
}  // namespace pando::onnx
