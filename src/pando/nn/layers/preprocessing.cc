// Layers at the start of a network that turn pixels into numbers.
// SPDX-License-Identifier: MIT
#include "pando/nn/layers/support.h"

namespace pando {

namespace nn {

namespace {

class EightBitDecompressionLayer : public LayerDefinition {
 public:
  explicit EightBitDecompressionLayer(NameOption) {}
  std::string class_name() const override { return "EightBitDecompression"; }
  std::string stem() const override { return "eight_bit_decompression"; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    if (inputs[0]->type().dtype != DType::u8) {
      throw InvalidArgument("EightBitDecompression '", builder.layer_name(),
                            "': input: expected u8, got ", to_string(inputs[0]->type()));
    }
    return builder.append("cast", {inputs[0]}, {{"dtype", std::string("f32")}})->output();
  }
};

class FlipWhereLayer : public LayerDefinition {
 public:
  explicit FlipWhereLayer(NameOption) {}
  std::string class_name() const override { return "FlipWhere"; }
  std::string stem() const override { return "flip_where"; }
  int least_inputs() const override { return 2; }
  int most_inputs() const override { return 2; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    // Inference ignores the flags, but checks them too: the error then comes when the network is
    // created and not only in training.
    const ir::TensorType& flags = inputs[1]->type();
    if (inputs[0]->shape().rank() != 4 || flags.dtype != DType::u8 || flags.shape.rank() != 1) {
      throw InvalidArgument("FlipWhere '", builder.layer_name(),
                            "': inputs: expected images and one u8 number per sample, got ",
                            to_string(inputs[0]->type()), " and ", to_string(flags));
    }
    if (!builder.training()) return inputs[0];
    return builder.append("flip_where", inputs)->output();
  }
};

class MirrorLayer : public LayerDefinition {
 public:
  explicit MirrorLayer(NameOption) {}
  std::string class_name() const override { return "Mirror"; }
  std::string stem() const override { return "mirror"; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    return builder.append("flip_where", inputs)->output();
  }
};

class StandardiseImageLayer : public LayerDefinition {
 public:
  explicit StandardiseImageLayer(StandardiseImageOptions options) : options_(std::move(options)) {}
  std::string class_name() const override { return "StandardiseImage"; }
  std::string stem() const override { return "standardise_image"; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    return builder.append("standardise_image", {inputs[0]}, {{"channels", options_.channels}})
        ->output();
  }

 private:
  StandardiseImageOptions options_;
};

class NormalisePixelsLayer : public LayerDefinition {
 public:
  explicit NormalisePixelsLayer(NormalisePixelsOptions options) : options_(std::move(options)) {}
  std::string class_name() const override { return "NormalisePixels"; }
  std::string stem() const override { return "normalise_pixels"; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    const Shape& shape = inputs[0]->shape();
    const auto channels = static_cast<size_t>(shape.rank() == 0 ? 0 : shape.back());
    return builder
        .append("normalise_pixels", {inputs[0]},
                {{"scale", of_channels(options_.scale, channels)},
                 {"shift", of_channels(options_.shift, channels)},
                 {"channels", options_.channels}})
        ->output();
  }

 private:
  static ir::Numbers of_channels(const std::vector<double>& numbers, size_t channels) {
    return numbers.size() == 1 ? ir::Numbers(channels, numbers[0]) : numbers;
  }

  NormalisePixelsOptions options_;
};

}  // namespace

}  // namespace nn

Layer EightBitDecompression(NameOption options) {
  return nn::make_layer<nn::EightBitDecompressionLayer>(std::move(options));
}
Layer FlipWhere(NameOption options) {
  return nn::make_layer<nn::FlipWhereLayer>(std::move(options));
}
Layer Mirror(NameOption options) { return nn::make_layer<nn::MirrorLayer>(std::move(options)); }
Layer StandardiseImage(StandardiseImageOptions options) {
  return nn::make_layer<nn::StandardiseImageLayer>(std::move(options));
}
Layer NormalisePixels(NormalisePixelsOptions options) {
  return nn::make_layer<nn::NormalisePixelsLayer>(std::move(options));
}

}  // namespace pando
