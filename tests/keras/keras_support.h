// Small descriptions of Keras models, weights for them, and models made of both.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pando/keras/import.h"
#include "pando/train/model.h"

namespace pando::keras {

// Gives every weight that is asked for numbers between 0.5 and 1.5, the same each time.
class AnyWeights : public WeightSource {
 public:
  std::vector<std::vector<Tensor>> find(const std::vector<WantedLayer>& layers) const override {
    std::mt19937 random(11);
    std::vector<std::vector<Tensor>> all;
    for (const WantedLayer& layer : layers) {
      all.emplace_back();
      for (const WantedWeight& weight : layer.weights) {
        Tensor tensor(DType::f32, weight.any_shape ? Shape{1} : weight.shape);
        for (float& value : tensor.f32()) {
          value = 0.5f + static_cast<float>(random() % 1000) / 1000;
        }
        all.back().push_back(std::move(tensor));
      }
    }
    return all;
  }
};

inline Model model_of(const ImportedNetwork& imported) {
  Model model(imported.network);
  const std::map<std::string, Tensor> by_name(imported.weights.begin(), imported.weights.end());
  EXPECT_EQ(by_name.size(), model.weight_names().size());
  std::vector<Tensor> weights;
  for (const std::string& name : model.weight_names()) weights.push_back(by_name.at(name));
  model.set_weights(weights);
  return model;
}

inline Tensor random_samples(const Shape& sample, int64_t count = 2) {
  std::vector<int64_t> dims = {count};
  dims.insert(dims.end(), sample.begin(), sample.end());
  Tensor x(DType::f32, Shape(dims));
  std::mt19937 random(3);
  for (float& value : x.f32()) value = static_cast<float>(random() % 4000) / 1000 - 2;
  return x;
}

// A Sequential model of these layers: "{...}, {...}".
inline Json sequential(const std::string& input_shape, const std::string& layers) {
  return Json::parse(R"({"class_name": "Sequential", "config": {"name": "chain", "layers": [
      {"class_name": "InputLayer", "config": {"name": "in", "batch_input_shape": )" +
                     input_shape + "}}, " + layers + "]}}");
}

inline Json layer(const std::string& class_name, const std::string& options) {
  return Json::parse(R"({"class_name": ")" + class_name + R"(", "config": {"name": "a")" +
                     (options.empty() ? "" : ", ") + options + "}}");
}

inline ImportedNetwork import_with_any(const Json& config, int major = 2,
                                       const ImportOptions& options = {}) {
  return import_network(config, major, AnyWeights(), options);
}

inline void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_TRUE(std::ranges::equal(a.f32(), b.f32()));
}

}  // namespace pando::keras
