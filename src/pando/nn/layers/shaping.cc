// Layers that move elements: flatten, reshape, concatenate, subsample; and dropout.
// SPDX-License-Identifier: MIT
#include "pando/base/random.h"
#include "pando/nn/layers/support.h"

namespace pando {

namespace nn {

namespace {

class FlattenLayer : public LayerDefinition {
 public:
  explicit FlattenLayer(NameOption) {}
  std::string class_name() const override { return "Flatten"; }
  std::string stem() const override { return "flatten"; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    const ir::Ints shape = {inputs[0]->shape().elements_from(1)};
    return builder.append("reshape", {inputs[0]}, {{"shape", shape}})->output();
  }
};

class ReshapeLayer : public LayerDefinition {
 public:
  explicit ReshapeLayer(ReshapeOptions options) : options_(std::move(options)) {}
  std::string class_name() const override { return "Reshape"; }
  std::string stem() const override { return "reshape"; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    return builder.append("reshape", {inputs[0]}, {{"shape", options_.shape.dims()}})->output();
  }

 private:
  ReshapeOptions options_;
};

class DropoutLayer : public LayerDefinition {
 public:
  explicit DropoutLayer(DropoutOptions options) : options_(std::move(options)) {
    if (!(options_.rate >= 0 && options_.rate < 1)) {
      throw InvalidArgument("Dropout: rate: expected 0 or more and below 1, got ", options_.rate);
    }
  }
  std::string class_name() const override { return "Dropout"; }
  std::string stem() const override { return "dropout"; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    if (!builder.training() || options_.rate == 0) return inputs[0];
    const auto key = static_cast<int64_t>(hash_name(builder.layer_name()));
    return builder.append("dropout", {inputs[0]}, {{"rate", options_.rate}, {"key", key}})
        ->output();
  }

 private:
  DropoutOptions options_;
};

class ConcatenateLayer : public LayerDefinition {
 public:
  explicit ConcatenateLayer(ConcatenateOptions options) : options_(std::move(options)) {}
  std::string class_name() const override { return "Concatenate"; }
  std::string stem() const override { return "concatenate"; }
  int least_inputs() const override { return 2; }
  int most_inputs() const override { return 64; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    const int64_t axis =
        options_.axis < 0 ? inputs[0]->shape().rank() + options_.axis : options_.axis;
    return builder.append("concat", inputs, {{"axis", axis}})->output();
  }

 private:
  ConcatenateOptions options_;
};

class SubsampleLayer : public LayerDefinition {
 public:
  explicit SubsampleLayer(SubsampleOptions options) : options_(std::move(options)) {
    check_positive("Subsample", "stride", options_.stride);
  }
  std::string class_name() const override { return "Subsample"; }
  std::string stem() const override { return "subsample"; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    ir::Value* x = inputs[0];
    const Shape shape = x->shape();
    if (options_.stride > 1) {
      ir::Ints begin(shape.dims().size(), 0);
      ir::Ints size = shape.dims();
      ir::Ints strides(shape.dims().size(), 1);
      for (size_t axis = 1; axis + 1 < size.size(); ++axis) {
        strides[axis] = options_.stride;
        size[axis] = (size[axis] + options_.stride - 1) / options_.stride;
      }
      x = builder.append("slice", {x}, {{"begin", begin}, {"size", size}, {"strides", strides}})
              ->output();
    }
    const int64_t missing = options_.channels - shape.back();
    if (options_.channels > 0 && missing < 0) {
      throw InvalidArgument("Subsample '", builder.layer_name(),
                            "': channels: expected 0 or at least the ", shape.back(),
                            " of the input, got ", options_.channels);
    }
    if (options_.channels == 0 || missing == 0) return x;
    ir::Ints low(shape.dims().size(), 0);
    ir::Ints high = low;
    high.back() = missing;
    return builder.append("pad", {x}, {{"low", low}, {"high", high}})->output();
  }

 private:
  SubsampleOptions options_;
};

}  // namespace

}  // namespace nn

Layer Flatten(NameOption options) { return nn::make_layer<nn::FlattenLayer>(std::move(options)); }
Layer Reshape(ReshapeOptions options) {
  return nn::make_layer<nn::ReshapeLayer>(std::move(options));
}
Layer Dropout(DropoutOptions options) {
  return nn::make_layer<nn::DropoutLayer>(std::move(options));
}
Layer Concatenate(ConcatenateOptions options) {
  return nn::make_layer<nn::ConcatenateLayer>(std::move(options));
}
Layer Subsample(SubsampleOptions options) {
  return nn::make_layer<nn::SubsampleLayer>(std::move(options));
}

}  // namespace pando
