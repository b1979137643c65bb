// Normalisation.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {
namespace {

// A weight with a number for each channel.
Tensor channel_weight(const Importer& importer, const NodeProto& node, size_t operand,
                      int64_t channels) {
  const Constant& numbers = importer.need(node, operand, "a weight");
  if (numbers.elements() == channels) return weight_tensor({channels}, numbers.as_reals());
  throw InvalidArgument(label(node), ": operand ", operand, ": expected ", channels,
                        " numbers, got ", numbers.elements());
}

void import_batch_norm(Importer& importer, const NodeProto& node) {
  if (int_attribute(node, "training_mode", 0) != 0 || int_attribute(node, "spatial", 1) == 0) {
    throw Unsupported(label(node), ": expected inference with statistics of channels");
  }
  const Value& value = importer.operand(node, 0);
  const Computed x = importer.channels_last(value);
  const int64_t channels = x.shape.back();
  const auto make = [&](std::string name) {
    return BatchNormalization({.momentum = real_attribute(node, "momentum", 0.9),
                               .epsilon = real_attribute(node, "epsilon", 1e-5),
                               .name = std::move(name)});
  };
  const Computed y =
      importer.apply(node, make, {x},
                     {{"gamma", channel_weight(importer, node, 1, channels)},
                      {"beta", channel_weight(importer, node, 2, channels)},
                      {"moving_mean", channel_weight(importer, node, 3, channels)},
                      {"moving_variance", channel_weight(importer, node, 4, channels)}},
                     layer_of_weight(node.inputs[1]));
  importer.give(node, y, channels_last_order(value.order.size()));
}

void import_instance_norm(Importer& importer, const NodeProto& node) {
  const Value& value = importer.operand(node, 0);
  const Computed x = importer.channels_last(value);
  const int64_t channels = x.shape.back();
  const auto make = [&](std::string name) {
    return InstanceNormalization(
        {.epsilon = real_attribute(node, "epsilon", 1e-5), .name = std::move(name)});
  };
  const Computed y = importer.apply(node, make, {x},
                                    {{"gamma", channel_weight(importer, node, 1, channels)},
                                     {"beta", channel_weight(importer, node, 2, channels)}},
                                    layer_of_weight(node.inputs[1]));
  importer.give(node, y, channels_last_order(value.order.size()));
}

// Over the last axes of the file.
void import_layer_norm(Importer& importer, const NodeProto& node) {
  const Value& value = importer.operand(node, 0);
  const auto rank = std::ssize(value.order);
  const int64_t axis = axis_of(node, int_attribute(node, "axis", -1), rank);
  if (axis < 1) throw Unsupported(label(node), ": statistics over samples");
  Order order = value.order;
  const bool last_fits = axis == rank - 1 && order.back() == axis;
  if (!last_fits) order = plain_order(value.order.size());
  const Computed x = importer.ordered(value, order);
  std::vector<int64_t> dims;
  std::vector<int> axes;
  for (int64_t i = axis; i < rank; ++i) {
    dims.push_back(x.shape[static_cast<int>(i) - 1]);
    axes.push_back(static_cast<int>(i));
  }
  const Shape shape(dims);
  const bool center = importer.has(node, 2);
  const auto make = [&](std::string name) {
    return LayerNormalization({.axis = axes,
                               .epsilon = real_attribute(node, "epsilon", 1e-5),
                               .center = center,
                               .name = std::move(name)});
  };
  NamedTensors weights = {
      {"gamma", weight_tensor(shape, importer.need(node, 1, "the scale").as_reals())}};
  if (center) {
    weights.emplace_back("beta",
                         weight_tensor(shape, importer.need(node, 2, "the bias").as_reals()));
  }
  importer.give(
      node, importer.apply(node, make, {x}, std::move(weights), layer_of_weight(node.inputs[1])),
      order);
}

}  // namespace

std::vector<OpImport> norm_imports() {
  return {{"BatchNormalization", import_batch_norm},
          {"InstanceNormalization", import_instance_norm},
          {"LayerNormalization", import_layer_norm}};
}

}  // namespace pando::onnx
