// Shared by the tests of train: small data, small networks, comparisons of weights.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pando/base/random.h"
#include "pando/nn/layers.h"
#include "pando/train/model.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando {

using testing_support::error_of;

inline Tensor random_tensor(const Shape& shape, uint64_t key) {
  Tensor tensor(DType::f32, shape);
  RandomStream random(key);
  for (float& value : tensor.f32()) value = random.next_normal();
  return tensor;
}

// 6x6 images of three classes: noise, and a bright column that shows the class.
struct Images {
  Tensor x, y;  // y: class numbers
};
inline Images images(int64_t count, uint64_t key = 7) {
  Images result{random_tensor({count, 6, 6, 1}, key), Tensor(DType::i32, {count})};
  for (float& value : result.x.f32()) value *= 0.3f;
  for (int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<int32_t>(i * 7 % 3);
    result.y.i32()[static_cast<size_t>(i)] = label;
    for (int64_t row = 0; row < 6; ++row) {
      result.x.f32()[static_cast<size_t>((i * 6 + row) * 6 + 1 + label)] += 1;
    }
  }
  return result;
}
inline Dataset image_data(int64_t count, uint64_t key = 7) {
  Images all = images(count, key);
  return Dataset::from_tensors(std::move(all.x), std::move(all.y));
}

inline Network small_cnn() {
  return Sequential({6, 6, 1},
                    {Conv2D({.filters = 4, .kernel = {3, 3}, .activation = "relu"}), MaxPooling2D(),
                     Flatten(), Dense({.units = 3, .activation = "softmax"})});
}

// A network with everything whose result could depend on the order of work.
inline Network rich_cnn() {
  return Sequential({6, 6, 1},
                    {Conv2D({.filters = 5, .kernel = {3, 3}, .padding = "same"}),
                     BatchNormalization({.momentum = 0.9}), ReLU(), MaxPooling2D(), Flatten(),
                     Dropout({.rate = 0.3}), Dense({.units = 3, .activation = "softmax"})});
}

inline CompileOptions classifier(Optimizer optimizer = SGD(), ExecutionOptions execution = {}) {
  return {.optimizer = std::move(optimizer),
          .loss = "sparse_categorical_crossentropy",
          .metrics = {"accuracy"},
          .execution = std::move(execution)};
}

inline Model compiled(const Network& network, CompileOptions options, uint64_t seed = 0) {
  Model model(network, {.seed = seed});
  model.compile(std::move(options));
  return model;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}
inline bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) same = same_bits(a[i], b[i]);
  return same;
}
inline bool same_weights(const Model& a, const Model& b) {
  return same_bits(a.get_weights(), b.get_weights());
}
inline double largest_difference(const Model& a, const Model& b) {
  double largest = 0;
  const std::vector<Tensor> left = a.get_weights(), right = b.get_weights();
  for (size_t i = 0; i < left.size(); ++i) {
    largest = std::max(largest,
                       difference(cast(left[i], DType::f32), cast(right[i], DType::f32)).absolute);
  }
  return largest;
}

inline double value_of(const Logs& logs, const std::string& name) {
  for (const auto& [key, value] : logs) {
    if (key == name) return value;
  }
  ADD_FAILURE() << "no '" << name << "' in the logs";
  return 0;
}

using testing_support::TempFolder;

}  // namespace pando
