// The named models.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <vector>

#include "pando/nn/network.h"
#include "pando/zoo/norm.h"

namespace pando {

// What a user may choose about any of them.
struct ZooOptions {
  NormOptions norm;  // no matter to models without normalisation
};

// What users see in `pando models` and what `pando train` needs to know of a model.
struct ZooEntry {
  std::string name;
  std::string description;
  std::string dataset;  // trained on this one by default
  Shape input_shape;    // by default
  int64_t outputs = 10;
  std::string loss;         // Keras' name; with class numbers as labels where it is a classifier
  bool normalises = false;  // ZooOptions::norm matters
  Network (*make)(const Shape& input_shape, int64_t outputs, const ZooOptions& options) = nullptr;

  // Throws InvalidArgument for a shape or options that do not suit the model.
  Network build(const Shape& shape, int64_t units, const ZooOptions& options = {}) const {
    return make(shape, units, options);
  }
};

const std::vector<ZooEntry>& model_zoo();

// Throws InvalidArgument with the known names, the nearest first.
const ZooEntry& zoo_entry(const std::string& name);

// The networks behind the entries.
Network mnist_cnn(const Shape& input_shape, int64_t classes);
Network cifar10_cnn(const Shape& input_shape, int64_t classes);
Network toy_model(const Shape& input_shape, int64_t classes);
Network toy_model_bn(const Shape& input_shape, int64_t classes, const NormOptions& norm = {});

struct CifarResnetOptions {
  int64_t blocks = 1;  // per stack: 1, 3, 5, 7, 9 for 8, 20, 32, 44, 56 layers
  NormOptions norm;
};
Network cifar_resnet(const Shape& input_shape, int64_t classes, const CifarResnetOptions& options);

struct ResnetOptions {
  std::array<int64_t, 4> blocks = {2, 2, 2, 2};  // per stack
  bool bottleneck = false;                       // blocks of 1x1, 3x3, 1x1 instead of two 3x3
  NormOptions norm;
};
Network resnet(const Shape& input_shape, int64_t classes, const ResnetOptions& options);

struct CosmoflowOptions {
  int64_t conv_size = 16;  // filters of the first layer; each other has twice those before it
  int64_t kernel_size = 2;
  int64_t conv_layers = 5;
  int64_t fc1_size = 128;
  int64_t fc2_size = 64;
  std::string hidden_activation = "leaky_relu";
  double alpha = 0.3;  // of the leaky relu
  bool average_pooling = false;
  double dropout = 0;
};
// Throws InvalidArgument, as the next one does, for a shape that is no volume with channels or too
// small for the layers.
Network cosmoflow(const Shape& input_shape, int64_t targets, const CosmoflowOptions& options = {});
// The first version of the benchmark: conv_size filters in every layer, no padding, and dropout in
// front of the dense layers too.
Network cosmoflow_v1(const Shape& input_shape, int64_t targets,
                     const CosmoflowOptions& options = {});

struct CosmoflowResnetOptions {
  std::array<int64_t, 4> blocks = {2, 2, 2, 2};  // per stack
  int64_t filters = 32;  // of the 3x3x3 convolutions of the first stack; doubled by each other
  double dropout = 0;    // in front of the dense layer
  NormOptions norm;
};
Network cosmoflow_resnet(const Shape& input_shape, int64_t targets,
                         const CosmoflowResnetOptions& options = {});

// Multiply-adds of convolutions and dense layers for one sample, forward, times two.
double forward_flops(const Network& network);

}  // namespace pando
