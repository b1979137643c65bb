// Layers that change their input at random in training and pass it on in inference. What is random
// depends on the run's seed, the layer's name and the sample only.
// SPDX-License-Identifier: MIT
#include "pando/base/random.h"
#include "pando/nn/layers/support.h"

namespace pando {

namespace nn {

namespace {

struct Noise {
  std::string class_name;
  std::string stem;
  std::string op;
  std::string option;  // the attribute of the strength; 0 changes nothing
  double strength = 0;
  std::string mask;     // of dropout
  int sample_rank = 0;  // axes of a sample; 0: any
  std::string name;
};

class NoiseLayer : public LayerDefinition {
 public:
  explicit NoiseLayer(Noise noise) : noise_(std::move(noise)) {}
  std::string class_name() const override { return noise_.class_name; }
  std::string stem() const override { return noise_.stem; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    const Shape& shape = inputs[0]->shape();
    if (noise_.sample_rank > 0 && shape.rank() != noise_.sample_rank + 1) {
      throw InvalidArgument(class_name(), " '", builder.layer_name(), "': expected ",
                            noise_.sample_rank - 1,
                            " spatial axes between batch and channels, got shape ", shape);
    }
    if (!builder.training() || noise_.strength == 0) return inputs[0];
    ir::Attributes attributes = {{noise_.option, noise_.strength},
                                 {"key", static_cast<int64_t>(hash_name(builder.layer_name()))}};
    if (!noise_.mask.empty()) attributes.set("mask", noise_.mask);
    return builder.append(noise_.op, {inputs[0]}, std::move(attributes))->output();
  }

 private:
  Noise noise_;
};

Layer dropout_layer(Noise noise) {
  if (!(noise.strength >= 0 && noise.strength < 1)) {
    throw InvalidArgument(noise.class_name, ": rate: expected 0 or more and below 1, got ",
                          noise.strength);
  }
  noise.op = "dropout";
  noise.option = "rate";
  return make_layer<NoiseLayer>(std::move(noise));
}

}  // namespace

}  // namespace nn

Layer SpatialDropout2D(DropoutOptions options) {
  return nn::dropout_layer({.class_name = "SpatialDropout2D",
                            .stem = "spatial_dropout2d",
                            .strength = options.rate,
                            .mask = "channel",
                            .sample_rank = 3,
                            .name = std::move(options.name)});
}

Layer SpatialDropout3D(DropoutOptions options) {
  return nn::dropout_layer({.class_name = "SpatialDropout3D",
                            .stem = "spatial_dropout3d",
                            .strength = options.rate,
                            .mask = "channel",
                            .sample_rank = 4,
                            .name = std::move(options.name)});
}

Layer StochasticDepth(DropoutOptions options) {
  return nn::dropout_layer({.class_name = "StochasticDepth",
                            .stem = "stochastic_depth",
                            .strength = options.rate,
                            .mask = "sample",
                            .name = std::move(options.name)});
}

Layer GaussianNoise(GaussianNoiseOptions options) {
  if (!(options.stddev >= 0)) {
    throw InvalidArgument("GaussianNoise: stddev: expected 0 or more, got ", options.stddev);
  }
  return nn::make_layer<nn::NoiseLayer>(nn::Noise{.class_name = "GaussianNoise",
                                                  .stem = "gaussian_noise",
                                                  .op = "gaussian_noise",
                                                  .option = "stddev",
                                                  .strength = options.stddev,
                                                  .name = std::move(options.name)});
}

}  // namespace pando
