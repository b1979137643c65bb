// Normalisation.
// SPDX-License-Identifier: MIT
#include <algorithm>

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

// Mean and variance over axes, as results of their own.
struct Statistics {
  Computed mean;
  Computed variance;
  Computed centred;
};

Statistics statistics_over(Importer& importer, const NodeProto& node, const Computed& x,
                           const ir::Ints& axes) {
  const ir::Attributes kept = {{"axes", axes}, {"keepdims", int64_t{1}}};
  const Computed mean = importer.step(node, "reduce_mean", kept, {x});
  const Computed centred = importer.step(node, "subtract", {}, {x, mean});
  const Computed squares = importer.step(node, "multiply", {}, {centred, centred});
  return {mean, importer.step(node, "reduce_mean", kept, {squares}), centred};
}

// Training of a file without a batch, whose first axis are samples: statistics of all of it, and
// the moving ones as further results.
void give_batch_statistics(Importer& importer, const NodeProto& node) {
  const Value& value = importer.computed_operand(node);
  const Computed x = importer.plain(value);
  const Order order = plain_order(value.order.size());
  if (x.shape.rank() < 2) throw Unsupported(label(node), ": expected samples with channels");
  const int64_t channels = x.shape[1];
  ir::Ints axes = {1};
  for (int64_t axis = 3; axis <= x.shape.rank(); ++axis) axes.push_back(axis);
  const auto for_channels = [&](size_t operand, bool trains) {
    Constant numbers = importer.need(node, operand, "a weight");
    channel_weight(importer, node, operand, channels);
    numbers.dims.assign(static_cast<size_t>(x.shape.rank()) - 1, 1);
    numbers.dims[0] = channels;
    return importer.spread(node, numbers, order, trains);
  };
  const Statistics found = statistics_over(importer, node, x, axes);
  const Computed variance =
      importer.scaled(node, found.variance, 1, real_attribute(node, "epsilon", 1e-5));
  Computed y =
      importer.step(node, "divide", {}, {found.centred, importer.math(node, "sqrt", variance)});
  y = importer.step(node, "multiply", {}, {y, for_channels(1, true)});
  importer.give(node, importer.step(node, "add", {}, {y, for_channels(2, true)}), order);
  const double momentum = real_attribute(node, "momentum", 0.9);
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (i >= node.outputs.size()) break;
    const Computed old = importer.scaled(node, for_channels(i + 2, false), momentum, 0);
    const Computed own =
        importer.scaled(node, i == 1 ? found.mean : found.variance, 1 - momentum, 0);
    const Computed moved = importer.step(node, "add", {}, {old, own});
    importer.give(node, importer.reshaped(node, moved, {channels}), plain_order(2), i);
  }
}

// With a batch, our layer knows whether it is trained, so `training_mode` is not needed.
void import_batch_norm(Importer& importer, const NodeProto& node) {
  if (int_attribute(node, "spatial", 1) == 0) {
    throw Unsupported(label(node), ": expected statistics of channels");
  }
  if (importer.lead() > 0) return give_batch_statistics(importer, node);
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

void import_mean_variance(Importer& importer, const NodeProto& node) {
  const Value& value = importer.operand(node, 0);
  const Computed x = importer.plain(value);
  ir::Ints axes;
  for (const int64_t axis : ints_attribute(node, "axes", {0, 2, 3})) {
    axes.push_back(importer.axis(node, axis, std::ssize(value.order)));
    if (axes.back() == 0) throw Unsupported(label(node), ": statistics over samples");
  }
  std::ranges::sort(axes);
  const Statistics found = statistics_over(importer, node, x, axes);
  const Computed deviation =
      importer.scaled(node, importer.math(node, "sqrt", found.variance), 1, 1e-9);
  importer.give(node, importer.step(node, "divide", {}, {found.centred, deviation}),
                plain_order(value.order.size()));
}

// x / (bias + alpha m)^beta, where m is the mean of the squares of channels around the own one;
// beyond the first and the last channel are zeros.
void import_local_response(Importer& importer, const NodeProto& node) {
  const Value& value = importer.operand(node, 0);
  const Computed x = importer.channels_last(value);
  const int64_t size = int_attribute(node, "size", 1), channels = x.shape.back();
  if (size < 1 || size > channels * 2) {
    throw InvalidArgument(label(node), ": size: expected 1 to ", channels * 2, ", got ", size);
  }
  const Shape rows = {x.shape.elements() / channels, channels, 1};
  const Computed squares =
      importer.reshaped(node, importer.step(node, "multiply", {}, {x, x}), rows);
  const int64_t before = (size - 1) / 2;
  const Computed padded = importer.step(
      node, "pad",
      {{"low", ir::Ints{0, 0, before, 0}}, {"high", ir::Ints{0, 0, size - 1 - before, 0}}},
      {squares});
  const Computed mean = importer.step(node, "avg_pool",
                                      {{"window", ir::Ints{1, size}},
                                       {"strides", ir::Ints{1, 1}},
                                       {"padding", std::string("valid")}},
                                      {padded});
  const Computed base =
      importer.scaled(node, importer.reshaped(node, mean, x.shape),
                      real_attribute(node, "alpha", 0.0001), real_attribute(node, "bias", 1));
  const Computed root =
      importer.step(node, "to_power", {{"exponent", real_attribute(node, "beta", 0.75)}}, {base});
  importer.give(node, importer.step(node, "divide", {}, {x, root}),
                channels_last_order(value.order.size()));
}

// Over the last axes of the file.
void import_layer_norm(Importer& importer, const NodeProto& node) {
  const Value& value = importer.operand(node, 0);
  const auto rank = std::ssize(value.order);
  const int64_t axis = importer.axis(node, int_attribute(node, "axis", -1), rank);
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
  if (node.outputs.size() > 1) {
    const Statistics found = statistics_over(importer, node, x, ir::Ints(axes.begin(), axes.end()));
    const Computed deviation = importer.math(
        node, "sqrt",
        importer.scaled(node, found.variance, 1, real_attribute(node, "epsilon", 1e-5)));
    importer.give(node, found.mean, order, 1);
    importer.give(node, importer.math(node, "reciprocal", deviation), order, 2);
  }
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
          {"LayerNormalization", import_layer_norm},
          {"LRN", import_local_response},
          {"MeanVarianceNormalization", import_mean_variance}};
}

}  // namespace pando::onnx
