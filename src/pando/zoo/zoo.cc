// SPDX-License-Identifier: MIT
#include "pando/zoo/zoo.h"

#include "pando/base/error.h"
#include "pando/ops/flops.h"

namespace pando {

namespace {

constexpr const char* kClasses = "sparse_categorical_crossentropy";

template <Network (*network)(const Shape&, int64_t)>
Network plain(const Shape& input_shape, int64_t outputs, const ZooOptions& /*options*/) {
  return network(input_shape, outputs);
}

ZooEntry mnist_entry() {
  return {.name = "mnist_cnn",
          .description = "network of the Keras tutorial, for 28x28 images of digits and clothes",
          .dataset = "fashion_mnist",
          .input_shape = {28, 28, 1},
          .loss = kClasses,
          .make = plain<mnist_cnn>};
}

ZooEntry cifar_entry(const char* name, const char* description) {
  return {.name = name,
          .description = description,
          .dataset = "cifar10",
          .input_shape = {32, 32, 3},
          .loss = kClasses};
}

ZooEntry cifar10_cnn_entry() {
  ZooEntry entry = cifar_entry("cifar10_cnn", "Keras' example network for 32x32 colour images");
  entry.make = plain<cifar10_cnn>;
  return entry;
}

template <int64_t blocks>
ZooEntry cifar_resnet_entry(const char* name, const char* description) {
  ZooEntry entry = cifar_entry(name, description);
  entry.normalises = true;
  entry.make = [](const Shape& input_shape, int64_t classes, const ZooOptions& options) {
    return cifar_resnet(input_shape, classes, {.blocks = blocks, .norm = options.norm});
  };
  return entry;
}

template <int64_t conv3_blocks, int64_t conv4_blocks, bool bottleneck>
Network make_resnet(const Shape& input_shape, int64_t classes, const ZooOptions& options) {
  constexpr int64_t kEnds = conv3_blocks == 2 ? 2 : 3;  // blocks of the first and last stack
  return resnet(input_shape, classes,
                {.blocks = {kEnds, conv3_blocks, conv4_blocks, kEnds},
                 .bottleneck = bottleneck,
                 .norm = options.norm});
}

ZooEntry imagenet_entry(const char* name, const char* description, decltype(ZooEntry::make) make) {
  return {.name = name,
          .description = description,
          .dataset = "imagenet",
          .input_shape = {224, 224, 3},
          .outputs = 1000,
          .loss = kClasses,
          .normalises = true,
          .make = make};
}

ZooEntry plain_imagenet_entry(const char* name, const char* description,
                              decltype(ZooEntry::make) make) {
  ZooEntry entry = imagenet_entry(name, description, make);
  entry.normalises = false;
  return entry;
}

template <Network (*network)(const Shape&, int64_t, const NormOptions&)>
Network normed(const Shape& input_shape, int64_t outputs, const ZooOptions& options) {
  return network(input_shape, outputs, options.norm);
}

ZooEntry wide_resnet_entry() {
  ZooEntry entry =
      cifar_entry("cifar_wrn_16_4", "wide residual network of 16 layers for 32x32 images");
  entry.normalises = true;
  entry.make = [](const Shape& input_shape, int64_t classes, const ZooOptions& options) {
    return cifar_wide_resnet(input_shape, classes, {.norm = options.norm});
  };
  return entry;
}

ZooEntry fast_resnet_entry() {
  return {.name = "fast_resnet7",
          .description = "residual network of 7 layers that trains fast",
          .dataset = "fashion_mnist",
          .input_shape = {28, 28, 1},
          .loss = kClasses,
          .normalises = true,
          .make = [](const Shape& input_shape, int64_t classes, const ZooOptions& options) {
            return fast_resnet7(input_shape, classes, {.norm = options.norm});
          }};
}

ZooEntry unet_entry(const char* name, const char* description, decltype(ZooEntry::make) make) {
  ZooEntry entry = imagenet_entry(name, description, make);
  entry.dataset = "image_folder";
  entry.outputs = 2;
  entry.task = "segmentation";
  return entry;
}

template <int64_t levels, int64_t filters>
Network make_unet_of(const Shape& input_shape, int64_t classes, const ZooOptions& options) {
  return unet(input_shape, classes, {.levels = levels, .filters = filters, .norm = options.norm});
}

ZooEntry unet3d_entry() {
  return {.name = "unet3d",
          .description = "U-Net for volumes: a class for every voxel",
          .dataset = "numpy",
          .input_shape = {64, 64, 64, 1},
          .outputs = 2,
          .loss = kClasses,
          .task = "segmentation",
          .normalises = true,
          .make = [](const Shape& input_shape, int64_t classes, const ZooOptions& options) {
            return unet3d(input_shape, classes, {.levels = 3, .filters = 32, .norm = options.norm});
          }};
}

ZooEntry toy_entry() {
  ZooEntry entry = cifar_entry("toy_model", "two small convolutions, for tests");
  entry.make = plain<toy_model>;
  return entry;
}

ZooEntry toy_bn_entry() {
  ZooEntry entry = cifar_entry("toy_model_bn", "toy_model with normalisation");
  entry.normalises = true;
  entry.make = [](const Shape& input_shape, int64_t classes, const ZooOptions& options) {
    return toy_model_bn(input_shape, classes, options.norm);
  };
  return entry;
}

ZooEntry volume_entry(const char* name, const char* description, decltype(ZooEntry::make) make) {
  return {.name = name,
          .description = description,
          .dataset = "cosmoflow",
          .input_shape = {64, 64, 64, 4},
          .outputs = 4,
          .loss = "mean_squared_error",
          .task = "regression",
          .make = make};
}

template <Network (*network)(const Shape&, int64_t, const CosmoflowOptions&)>
Network make_cosmoflow(const Shape& input_shape, int64_t targets, const ZooOptions& /*options*/) {
  return network(input_shape, targets, {});
}

ZooEntry cosmoflow_resnet_entry() {
  ZooEntry entry =
      volume_entry("cosmoflow_resnet", "3-D residual network for the cosmoflow data",
                   [](const Shape& input_shape, int64_t targets, const ZooOptions& options) {
                     return cosmoflow_resnet(input_shape, targets, {.norm = options.norm});
                   });
  entry.normalises = true;
  return entry;
}

}  // namespace

const std::vector<ZooEntry>& model_zoo() {
  static const std::vector<ZooEntry> zoo = {
      mnist_entry(),
      cifar10_cnn_entry(),
      cifar_resnet_entry<1>("cifar_resnet8", "residual network of 8 layers for 32x32 images"),
      cifar_resnet_entry<3>("cifar_resnet20", "residual network of 20 layers for 32x32 images"),
      cifar_resnet_entry<5>("cifar_resnet32", "residual network of 32 layers for 32x32 images"),
      cifar_resnet_entry<7>("cifar_resnet44", "residual network of 44 layers for 32x32 images"),
      cifar_resnet_entry<9>("cifar_resnet56", "residual network of 56 layers for 32x32 images"),
      imagenet_entry("resnet18", "residual network of 18 layers for ImageNet",
                     make_resnet<2, 2, false>),
      imagenet_entry("resnet34", "residual network of 34 layers for ImageNet",
                     make_resnet<4, 6, false>),
      imagenet_entry("resnet50", "residual network of 50 layers for ImageNet, v1.5",
                     make_resnet<4, 6, true>),
      imagenet_entry("resnet101", "residual network of 101 layers for ImageNet",
                     [](const Shape& shape, int64_t classes, const ZooOptions& options) {
                       return resnet(shape, classes,
                                     {.blocks = {3, 4, 23, 3},
                                      .bottleneck = true,
                                      .padding = "symmetric",
                                      .norm = zoo::with_epsilon(options.norm, zoo::kTorchEpsilon)});
                     }),
      plain_imagenet_entry("vgg16", "VGG of 16 layers, without normalisation", plain<vgg16>),
      imagenet_entry("mobilenet_v2", "small network of depthwise convolutions",
                     normed<mobilenet_v2>),
      imagenet_entry("efficientnet_b0", "depthwise convolutions with weighed channels",
                     normed<efficientnet_b0>),
      plain_imagenet_entry("convnext_tiny", "large depthwise convolutions, normalised by pixel",
                           plain<convnext_tiny>),
      imagenet_entry("densenet121", "121 layers that reuse the results of earlier ones",
                     normed<densenet121>),
      wide_resnet_entry(),
      fast_resnet_entry(),
      unet_entry("unet", "U-Net of 4 levels: a class for every pixel", make_unet_of<4, 64>),
      unet_entry("unet_small", "U-Net of 3 levels with a quarter of the filters",
                 make_unet_of<3, 16>),
      unet3d_entry(),
      toy_entry(),
      toy_bn_entry(),
      volume_entry("cosmoflow", "3-D network from matter density to cosmological parameters",
                   make_cosmoflow<cosmoflow>),
      volume_entry("cosmoflow_v1", "first version of cosmoflow: few filters, no padding",
                   make_cosmoflow<cosmoflow_v1>),
      cosmoflow_resnet_entry(),
  };
  return zoo;
}

const ZooEntry& zoo_entry(const std::string& name) {
  std::vector<std::string> known;
  for (const ZooEntry& entry : model_zoo()) {
    if (entry.name == name) return entry;
    known.push_back(entry.name);
  }
  throw InvalidArgument(unknown_name_message("model", name, known));
}

double forward_flops(const Network& network) {
  const NetworkGraph built = network.build({.batch = 1});
  double flops = 0;
  for (const auto& node : built.graph.nodes()) flops += ops::flops(*node);
  return flops;
}

}  // namespace pando
