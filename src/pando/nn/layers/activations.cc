// Activations, as layers of their own and as an option of other layers. Also other layers that
// consist of one op.
// SPDX-License-Identifier: MIT
#include <limits>
#include <vector>

#include "pando/nn/layers/one_op.h"
#include "pando/ops/op.h"

namespace pando {

namespace nn {

void check_activation(const std::string& place, const std::string& activation) {
  if (activation.empty() || activation == "linear") return;
  const ops::OpDef* op = ops::builtin_ops().find(activation);
  if (op == nullptr || !op->has(ops::Trait::activation)) {
    const auto known = ops::builtin_ops().names_with(ops::Trait::activation);
    throw InvalidArgument(place, ": ", unknown_name_message("activation", activation, known));
  }
}

void check_positive(const std::string& place, const std::string& option, int64_t value) {
  if (value < 1) throw InvalidArgument(place, ": ", option, ": expected at least 1, got ", value);
}

void check_extent(const std::string& place, const std::string& option, int64_t value) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (value >= 1 && value <= kMost) return;
  throw InvalidArgument(place, ": ", option, ": expected 1 to ", kMost, ", got ", value);
}

ir::Value* apply_activation(GraphBuilder& builder, const std::string& activation, ir::Value* x) {
  if (activation.empty() || activation == "linear") return x;
  return builder.append(activation, {x})->output();
}

}  // namespace nn

Layer Activation(std::string activation, NameOption options) {
  nn::check_activation("Activation", activation);
  if (activation.empty() || activation == "linear") {
    return nn::make_layer<nn::OneOpLayer>(nn::OneOp{
        "Activation", "activation", "scale", {{"factor", 1.0}}, 1, 1, std::move(options.name)});
  }
  return nn::make_layer<nn::OneOpLayer>(nn::OneOp{
      "Activation", "activation", std::move(activation), {}, 1, 1, std::move(options.name)});
}

Layer ReLU(ReLUOptions options) {
  nn::OneOp spec{"ReLU", "re_lu", "relu", {}, 1, 1, std::move(options.name)};
  if (!(options.max_value >= 0 && options.max_value <= std::numeric_limits<float>::max())) {
    throw InvalidArgument("ReLU: max_value: expected 0 or more, which 32 bits can hold, got ",
                          options.max_value);
  }
  if (options.negative_slope != 0 && options.max_value != 0) {
    throw InvalidArgument("ReLU: expected max_value or negative_slope, got both");
  }
  if (options.negative_slope != 0) {
    spec.op = "leaky_relu";
    spec.attributes = {{"alpha", options.negative_slope}};
  } else if (options.max_value == 6) {
    spec.op = "relu6";
  } else if (options.max_value > 0) {
    spec.op = "clip";
    spec.attributes = {{"min", 0.0}, {"max", options.max_value}};
  }
  return nn::make_layer<nn::OneOpLayer>(std::move(spec));
}

Layer ELU(ELUOptions options) {
  return nn::make_layer<nn::OneOpLayer>(
      nn::OneOp{"ELU", "elu", "elu", {{"alpha", options.alpha}}, 1, 1, options.name});
}

Layer LeakyReLU(LeakyReLUOptions options) {
  return nn::make_layer<nn::OneOpLayer>(nn::OneOp{
      "LeakyReLU", "leaky_re_lu", "leaky_relu", {{"alpha", options.alpha}}, 1, 1, options.name});
}

Layer Rescaling(RescalingOptions options) {
  return nn::make_layer<nn::OneOpLayer>(
      nn::OneOp{"Rescaling",
                "rescaling",
                "scale",
                {{"factor", options.factor}, {"offset", options.offset}},
                1,
                1,
                options.name});
}

Layer RecomputationCheckpoint(NameOption options) {
  return nn::make_layer<nn::OneOpLayer>(nn::OneOp{
      "RecomputationCheckpoint", "recomputation_checkpoint", "checkpoint", {}, 1, 1, options.name});
}

Layer GlobalAveragePooling2D(NameOption options) {
  return nn::make_layer<nn::OneOpLayer>(nn::OneOp{"GlobalAveragePooling2D",
                                                  "global_average_pooling2d",
                                                  "global_avg_pool",
                                                  {},
                                                  1,
                                                  1,
                                                  options.name,
                                                  3});
}

Layer GlobalAveragePooling3D(NameOption options) {
  return nn::make_layer<nn::OneOpLayer>(nn::OneOp{"GlobalAveragePooling3D",
                                                  "global_average_pooling3d",
                                                  "global_avg_pool",
                                                  {},
                                                  1,
                                                  1,
                                                  options.name,
                                                  4});
}

}  // namespace pando
