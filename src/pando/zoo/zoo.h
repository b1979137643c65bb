// The named models.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "pando/nn/network.h"
#include "pando/zoo/norm.h"

namespace pando {

// Options that all models take.
struct ZooOptions {
  NormOptions norm;  // ignored by models without normalisation
};

// The facts about a model that `pando models` shows and `pando train` uses.
struct ZooEntry {
  std::string name;
  std::string description;
  std::string dataset;  // the default data set
  Shape input_shape;    // the default shape of a sample
  int64_t outputs = 10;
  std::string loss;                     // Keras' name; classifiers use class numbers as labels
  std::string task = "classification";  // task.h
  bool normalises = false;              // uses ZooOptions::norm
  std::function<Network(const Shape& input_shape, int64_t outputs, const ZooOptions& options)> make;

  // Throws InvalidArgument for a shape or options that do not fit the model.
  Network build(const Shape& shape, int64_t units, const ZooOptions& options = {}) const {
    return make(shape, units, options);
  }
};

const std::vector<ZooEntry>& model_zoo();

// Throws InvalidArgument with the known names, the nearest first.
const ZooEntry& zoo_entry(const std::string& name);

// The functions that build the networks of the entries.
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
  std::string padding = "same";                  // or "symmetric", as PyTorch pads
  NormOptions norm;
};
Network resnet(const Shape& input_shape, int64_t classes, const ResnetOptions& options);

struct WideResnetOptions {
  int64_t blocks = 2;  // per stack: 2 for 16 layers
  int64_t width = 4;   // times the filters of a usual residual network
  NormOptions norm;
};
Network cifar_wide_resnet(const Shape& input_shape, int64_t classes,
                          const WideResnetOptions& options);

struct FastResnetOptions {
  int64_t filters = 32;  // for the first two layers; doubled after the next pooling layers
  NormOptions norm;
};
// For pictures of at least 8x8 pixels.
Network fast_resnet7(const Shape& input_shape, int64_t classes, const FastResnetOptions& options);

Network vgg16(const Shape& input_shape, int64_t classes);
Network mobilenet_v2(const Shape& input_shape, int64_t classes, const NormOptions& norm = {});
Network efficientnet_b0(const Shape& input_shape, int64_t classes, const NormOptions& norm = {});
Network convnext_tiny(const Shape& input_shape, int64_t classes);
Network densenet121(const Shape& input_shape, int64_t classes, const NormOptions& norm = {});

struct UnetOptions {
  int64_t levels = 4;    // how often the picture is halved
  int64_t filters = 64;  // for the first level; twice as many in each further one
  NormOptions norm;
};
// A class for every pixel or voxel. They throw InvalidArgument for extents that the levels do not
// divide.
Network unet(const Shape& input_shape, int64_t classes, const UnetOptions& options = {});
Network unet3d(const Shape& input_shape, int64_t classes,
               const UnetOptions& options = {.levels = 3, .filters = 32, .norm = {}});

struct CosmoflowOptions {
  int64_t conv_size = 16;  // filters of the first layer; each further layer has twice as many
  int64_t kernel_size = 2;
  int64_t conv_layers = 5;
  int64_t fc1_size = 128;
  int64_t fc2_size = 64;
  std::string hidden_activation = "leaky_relu";
  double alpha = 0.3;  // the slope of the leaky relu
  bool average_pooling = false;
  double dropout = 0;
};
// cosmoflow and cosmoflow_v1 throw InvalidArgument for a shape that is not [depth, height, width,
// channels] or is too small for the layers.
Network cosmoflow(const Shape& input_shape, int64_t targets, const CosmoflowOptions& options = {});
// The first version of the benchmark: conv_size filters in every layer, no padding, and dropout
// also before the dense layers.
Network cosmoflow_v1(const Shape& input_shape, int64_t targets,
                     const CosmoflowOptions& options = {});

struct CosmoflowResnetOptions {
  std::array<int64_t, 4> blocks = {2, 2, 2, 2};  // per stack
  int64_t filters = 32;  // for the 3x3x3 convolutions of the first stack; doubled in each next one
  double dropout = 0;    // before the dense layer
  NormOptions norm;
};
Network cosmoflow_resnet(const Shape& input_shape, int64_t targets,
                         const CosmoflowResnetOptions& options = {});

// The floating-point operations of one forward pass of one sample: two per multiply-add of the
// convolutions and dense layers.
double forward_flops(const Network& network);

}  // namespace pando
