// Which weight of a file goes to which layer.
// SPDX-License-Identifier: MIT
#include "pando/keras/weights.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::keras {
namespace {

using testing_support::error_of;

Tensor one(float value) { return Tensor::of_f32({1}, {value}); }

WantedLayer wanted(std::vector<std::string> names, std::vector<std::string> classes,
                   const std::vector<std::string>& weights) {
  WantedLayer layer{std::move(names), std::move(classes), {}};
  for (const std::string& name : weights) {
    layer.weights.push_back({.name = name, .shape = {1}, .trainable = !name.starts_with("moving")});
  }
  return layer;
}

std::vector<float> numbers(const std::vector<std::vector<Tensor>>& found) {
  std::vector<float> all;
  for (const auto& layer : found) {
    for (const Tensor& tensor : layer) all.push_back(tensor.f32()[0]);
  }
  return all;
}

const std::vector<WantedLayer> kTwo = {wanted({"a"}, {"Dense"}, {"kernel", "bias"}),
                                       wanted({"b"}, {"Dense"}, {"kernel"})};
// Batch normalisation and a dense layer in a model.
const std::vector<WantedLayer> kNested = {
    wanted({"m", "n"}, {"Functional", "BatchNormalization"}, {"gamma", "moving_mean"}),
    wanted({"m", "d"}, {"Functional", "Dense"}, {"kernel"}), wanted({"d"}, {"Dense"}, {"kernel"})};

TEST(KerasWeights, GroupsByNameElseByOrder) {
  const auto named = grouped_weights({{"b", {{"b/kernel:0", one(3)}}},
                                      {"flat", {}},
                                      {"a", {{"a/kernel:0", one(1)}, {"a/bias:0", one(2)}}}},
                                     "f");
  EXPECT_EQ(numbers(named->find(kTwo)), (std::vector<float>{1, 2, 3}));
  const auto counted = grouped_weights(
      {{"x", {{"x/kernel:0", one(1)}, {"x/bias:0", one(2)}}}, {"y", {{"y/kernel:0", one(3)}}}},
      "f");
  EXPECT_EQ(numbers(counted->find(kTwo)), (std::vector<float>{1, 2, 3}));
}

TEST(KerasWeights, GroupsOfModelsHaveTrainedWeightsFirst) {
  for (const bool names : {true, false}) {
    const auto name = [&](const char* text) { return std::string(names ? text : "w"); };
    const auto source = grouped_weights({{"m",
                                          {{name("n/gamma:0"), one(1)},
                                           {name("d/kernel:0"), one(2)},
                                           {name("n/moving_mean:0"), one(3)}}},
                                         {"d", {{"d_1/kernel:0", one(4)}}}},
                                        "f");
    EXPECT_EQ(numbers(source->find(kNested)), (std::vector<float>{1, 3, 2, 4}));
  }
}

TEST(KerasWeights, GroupsThatDoNotFit) {
  const auto few = grouped_weights({{"a", {{"a/kernel:0", one(1)}, {"a/bias:0", one(2)}}}}, "f");
  EXPECT_SAYS(error_of<IoError>([&] { few->find(kTwo); }), "f: ", "2 layers", "1");
  const auto less = grouped_weights({{"a", {{"k", one(1)}}}, {"b", {{"k", one(1)}}}}, "f");
  EXPECT_SAYS(error_of<IoError>([&] { less->find(kTwo); }), "'a'", "2 weights", "1");
  const auto shape = grouped_weights(
      {{"a", {{"k", one(1)}, {"b", Tensor::of_f32({2}, {1, 2})}}}, {"b", {{"k", one(1)}}}}, "f");
  EXPECT_SAYS(error_of<IoError>([&] { shape->find(kTwo); }), "'a'", "bias", "[1]", "[2]");
}

TEST(KerasWeights, ByNameWithScopes) {
  const auto source = named_weights({{"d/kernel", one(4)},
                                     {"m/d/kernel", one(2)},
                                     {"scope/n/gamma", one(1)},
                                     {"scope/n/moving_mean:0", one(3)}},
                                    "f");
  EXPECT_EQ(numbers(source->find(kNested)), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_SAYS(error_of<IoError>([&] { source->find(kTwo); }), "f: ", "'a'", "a/kernel", "4");
  const auto twice = named_weights({{"x/a/kernel", one(1)}, {"y/a/kernel", one(2)}}, "f");
  EXPECT_SAYS(error_of<IoError>([&] { twice->find(kTwo); }), "a/kernel");
  const auto short_name = named_weights({{"c/kernel", one(9)}}, "f");
  EXPECT_EQ(numbers(short_name->find({wanted({"c"}, {"DepthwiseConv2D"}, {"depthwise_kernel"})})),
            std::vector<float>{9});
}

TEST(KerasWeights, ByClassAndCount) {
  const auto source = counted_weights({{"layers/dense/vars/0", one(1)},
                                       {"layers/dense/vars/1", one(2)},
                                       {"layers/dense_3/vars/0", one(3)},
                                       {"layers/dense_more/vars/0", one(7)},
                                       {"layers/dropout/seed_generator/vars/0", one(8)}},
                                      "f");
  EXPECT_EQ(numbers(source->find(kTwo)), (std::vector<float>{1, 2, 3}));
  const auto nested = counted_weights(
      {{"_layer_checkpoint_dependencies/functional/layers/batch_normalization/vars/0", one(1)},
       {"_layer_checkpoint_dependencies/functional/layers/batch_normalization/vars/1", one(3)},
       {"_layer_checkpoint_dependencies/functional/layers/dense/vars/0", one(2)},
       {"_layer_checkpoint_dependencies/dense/vars/0", one(4)}},
      "f");
  EXPECT_EQ(numbers(nested->find(kNested)), (std::vector<float>{1, 3, 2, 4}));
  const auto few = counted_weights({{"layers/dense/vars/0", one(1)}}, "f");
  EXPECT_SAYS(error_of<IoError>([&] { few->find(kTwo); }), "'a'", "2 weights", "1");
  EXPECT_SAYS(error_of<IoError>([&] {
                few->find({wanted({"a"}, {"Dense"}, {"kernel"}), kTwo[1]});
              }),
              "2 layers 'dense'", "1");
  EXPECT_SAYS(error_of<IoError>([&] { source->find({kTwo[1]}); }), "more");
}

TEST(KerasWeights, NamesOfClasses) {
  EXPECT_EQ(snake_case("Conv2DTranspose"), "conv2d_transpose");
  EXPECT_EQ(snake_case("DepthwiseConv2D"), "depthwise_conv2d");
  EXPECT_EQ(snake_case("BatchNormalization"), "batch_normalization");
  EXPECT_EQ(snake_case("ReLU"), "re_lu");
  EXPECT_EQ(snake_case("PReLU"), "p_re_lu");
  EXPECT_EQ(snake_case("GlobalAveragePooling2D"), "global_average_pooling2d");
  EXPECT_EQ(snake_case("Dense"), "dense");
  EXPECT_EQ(snake_case(""), "");
}

}  // namespace
}  // namespace pando::keras
