// Batch and group normalisation.
// SPDX-License-Identifier: MIT
#include "pando/nn/layers/support.h"

namespace pando {

namespace nn {

namespace {

Shape channels_of(const std::string& class_name, const std::string& layer, const Shape& sample) {
  if (sample.rank() == 0) {
    throw InvalidArgument(class_name, " '", layer,
                          "': expected samples with channels, got a single number");
  }
  return {sample.back()};
}

class BatchNormalizationLayer : public LayerDefinition {
 public:
  explicit BatchNormalizationLayer(BatchNormalizationOptions options)
      : options_(std::move(options)) {
    if (!(options_.momentum >= 0 && options_.momentum <= 1)) {
      throw InvalidArgument("BatchNormalization: momentum: expected 0 to 1, got ",
                            options_.momentum);
    }
    if (!(options_.epsilon > 0)) {
      throw InvalidArgument("BatchNormalization: epsilon: expected a number above 0, got ",
                            options_.epsilon);
    }
  }
  std::string class_name() const override { return "BatchNormalization"; }
  std::string stem() const override { return "batch_normalization"; }

  std::vector<WeightSpec> weights(const std::string& layer,
                                  const std::vector<Shape>& inputs) const override {
    const Shape channels = channels_of(class_name(), layer, inputs[0]);
    return {{"gamma", channels, options_.gamma_initializer},
            {"beta", channels, options_.beta_initializer},
            {"moving_mean", channels, Zeros(), options_.momentum},
            {"moving_variance", channels, Ones(), options_.momentum, true}};
  }

  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    ir::Value* x = inputs[0];
    ir::Value* mean = nullptr;
    ir::Value* variance = nullptr;
    if (builder.training()) {
      ir::Value* moments = builder.append("batch_moments", {x})->output();
      const ir::Node* statistics = builder.append("combine_moments", {moments}, {}, 3);
      mean = statistics->output(0);
      variance = statistics->output(1);
      builder.move_towards("moving_mean", moments);
      builder.move_towards("moving_variance", moments);
    } else {
      mean = builder.weight("moving_mean");
      variance = builder.weight("moving_variance");
    }
    const ir::Attributes attributes = {{"epsilon", options_.epsilon},
                                       {"batch_statistics", int64_t{builder.training() ? 1 : 0}}};
    return builder
        .append("batch_norm", {x, mean, variance, builder.weight("gamma"), builder.weight("beta")},
                attributes)
        ->output();
  }

 private:
  BatchNormalizationOptions options_;
};

class GroupNormalizationLayer : public LayerDefinition {
 public:
  explicit GroupNormalizationLayer(GroupNormalizationOptions options)
      : options_(std::move(options)) {
    check_positive("GroupNormalization", "groups", options_.groups);
  }
  std::string class_name() const override { return "GroupNormalization"; }
  std::string stem() const override { return "group_normalization"; }

  std::vector<WeightSpec> weights(const std::string& layer,
                                  const std::vector<Shape>& inputs) const override {
    const Shape channels = channels_of(class_name(), layer, inputs[0]);
    return {{"gamma", channels, options_.gamma_initializer},
            {"beta", channels, options_.beta_initializer}};
  }

  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    const ir::Attributes attributes = {{"groups", options_.groups},
                                       {"epsilon", options_.epsilon},
                                       {"strided", int64_t{options_.strided ? 1 : 0}}};
    return builder
        .append("group_norm", {inputs[0], builder.weight("gamma"), builder.weight("beta")},
                attributes, 3)
        ->output();
  }

 private:
  GroupNormalizationOptions options_;
};

}  // namespace

}  // namespace nn

Layer BatchNormalization(BatchNormalizationOptions options) {
  return nn::make_layer<nn::BatchNormalizationLayer>(std::move(options));
}

Layer GroupNormalization(GroupNormalizationOptions options) {
  return nn::make_layer<nn::GroupNormalizationLayer>(std::move(options));
}

}  // namespace pando
