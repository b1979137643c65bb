// Training curves of mnist_cnn on Fashion-MNIST with plain SGD, compared with those of PyTorch
// (bench/peers/torch_curve.py).
// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "pando/data/sources/mnist.h"
#include "pando/zoo/zoo.h"
#include "tests/train/train_support.h"

namespace pando {

inline nlohmann::json read_curve(const std::string& name) {
  const std::string path = std::string(PANDO_SOURCE_DIR) + "/tests/golden/" + name;
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return nlohmann::json::parse(file);
}

struct CurveCheck {
  std::vector<std::string> names;  // of the values that are compared
  double widening = 1;
};

// Trains as the curve says and expects that the values of every epoch lie between the smallest and
// the largest of PyTorch's seeds, widened on both sides by `widening` times their distance.
inline void expect_curve(const nlohmann::json& curve, const CurveCheck& check) {
  const TrainTest data = load_fashion_mnist();
  Model model(mnist_cnn({28, 28, 1}, 10));
  model.compile(classifier(SGD({.learning_rate = curve.at("learning_rate").get<double>()})));
  const nlohmann::json& epochs = curve.at("summary");
  const int64_t samples = curve.value("samples", data.train.size());
  const Dataset train = data.train.shuffle({.seed = 1, .each_epoch = false}).take(samples);
  const History history = model.fit(train, {.epochs = static_cast<int64_t>(epochs.size()),
                                            .batch_size = curve.at("batch_size"),
                                            .validation_data = data.test,
                                            .verbose = 0});
  for (size_t epoch = 0; epoch < epochs.size(); ++epoch) {
    for (const std::string& name : check.names) {
      const nlohmann::json& band = epochs[epoch].at(name);
      const double low = band.at("min"), high = band.at("max");
      const double margin = check.widening * (high - low);
      EXPECT_GE(history[name][epoch], low - margin) << name << " of epoch " << epoch + 1;
      EXPECT_LE(history[name][epoch], high + margin) << name << " of epoch " << epoch + 1;
    }
  }
}

}  // namespace pando
