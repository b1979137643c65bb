// Functions of TensorFlow that a Functional model applies: TFOpLambda and SlicingOpLambda.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/keras/importer_impl.h"

namespace pando::keras {
namespace {

const Json* named_value(const LayerPlace& place, std::string_view key) {
  if (place.call == nullptr) return nullptr;
  for (const auto& [name, operand] : place.call->named) {
    if (name == key && !operand.is_tensor && !operand.value.is_null()) return &operand.value;
  }
  return nullptr;
}

const Json& need_value(const LayerPlace& place, std::string_view key) {
  if (const Json* value = named_value(place, key)) return *value;
  throw IoError("operand '", key, "': expected a value, got none");
}

MadeLayer make_binary(const LayerPlace& place, const char* function, Layer (*make)(NameOption)) {
  if (auto made = with_number(place, function)) return std::move(*made);
  return {make({place.name})};
}
MadeLayer function_add(const LayerPlace& place) { return make_binary(place, "add", Add); }
MadeLayer function_subtract(const LayerPlace& place) {
  return make_binary(place, "subtract", Subtract);
}
MadeLayer function_multiply(const LayerPlace& place) {
  return make_binary(place, "multiply", Multiply);
}
MadeLayer function_divide(const LayerPlace& place) { return make_binary(place, "divide", Divide); }
MadeLayer function_maximum(const LayerPlace& place) {
  return make_binary(place, "maximum", Maximum);
}
MadeLayer function_minimum(const LayerPlace& place) {
  return make_binary(place, "minimum", Minimum);
}

MadeLayer function_relu(const LayerPlace& place) { return {Activation("relu", {place.name})}; }
MadeLayer function_relu6(const LayerPlace& place) { return {Activation("relu6", {place.name})}; }
MadeLayer function_sigmoid(const LayerPlace& place) {
  return {Activation("sigmoid", {place.name})};
}
MadeLayer function_tanh(const LayerPlace& place) { return {Activation("tanh", {place.name})}; }
MadeLayer function_identity(const LayerPlace& place) {
  return {Activation("linear", {place.name})};
}
// Refuses an operand with another value than the usual one.
void only_usual(const LayerPlace& place, std::string_view key, const Json& usual) {
  const Json* value = named_value(place, key);
  if (value == nullptr || value->dump() == usual.dump()) return;
  throw Unsupported(place.label(), ": ", key, ": expected ", usual.dump(), ", got ",
                    value->dump().substr(0, 80));
}

// Numbers stay f32, in whatever precision of real numbers a file computes.
MadeLayer function_cast(const LayerPlace& place) {
  const Json& type = need_value(place, "dtype");
  const std::string name = type.is_string() ? type.get<std::string>() : type.dump();
  if (name.find("float") == std::string::npos) {
    throw Unsupported(place.label(), ": dtype: expected a type of real numbers, got ",
                      name.substr(0, 80));
  }
  return function_identity(place);
}
MadeLayer function_swish(const LayerPlace& place) {
  only_usual(place, "beta", 1.0);
  return {Activation("swish", {place.name})};
}
MadeLayer function_softmax(const LayerPlace& place) {
  const Json* axis = named_value(place, "axis");
  return {Softmax({.axis = axis == nullptr ? -1 : axis->get<int>(), .name = place.name})};
}

MadeLayer function_clip(const LayerPlace& place) {
  const auto least = need_value(place, "clip_value_min").get<double>();
  const auto most = need_value(place, "clip_value_max").get<double>();
  ComposedSpec spec{.class_name = "TFOpLambda", .stem = "clip"};
  spec.build = [=](nn::GraphBuilder& builder, const std::vector<ir::Value*>& inputs) {
    return builder.append("clip", {inputs[0]}, {{"min", least}, {"max", most}})->output();
  };
  return {composed(std::move(spec), place.name)};
}

MadeLayer function_depth_to_space(const LayerPlace& place) {
  only_usual(place, "data_format", "NHWC");
  return {DepthToSpace(
      {.block_size = need_value(place, "block_size").get<int64_t>(), .name = place.name})};
}
MadeLayer function_space_to_depth(const LayerPlace& place) {
  only_usual(place, "data_format", "NHWC");
  return {SpaceToDepth(
      {.block_size = need_value(place, "block_size").get<int64_t>(), .name = place.name})};
}

MadeLayer function_concat(const LayerPlace& place) {
  const auto rank = static_cast<int64_t>(place.inputs[0].rank()) + 1;
  const int64_t axis = axis_of(place, need_value(place, "axis").get<int64_t>(), rank);
  return {Concatenate({.axis = static_cast<int>(axis), .name = place.name})};
}

// The first extent of the shape is the batch.
MadeLayer function_reshape(const LayerPlace& place) {
  auto shape = need_value(place, "shape").get<std::vector<int64_t>>();
  if (shape.empty() || shape[0] != -1) {
    throw Unsupported(place.label(), ": shape: expected -1 for the batch, got ",
                      ir::to_text(ir::Ints(shape)));
  }
  shape.erase(shape.begin());
  return {Reshape({.shape = whole_shape(place, std::move(shape)), .name = place.name})};
}

MadeLayer reduction(const LayerPlace& place, const char* function) {
  const Json& axis = need_value(place, "axis");
  std::vector<int> axes =
      axis.is_array() ? axis.get<std::vector<int>>() : std::vector{axis.get<int>()};
  const Json* keep = named_value(place, "keepdims");
  return {Reduce({.function = function,
                  .axes = std::move(axes),
                  .keepdims = keep != nullptr && keep->get<bool>(),
                  .name = place.name})};
}
MadeLayer function_reduce_mean(const LayerPlace& place) { return reduction(place, "mean"); }
MadeLayer function_reduce_sum(const LayerPlace& place) { return reduction(place, "sum"); }
MadeLayer function_reduce_max(const LayerPlace& place) { return reduction(place, "max"); }

MadeLayer function_resize(const LayerPlace& place) {
  only_usual(place, "antialias", false);
  only_usual(place, "preserve_aspect_ratio", false);
  const auto size = need_value(place, "size").get<std::array<int64_t, 2>>();
  for (const int64_t extent : size) {
    if (extent >= 1 && extent <= kMostExtent) continue;
    throw IoError("size: expected 1 to ", kMostExtent, ", got ", extent);
  }
  const Json* method = named_value(place, "method");
  const std::string name = method == nullptr ? "bilinear" : method->get<std::string>();
  if (name != "bilinear" && name != "nearest") {
    throw Unsupported(place.label(), ": method: expected bilinear or nearest, got ", name);
  }
  return {
      Resizing({.height = size[0], .width = size[1], .interpolation = name, .name = place.name})};
}

constexpr LayerImport kFunctionsOfTensorFlow[] = {{"math.add", function_add},
                                                  {"__operators__.add", function_add},
                                                  {"math.subtract", function_subtract},
                                                  {"math.multiply", function_multiply},
                                                  {"math.truediv", function_divide},
                                                  {"math.divide", function_divide},
                                                  {"math.maximum", function_maximum},
                                                  {"math.minimum", function_minimum},
                                                  {"nn.relu", function_relu},
                                                  {"nn.relu6", function_relu6},
                                                  {"nn.silu", function_swish},
                                                  {"nn.sigmoid", function_sigmoid},
                                                  {"math.sigmoid", function_sigmoid},
                                                  {"nn.tanh", function_tanh},
                                                  {"math.tanh", function_tanh},
                                                  {"nn.softmax", function_softmax},
                                                  {"identity", function_identity},
                                                  {"cast", function_cast},
                                                  {"clip_by_value", function_clip},
                                                  {"nn.depth_to_space", function_depth_to_space},
                                                  {"nn.space_to_depth", function_space_to_depth},
                                                  {"concat", function_concat},
                                                  {"reshape", function_reshape},
                                                  {"math.reduce_mean", function_reduce_mean},
                                                  {"math.reduce_sum", function_reduce_sum},
                                                  {"math.reduce_max", function_reduce_max},
                                                  {"image.resize", function_resize}};

std::string function_name(const LayerConfig& layer) {
  auto name = value_or<std::string>(layer.config, "function", "");
  if (name.starts_with("tf.")) name.erase(0, 3);
  return name;
}

MadeLayer make_function(const LayerPlace& place) {
  const std::string name = function_name(place.layer);
  for (const LayerImport& function : kFunctionsOfTensorFlow) {
    if (name == function.class_name) return function.make(place);
  }
  throw InternalError("function ", name);
}

// x[:, 1:-1, ::2]: one entry for each axis, the batch whole.
MadeLayer make_slicing(const LayerPlace& place) {
  SliceOptions options{.name = place.name};
  const Json::Items& spec = need_value(place, "slice_spec").items();
  for (size_t axis = 0; axis < spec.size(); ++axis) {
    if (!spec[axis].is_object() || spec[axis].find("start") == nullptr) {
      throw Unsupported(place.label(), ": slice_spec: expected start, stop and step of axis ", axis,
                        ", got ", spec[axis].dump());
    }
    const bool whole = find_value(spec[axis], "start") == nullptr &&
                       find_value(spec[axis], "stop") == nullptr &&
                       find_value(spec[axis], "step") == nullptr;
    if (whole) continue;
    if (axis == 0) throw Unsupported(place.label(), ": slice_spec: the batch cannot be cut");
    options.axes.push_back(static_cast<int64_t>(axis));
    options.starts.push_back(value_or<int64_t>(spec[axis], "start", 0));
    options.ends.push_back(value_or<int64_t>(spec[axis], "stop", kMostExtent));
    options.steps.push_back(value_or<int64_t>(spec[axis], "step", 1));
  }
  if (options.axes.empty()) return function_identity(place);
  return {Slice(std::move(options))};
}

bool is_number(const Json& json) {
  return !json.is_null() && !json.is_string() && !json.is_array() && !json.is_object();
}

}  // namespace

std::optional<MadeLayer> with_number(const LayerPlace& place, const std::string& function) {
  if (place.call == nullptr || place.inputs.size() != 1) return std::nullopt;
  std::vector<const Operand*> operands;
  for (const Operand& operand : place.call->operands) operands.push_back(&operand);
  for (const auto& [name, operand] : place.call->named) {
    if (name == "x" || name == "y" || name == "x1" || name == "x2") operands.push_back(&operand);
  }
  if (operands.size() != 2 || operands[0]->is_tensor == operands[1]->is_tensor) {
    return std::nullopt;
  }
  const bool number_first = !operands[0]->is_tensor;
  const Json& value = operands[number_first ? 0 : 1]->value;
  if (!is_number(value)) {
    throw Unsupported(place.label(), ": expected a number as an operand, got ",
                      value.dump().substr(0, 80));
  }
  const auto number = value.get<double>();
  RescalingOptions options{.name = place.name};
  if (function == "add") {
    options.offset = number;
  } else if (function == "subtract") {
    options.factor = number_first ? -1 : 1;
    options.offset = number_first ? number : -number;
  } else if (function == "multiply") {
    options.factor = number;
  } else if (function == "divide" && !number_first && number != 0) {
    options.factor = 1 / number;
  } else {
    throw Unsupported(place.label(), ": ", function, " of a tensor and a number");
  }
  return MadeLayer{Rescaling(options)};
}

bool is_unknown_function(const LayerConfig& layer, std::string& name) {
  if (layer.class_name != "TFOpLambda") return false;
  const std::string function = function_name(layer);
  for (const LayerImport& known : kFunctionsOfTensorFlow) {
    if (function == known.class_name) return false;
  }
  name = concat("TFOpLambda ", function);
  return true;
}

std::vector<LayerImport> function_imports() {
  return {{"TFOpLambda", make_function}, {"SlicingOpLambda", make_slicing}};
}

}  // namespace pando::keras
