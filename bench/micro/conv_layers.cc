// The convolutions and dense layers of the zoo's models, with the batch of one worker.
// SPDX-License-Identifier: MIT
#include "bench/micro/conv_layers.h"

namespace pando::bench {
namespace {

using kernels::ConvGeometry;
using kernels::PoolGeometry;

// Padding as in Keras: `same` puts the odd element on the high side.
enum class Padding { valid, same };

void set_axis(ConvGeometry& g, size_t axis, Padding padding) {
  const int64_t in = g.in[axis], kernel = g.filter[axis], stride = g.stride[axis];
  if (padding == Padding::same) {
    g.out[axis] = (in + stride - 1) / stride;
    const int64_t pad = std::max<int64_t>(0, (g.out[axis] - 1) * stride + kernel - in);
    g.pad_low[axis] = pad / 2;
    g.pad_high[axis] = pad - pad / 2;
  } else {
    g.out[axis] = (in - kernel) / stride + 1;
  }
}

struct Conv2d {
  int64_t size, in, out, kernel = 3, stride = 1;
  Padding padding = Padding::same;
  bool pooled = false;
};

ConvLayer conv2d(const std::string& name, int64_t batch, const Conv2d& c) {
  ConvGeometry g{.batch = batch, .in_channels = c.in, .out_channels = c.out};
  g.in = {1, c.size, c.size};
  g.filter = {1, c.kernel, c.kernel};
  g.stride = {1, c.stride, c.stride};
  for (size_t axis = 1; axis < 3; ++axis) set_axis(g, axis, c.padding);
  ConvLayer layer{name, g, {}};
  if (c.pooled) {
    layer.pool = PoolGeometry{{1, 2, 2}, {1, 2, 2}, {1, g.out[1] / 2, g.out[2] / 2}};
  }
  return layer;
}

ConvLayer cosmoflow(const std::string& name, int64_t size, int64_t in, int64_t out) {
  ConvGeometry g{.in_channels = in, .out_channels = out};
  g.in = {size, size, size};
  g.filter = {2, 2, 2};
  for (size_t axis = 0; axis < 3; ++axis) set_axis(g, axis, Padding::same);
  const int64_t half = size / 2;
  return {name, g, PoolGeometry{{2, 2, 2}, {2, 2, 2}, {half, half, half}}};
}

ConvLayer dense(const std::string& name, int64_t batch, int64_t in, int64_t out) {
  ConvGeometry g{.in_channels = in, .out_channels = out};
  g.in = g.out = {1, 1, batch};
  return {name, g, {}};
}

struct Pointwise {
  int64_t size, in, out, stride = 1;
};

// Filters of 1x1; the names are like "resnet50/56x56_64_256".
void add_pointwise(const std::string& model, int64_t batch, const std::vector<Pointwise>& list,
                   std::vector<ConvLayer>& layers) {
  for (const Pointwise& p : list) {
    const std::string size = std::to_string(p.size);
    const std::string name = model + "/1x1_" + size + "x" + size + "_" + std::to_string(p.in) +
                             "_" + std::to_string(p.out) + (p.stride == 2 ? "_s2" : "");
    layers.push_back(conv2d(name, batch, {p.size, p.in, p.out, 1, p.stride}));
  }
}

// What one of two workers computes of these networks: all their different 1x1 convolutions.
void add_pointwise_layers(std::vector<ConvLayer>& layers) {
  const std::vector<Pointwise> resnet50 = {
      {56, 64, 64},        {56, 64, 256},   {56, 256, 64},   {56, 256, 128, 2},
      {56, 256, 512, 2},   {28, 128, 512},  {28, 512, 128},  {28, 512, 256, 2},
      {28, 512, 1024, 2},  {14, 256, 1024}, {14, 1024, 256}, {14, 1024, 512, 2},
      {14, 1024, 2048, 2}, {7, 512, 2048},  {7, 2048, 512}};
  const std::vector<Pointwise> mobilenet_v2_at_96 = {
      {48, 32, 16},  {48, 16, 96},  {24, 96, 24},  {24, 24, 144}, {24, 144, 24},
      {12, 144, 32}, {12, 32, 192}, {12, 192, 32}, {6, 192, 64},  {6, 64, 384},
      {6, 384, 64},  {6, 384, 96},  {6, 96, 576},  {6, 576, 96},  {3, 576, 160},
      {3, 160, 960}, {3, 960, 160}, {3, 960, 320}, {3, 320, 1280}};
  const std::vector<Pointwise> efficientnet_b0 = {
      {112, 32, 16}, {112, 16, 96},  {56, 96, 24},   {56, 24, 144},  {28, 144, 40},
      {28, 40, 240}, {14, 240, 80},  {14, 80, 480},  {14, 480, 112}, {14, 112, 672},
      {7, 672, 192}, {7, 192, 1152}, {7, 1152, 192}, {7, 1152, 320}, {7, 320, 1280}};
  add_pointwise("resnet50", 8, resnet50, layers);
  add_pointwise("resnet50_batch1", 1, resnet50, layers);
  add_pointwise("mobilenet_v2", 8, mobilenet_v2_at_96, layers);
  add_pointwise("efficientnet_b0", 1, efficientnet_b0, layers);
}

}  // namespace

double ConvLayer::flops() const {
  const ConvGeometry& g = geometry;
  return 2.0 * static_cast<double>(g.batch * g.out_pixels() * g.taps()) *
         static_cast<double>(g.in_channels / g.groups * g.out_channels);
}

std::vector<ConvLayer> conv_layers() {
  const Padding valid = Padding::valid;
  std::vector<ConvLayer> layers = {
      conv2d("mnist_cnn/conv1", 32, {28, 1, 32, 3, 1, valid, true}),
      conv2d("mnist_cnn/conv2", 32, {13, 32, 64, 3, 1, valid, true}),
      dense("mnist_cnn/dense", 32, 1600, 10),
      conv2d("cifar10_cnn/conv1", 16, {32, 3, 32}),
      conv2d("cifar10_cnn/conv2", 16, {32, 32, 32, 3, 1, valid, true}),
      conv2d("cifar10_cnn/conv3", 16, {15, 32, 64}),
      conv2d("cifar10_cnn/conv4", 16, {15, 64, 64, 3, 1, valid, true}),
      dense("cifar10_cnn/dense1", 16, 2304, 512),
      conv2d("cifar_resnet8/stem", 16, {32, 3, 16}),
      conv2d("cifar_resnet8/stage1", 16, {32, 16, 16}),
      conv2d("cifar_resnet8/down2", 16, {32, 16, 32, 3, 2}),
      conv2d("cifar_resnet8/stage2", 16, {16, 32, 32}),
      conv2d("cifar_resnet8/down3", 16, {16, 32, 64, 3, 2}),
      conv2d("cifar_resnet8/stage3", 16, {8, 64, 64}),
      cosmoflow("cosmoflow/conv1", 64, 4, 16),
      cosmoflow("cosmoflow/conv2", 32, 16, 32),
      cosmoflow("cosmoflow/conv3", 16, 32, 64),
      cosmoflow("cosmoflow/conv4", 8, 64, 128),
      cosmoflow("cosmoflow/conv5", 4, 128, 256),
      conv2d("resnet50/stem", 1, {224, 3, 64, 7, 2}),
      conv2d("resnet50/stage1_1x1", 1, {56, 256, 64, 1}),
      conv2d("resnet50/stage1_3x3", 1, {56, 64, 64}),
      conv2d("resnet50/stage2_1x1s2", 1, {56, 256, 128, 1, 2}),
      conv2d("resnet50/stage2_3x3", 1, {28, 128, 128}),
      conv2d("resnet50/stage3_3x3", 1, {14, 256, 256}),
      conv2d("resnet50/stage4_3x3", 1, {7, 512, 512}),
      conv2d("unet/level1", 2, {128, 64, 64}),
      conv2d("unet/level3", 2, {32, 256, 256}),
      conv2d("unet/level4", 2, {16, 512, 512}),
      conv2d("unet/level5", 2, {8, 1024, 1024}),
  };
  add_pointwise_layers(layers);
  return layers;
}

}  // namespace pando::bench
