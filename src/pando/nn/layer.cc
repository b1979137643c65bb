// SPDX-License-Identifier: MIT
#include "pando/nn/layer.h"

#include "pando/base/error.h"
#include "pando/nn/pipeline_stage.h"

namespace pando {

Layer::Layer(std::shared_ptr<const nn::LayerDefinition> definition, std::string name)
    : state_(std::make_shared<State>(
          State{std::move(definition), std::move(name), PipelineStage::current()})) {
  for (const char c : state_->name) {
    const bool known = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                       c == '.' || c == '/';
    if (!known) {
      throw InvalidArgument("layer name '", state_->name,
                            "': expected letters, digits and _ - . /, got '", c, "'");
    }
  }
}

SymbolicTensor Layer::operator()(const SymbolicTensor& input) const {
  return (*this)(std::vector<SymbolicTensor>{input});
}

SymbolicTensor Layer::operator()(const std::vector<SymbolicTensor>& inputs) const {
  const nn::LayerDefinition& definition = *state_->definition;
  const auto count = static_cast<int>(inputs.size());
  if (count < definition.least_inputs() || count > definition.most_inputs()) {
    throw InvalidArgument(definition.class_name(), state_->name.empty() ? "" : " '", state_->name,
                          state_->name.empty() ? "" : "'", ": expected ", definition.least_inputs(),
                          definition.most_inputs() > definition.least_inputs() ? " or more" : "",
                          " inputs, got ", count);
  }
  auto expression = std::make_shared<SymbolicTensor::Expression>();
  expression->layer = state_;
  expression->inputs = inputs;
  expression->stage = PipelineStage::current();
  return SymbolicTensor(std::move(expression));
}

SymbolicTensor Input(Shape shape, InputOptions options) {
  for (const int64_t extent : shape) {
    if (extent < 1) {
      throw InvalidArgument("Input: shape: expected extents of at least 1, got ", shape);
    }
  }
  auto expression = std::make_shared<SymbolicTensor::Expression>();
  expression->input_shape = std::move(shape);
  expression->input_dtype = options.dtype;
  expression->input_name = std::move(options.name);
  expression->auxiliary_input = options.auxiliary;
  return SymbolicTensor(std::move(expression));
}

}  // namespace pando
