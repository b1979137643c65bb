// SPDX-License-Identifier: MIT
#include "pando/zoo/torchvision_names.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando {

namespace {

using Modules = std::vector<TorchvisionModule>;

// A convolution and its normalisation, which are neighbours in a sequence of modules.
void add_pair(Modules& modules, const std::string& layer, const std::string& sequence) {
  modules.push_back({layer + "_conv", sequence + ".0"});
  modules.push_back({layer + "_bn", sequence + ".1"});
}

// Shortcuts of torchvision are projected only where the shape changes.
Modules resnet_modules(const std::array<int, 4>& blocks, int convolutions) {
  Modules modules = {{"conv1_conv", "conv1"}, {"conv1_bn", "bn1"}, {"predictions", "fc"}};
  for (int stack = 1; stack <= 4; ++stack) {
    for (int block = 0; block < blocks[static_cast<size_t>(stack - 1)]; ++block) {
      const std::string ours = concat("conv", stack + 1, "_block", block + 1);
      const std::string theirs = concat("layer", stack, ".", block);
      for (int i = 1; i <= convolutions; ++i) {
        modules.push_back({concat(ours, "_", i, "_conv"), concat(theirs, ".conv", i)});
        modules.push_back({concat(ours, "_", i, "_bn"), concat(theirs, ".bn", i)});
      }
      if (block == 0 && (stack > 1 || convolutions == 3)) {
        add_pair(modules, ours + "_0", theirs + ".downsample");
      }
    }
  }
  return modules;
}

Modules vgg16_modules() {
  Modules modules = {
      {"fc1", "classifier.0"}, {"fc2", "classifier.3"}, {"predictions", "classifier.6"}};
  const std::array<int, 5> convolutions = {2, 2, 3, 3, 3};
  int place = 0;
  for (size_t block = 0; block < convolutions.size(); ++block) {
    for (int i = 1; i <= convolutions[block]; ++i, place += 2) {  // a relu behind each
      modules.push_back({concat("block", block + 1, "_conv", i), concat("features.", place)});
    }
    ++place;  // the pooling
  }
  return modules;
}

Modules mobilenet_v2_modules() {
  Modules modules = {{"predictions", "classifier.1"}};
  add_pair(modules, "conv1", "features.0");
  add_pair(modules, "conv_last", "features.18");
  for (int block = 1; block <= 17; ++block) {
    const std::string ours = concat("block", block);
    const std::string theirs = concat("features.", block, ".conv.");
    int place = 0;
    if (block > 1) add_pair(modules, ours + "_expand", concat(theirs, place++));
    add_pair(modules, ours + "_depthwise", concat(theirs, place++));
    modules.push_back({ours + "_project_conv", concat(theirs, place)});
    modules.push_back({ours + "_project_bn", concat(theirs, place + 1)});
  }
  return modules;
}

Modules efficientnet_b0_modules() {
  Modules modules = {{"predictions", "classifier.1"}};
  add_pair(modules, "conv1", "features.0");
  add_pair(modules, "conv_last", "features.8");
  const std::array<int, 7> blocks = {1, 2, 2, 3, 3, 4, 1};
  int number = 1;
  for (size_t stack = 0; stack < blocks.size(); ++stack) {
    for (int i = 0; i < blocks[stack]; ++i, ++number) {
      const std::string ours = concat("block", number);
      const std::string theirs = concat("features.", stack + 1, ".", i, ".block.");
      int place = 0;
      if (stack > 0) add_pair(modules, ours + "_expand", concat(theirs, place++));
      add_pair(modules, ours + "_depthwise", concat(theirs, place++));
      modules.push_back({ours + "_se_reduce", concat(theirs, place, ".fc1")});
      modules.push_back({ours + "_se_expand", concat(theirs, place, ".fc2")});
      add_pair(modules, ours + "_project", concat(theirs, place + 1));
    }
  }
  return modules;
}

Modules convnext_tiny_modules() {
  Modules modules = {{"stem_conv", "features.0.0"},
                     {"stem_ln", "features.0.1"},
                     {"last_ln", "classifier.0"},
                     {"predictions", "classifier.2"}};
  const std::array<int, 4> blocks = {3, 3, 9, 3};
  for (size_t stack = 1; stack <= blocks.size(); ++stack) {
    const std::string name = concat("stack", stack);
    if (stack > 1) {
      modules.push_back({name + "_ln", concat("features.", 2 * stack - 2, ".0")});
      modules.push_back({name + "_conv", concat("features.", 2 * stack - 2, ".1")});
    }
    for (int i = 0; i < blocks[stack - 1]; ++i) {
      const std::string ours = concat(name, "_block", i + 1);
      const std::string theirs = concat("features.", 2 * stack - 1, ".", i);
      modules.push_back({ours + "_depthwise", theirs + ".block.0"});
      modules.push_back({ours + "_ln", theirs + ".block.2"});
      modules.push_back({ours + "_expand", theirs + ".block.3", true});
      modules.push_back({ours + "_project", theirs + ".block.5", true});
      modules.push_back({ours + "_scale", theirs + ".layer_scale"});
    }
  }
  return modules;
}

Modules densenet121_modules() {
  Modules modules = {{"conv1_conv", "features.conv0"},
                     {"conv1_bn", "features.norm0"},
                     {"last_bn", "features.norm5"},
                     {"predictions", "classifier"}};
  const std::array<int, 4> layers = {6, 12, 24, 16};
  for (size_t block = 1; block <= layers.size(); ++block) {
    for (int i = 1; i <= layers[block - 1]; ++i) {
      const std::string ours = concat("conv", block + 1, "_block", i);
      const std::string theirs = concat("features.denseblock", block, ".denselayer", i, ".");
      modules.push_back({ours + "_0_bn", theirs + "norm1"});
      modules.push_back({ours + "_1_conv", theirs + "conv1"});
      modules.push_back({ours + "_1_bn", theirs + "norm2"});
      modules.push_back({ours + "_2_conv", theirs + "conv2"});
    }
    if (block == layers.size()) break;
    const std::string ours = concat("pool", block + 1);
    const std::string theirs = concat("features.transition", block, ".");
    modules.push_back({ours + "_bn", theirs + "norm"});
    modules.push_back({ours + "_conv", theirs + "conv"});
  }
  return modules;
}

const std::map<std::string, Modules>& all_modules() {
  static const std::map<std::string, Modules> all = {
      {"resnet18", resnet_modules({2, 2, 2, 2}, 2)},
      {"resnet34", resnet_modules({3, 4, 6, 3}, 2)},
      {"resnet50", resnet_modules({3, 4, 6, 3}, 3)},
      {"resnet101", resnet_modules({3, 4, 23, 3}, 3)},
      {"vgg16", vgg16_modules()},
      {"mobilenet_v2", mobilenet_v2_modules()},
      {"efficientnet_b0", efficientnet_b0_modules()},
      {"convnext_tiny", convnext_tiny_modules()},
      {"densenet121", densenet121_modules()}};
  return all;
}

// Moves the first axis to the end and, before that, the second behind all others: [out, in, ...]
// becomes [..., in, out].
void outputs_last(std::span<const float> from, const Shape& shape, std::span<float> to) {
  const int64_t outputs = shape[0];
  const int64_t inputs = shape.rank() > 1 ? shape[1] : 1;
  const int64_t places = shape.elements() / (outputs * inputs);
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      for (int64_t p = 0; p < places; ++p) {
        to[static_cast<size_t>((p * inputs + i) * outputs + o)] =
            from[static_cast<size_t>((o * inputs + i) * places + p)];
      }
    }
  }
}

