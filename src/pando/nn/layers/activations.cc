// Activations, as layers of their own and as an option of other layers. Also other layers that
// consist of one op.
// SPDX-License-Identifier: MIT
#include <vector>

#include "pando/nn/layers/support.h"
#include "pando/ops/op.h"

namespace pando {

namespace nn {

namespace {

// A layer that consists of one op and has no weights.
struct OneOp {
  std::string class_name;
  std::string stem;
  std::string op;
  ir::Attributes attributes;
  int least_inputs = 1;
  int most_inputs = 1;
  std::string name;
  int sample_rank = 0;  // axes of a sample; 0: any
};

class OneOpLayer : public LayerDefinition {
 public:
  explicit OneOpLayer(OneOp spec) : spec_(std::move(spec)) {}
  std::string class_name() const override { return spec_.class_name; }
  std::string stem() const override { return spec_.stem; }
  int least_inputs() const override { return spec_.least_inputs; }
  int most_inputs() const override { return spec_.most_inputs; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    ir::Value* result = inputs[0];
    if (spec_.sample_rank > 0 && result->shape().rank() != spec_.sample_rank + 1) {
      throw InvalidArgument(
          class_name(), " '", builder.layer_name(), "': expected ", spec_.sample_rank - 1,
          " spatial axes between batch and channels, got shape ", result->shape());
    }
    if (inputs.size() == 1) return builder.append(spec_.op, {result}, spec_.attributes)->output();
    for (size_t i = 1; i < inputs.size(); ++i) {  // add and multiply take two at a time
      result = builder.append(spec_.op, {result, inputs[i]}, spec_.attributes)->output();
    }
    return result;
  }

 private:
  OneOp spec_;
};

}  // namespace

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
  if (!(options.max_value >= 0)) {
    throw InvalidArgument("ReLU: max_value: expected 0 or more, got ", options.max_value);
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

Layer Softmax(NameOption options) {
  return nn::make_layer<nn::OneOpLayer>(
      nn::OneOp{"Softmax", "softmax", "softmax", {}, 1, 1, options.name});
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

Layer Add(NameOption options) {
  return nn::make_layer<nn::OneOpLayer>(nn::OneOp{"Add", "add", "add", {}, 2, 64, options.name});
}

Layer Multiply(NameOption options) {
  return nn::make_layer<nn::OneOpLayer>(
      nn::OneOp{"Multiply", "multiply", "multiply", {}, 2, 64, options.name});
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
