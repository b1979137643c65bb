// SPDX-License-Identifier: MIT
#include "pando/zoo/zoo.h"

#include "pando/base/error.h"

namespace pando {

namespace {

template <int64_t blocks>
Network resnet(const Shape& input_shape, int64_t classes) {
  return cifar_resnet(input_shape, classes, {.blocks = blocks});
}

template <int64_t blocks>
ZooEntry resnet_entry(const char* name, const char* description) {
  return {name,          description, "cifar10", {32, 32, 3}, 10, "sparse_categorical_crossentropy",
          resnet<blocks>};
}

}  // namespace

const std::vector<ZooEntry>& model_zoo() {
  static const std::string kClasses = "sparse_categorical_crossentropy";
  static const std::vector<ZooEntry> zoo = {
      {"mnist_cnn",
       "the Keras tutorial's network for 28x28 digits and clothes",
       "fashion_mnist",
       {28, 28, 1},
       10,
       kClasses,
       mnist_cnn},
      {"cifar10_cnn",
       "Keras' example network for 32x32 colour images",
       "cifar10",
       {32, 32, 3},
       10,
       kClasses,
       cifar10_cnn},
      resnet_entry<1>("cifar_resnet8", "residual network of 8 layers for 32x32 images"),
      resnet_entry<3>("cifar_resnet20", "residual network of 20 layers for 32x32 images"),
      resnet_entry<5>("cifar_resnet32", "residual network of 32 layers for 32x32 images"),
      resnet_entry<7>("cifar_resnet44", "residual network of 44 layers for 32x32 images"),
      resnet_entry<9>("cifar_resnet56", "residual network of 56 layers for 32x32 images"),
      {"toy_model",
       "two small convolutions, for tests",
       "cifar10",
       {32, 32, 3},
       10,
       kClasses,
       toy_model},
      {"toy_model_bn",
       "toy_model with batch normalisation",
       "cifar10",
       {32, 32, 3},
       10,
       kClasses,
       toy_model_bn},
      {"cosmoflow",
       "3-D network from matter density to cosmological parameters",
       "cosmoflow",
       {64, 64, 64, 4},
       4,
       "mean_squared_error",
       [](const Shape& input_shape, int64_t targets) { return cosmoflow(input_shape, targets); }},
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
  for (const auto& node : built.graph.nodes()) {
    if (node->op() != "conv" && node->op() != "dense") continue;
    const Shape& kernel = node->input(1)->shape();
    const double outputs = static_cast<double>(node->output()->shape().elements());
    flops +=
        2 * outputs * static_cast<double>(kernel.elements()) / static_cast<double>(kernel.back());
  }
  return flops;
}

}  // namespace pando