// Gives the weights behind Flatten, which are [channel and place, out], the order of ours: [place
// and channel, out].
Tensor channels_last(const Tensor& weight, const Shape& picture) {
  const int64_t channels = picture[picture.rank() - 1];
  const int64_t places = picture.elements() / channels;
  const auto outputs = static_cast<size_t>(weight.shape()[1]);
  Tensor ours(DType::f32, weight.shape());
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t p = 0; p < places; ++p) {
      const auto from = static_cast<size_t>(c * places + p) * outputs;
      const auto to = static_cast<size_t>(p * channels + c) * outputs;
      std::ranges::copy(weight.f32().subspan(from, outputs), ours.f32().begin() + to);
    }
  }
  return ours;
}

}  // namespace

const std::vector<std::string>& torchvision_networks() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> known;
    for (const auto& [name, modules] : all_modules()) known.push_back(name);
    return known;
  }();
  return names;
}

Modules torchvision_modules(const std::string& network) {
  const auto found = all_modules().find(network);
  if (found != all_modules().end()) return found->second;
  throw InvalidArgument(
      unknown_name_message("network of torchvision", network, torchvision_networks()));
}

std::string torchvision_key(const std::string& module, const std::string& weight) {
  static const std::map<std::string, std::string> keys = {{"kernel", "weight"},
                                                          {"depthwise_kernel", "weight"},
                                                          {"bias", "bias"},
                                                          {"gamma", "weight"},
                                                          {"beta", "bias"},
                                                          {"moving_mean", "running_mean"},
                                                          {"moving_variance", "running_var"}};
  if (module.ends_with(".layer_scale")) return module;  // a weight without a module of its own
  return module + "." + keys.at(weight);
}

