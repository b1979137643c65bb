// Batch, group, instance and layer normalisation.
// SPDX-License-Identifier: MIT
#include <set>

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

// Instance normalisation is the group normalisation in which every channel is a group.
class GroupNormalizationLayer : public LayerDefinition {
 public:
  // Without groups, there are as many as channels.
  GroupNormalizationLayer(std::string class_name, std::string stem,
                          GroupNormalizationOptions options)
      : class_name_(std::move(class_name)), stem_(std::move(stem)), options_(std::move(options)) {}
  std::string class_name() const override { return class_name_; }
  std::string stem() const override { return stem_; }

  std::vector<WeightSpec> weights(const std::string& layer,
                                  const std::vector<Shape>& inputs) const override {
    const Shape channels = channels_of(class_name(), layer, inputs[0]);
    return {{"gamma", channels, options_.gamma_initializer},
            {"beta", channels, options_.beta_initializer}};
  }

  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    const int64_t groups = options_.groups > 0 ? options_.groups : inputs[0]->shape().back();
    const ir::Attributes attributes = {{"groups", groups},
                                       {"epsilon", options_.epsilon},
                                       {"strided", int64_t{options_.strided ? 1 : 0}}};
    return builder
        .append("group_norm", {inputs[0], builder.weight("gamma"), builder.weight("beta")},
                attributes, 3)
        ->output();
  }

 private:
  std::string class_name_;
  std::string stem_;
  GroupNormalizationOptions options_;
};

class LayerNormalizationLayer : public LayerDefinition {
 public:
  explicit LayerNormalizationLayer(LayerNormalizationOptions options)
      : options_(std::move(options)) {}
  std::string class_name() const override { return "LayerNormalization"; }
  std::string stem() const override { return "layer_normalization"; }

  std::vector<WeightSpec> weights(const std::string& layer,
                                  const std::vector<Shape>& inputs) const override {
    const Shape& sample = inputs[0];
    const Shape row(
        std::vector<int64_t>(sample.end() - count_axes(layer, sample.rank()), sample.end()));
    std::vector<WeightSpec> weights;
    if (options_.scale) weights.push_back({"gamma", row, options_.gamma_initializer});
    if (options_.center) weights.push_back({"beta", row, options_.beta_initializer});
    return weights;
  }

  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    std::vector<ir::Value*> values = {inputs[0]};
    if (options_.scale) values.push_back(builder.weight("gamma"));
    if (options_.center) values.push_back(builder.weight("beta"));
    const int64_t axes = count_axes(builder.layer_name(), inputs[0]->shape().rank() - 1);
    return builder
        .append("layer_norm", values,
                {{"axes", axes},
                 {"epsilon", options_.epsilon},
                 {"scale", int64_t{options_.scale ? 1 : 0}},
                 {"center", int64_t{options_.center ? 1 : 0}}},
                3)
        ->output();
  }

 private:
  // How many axes at the end of a sample are normalised.
  int64_t count_axes(const std::string& layer, int sample_rank) const {
    std::set<int> axes;
    for (const int axis : options_.axis) axes.insert(axis < 0 ? sample_rank + 1 + axis : axis);
    const auto count = static_cast<int>(axes.size());
    const bool last = count > 0 && *axes.begin() == sample_rank + 1 - count &&
                      *axes.rbegin() == sample_rank && *axes.begin() > 0;
    if (!last || axes.size() != options_.axis.size()) {
      throw InvalidArgument("LayerNormalization '", layer,
                            "': axis: expected the last axes of the ", sample_rank + 1,
                            ", for example -1, got ", ir::to_text(ints(options_.axis)));
    }
    return count;
  }

  LayerNormalizationOptions options_;
};

}  // namespace

}  // namespace nn

Layer BatchNormalization(BatchNormalizationOptions options) {
  return nn::make_layer<nn::BatchNormalizationLayer>(std::move(options));
}

Layer GroupNormalization(GroupNormalizationOptions options) {
  nn::check_positive("GroupNormalization", "groups", options.groups);
  std::string name = options.name;
  return Layer(std::make_shared<nn::GroupNormalizationLayer>(
                   "GroupNormalization", "group_normalization", std::move(options)),
               std::move(name));
}

Layer InstanceNormalization(InstanceNormalizationOptions options) {
  GroupNormalizationOptions group = {.groups = 0,
                                     .epsilon = options.epsilon,
                                     .gamma_initializer = std::move(options.gamma_initializer),
                                     .beta_initializer = std::move(options.beta_initializer)};
  return Layer(std::make_shared<nn::GroupNormalizationLayer>(
                   "InstanceNormalization", "instance_normalization", std::move(group)),
               std::move(options.name));
}

Layer LayerNormalization(LayerNormalizationOptions options) {
  return nn::make_layer<nn::LayerNormalizationLayer>(std::move(options));
}

}  // namespace pando