bool is_only_ours(const std::string& layer) { return layer.starts_with("conv2_block1_0_"); }

Tensor identity_weight(const nn::WeightSpec& weight) {
  const Shape& shape = weight.file_shape();
  Tensor value(DType::f32, shape);
  const bool is_kernel = weight.name == "kernel";
  const bool is_one = weight.name == "gamma" || weight.name == "moving_variance";
  const int64_t channels = shape[shape.rank() - 1];
  for (int64_t i = 0; i < shape.elements(); ++i) {
    const bool diagonal = is_kernel && i % channels == i / channels;
    value.f32()[static_cast<size_t>(i)] = diagonal || is_one ? 1 : 0;
  }
  return value;
}

namespace {

// The shape of the picture that Flatten turns into the inputs of a dense layer; nothing: there is
// none.
std::optional<Shape> flattened_picture(const Network& network, const LayerInfo& layer,
                                       const nn::WeightSpec& weight) {
  if (weight.name != "kernel" || layer.class_name != "Dense") return std::nullopt;
  const LayerInfo& before = network.layer(layer.inbound.front());
  if (before.class_name != "Flatten") return std::nullopt;
  return network.layer(before.inbound.front()).output_shape;
}

// [out, in, ...] as [..., in, out].
Shape moved_shape(const Shape& theirs) {
  if (theirs.rank() < 2) return theirs;
  std::vector<int64_t> dims(theirs.dims().begin() + 2, theirs.dims().end());
  dims.push_back(theirs[1]);
  dims.push_back(theirs[0]);
  return Shape(dims);
}

// The inverse of channels_last().
Tensor channels_first(const Tensor& weight, const Shape& picture) {
  const int64_t channels = picture[picture.rank() - 1];
  const int64_t places = picture.elements() / channels;
  const auto outputs = static_cast<size_t>(weight.shape()[1]);
  Tensor theirs(DType::f32, weight.shape());
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t p = 0; p < places; ++p) {
      const auto from = static_cast<size_t>(p * channels + c) * outputs;
      const auto to = static_cast<size_t>(c * places + p) * outputs;
      std::ranges::copy(weight.f32().subspan(from, outputs), theirs.f32().begin() + to);
    }
  }
  return theirs;
}

}  // namespace

Tensor from_torchvision(const Network& network, const LayerInfo& layer,
                        const nn::WeightSpec& weight, const Tensor& theirs) {
  Tensor ours(DType::f32, moved_shape(theirs.shape()));
  if (theirs.elements() > 0) outputs_last(theirs.f32(), theirs.shape(), ours.f32());
  const Shape& wanted = weight.file_shape();
  const std::optional<Shape> picture = flattened_picture(network, layer, weight);
  if (picture && ours.shape().rank() == 2 && ours.shape()[0] == picture->elements()) {
    ours = channels_last(ours, *picture);
  }
  if (ours.elements() == wanted.elements()) return std::move(ours).reshaped(wanted);
  return ours;
}

Tensor to_torchvision(const Network& network, const TorchvisionModule& module,
                      const nn::WeightSpec& weight, const Tensor& ours) {
  const LayerInfo& layer = network.layer(module.layer);
  const Shape& shape = ours.shape();
  const bool is_scale = layer.name.ends_with("_scale");  // of convnext: [channels, 1, 1] there
  if (is_scale) return ours.reshaped({shape.elements(), 1, 1});
  if (shape.rank() < 2) return ours;
  const bool is_depthwise = weight.name == "depthwise_kernel";
  const std::optional<Shape> picture = flattened_picture(network, layer, weight);
  const Tensor ordered = picture ? channels_first(ours, *picture) : ours;
  const int rank = shape.rank();
  const int64_t inputs = is_depthwise ? 1 : shape[rank - 2];
  const int64_t outputs = is_depthwise ? shape[rank - 2] * shape[rank - 1] : shape[rank - 1];
  std::vector<int64_t> dims = {outputs, inputs};
  if (!module.is_linear) dims.insert(dims.end(), shape.dims().begin(), shape.dims().end() - 2);
  Tensor theirs(DType::f32, Shape(dims));
  const int64_t places = shape.elements() / (inputs * outputs);
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      for (int64_t p = 0; p < places; ++p) {
        theirs.f32()[static_cast<size_t>((o * inputs + i) * places + p)] =
            ordered.f32()[static_cast<size_t>((p * inputs + i) * outputs + o)];
      }
    }
  }
  return theirs;
}

}  // namespace pando
