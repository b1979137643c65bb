// Activations, normalisation, dropout and noise.
// SPDX-License-Identifier: MIT
#include <limits>

#include "pando/base/error.h"
#include "pando/keras/importer_impl.h"

namespace pando::keras {
namespace {

struct NamedFunction {
  const char* name;  // in Keras
  const char* op;    // ""; the input itself
};
constexpr NamedFunction kFunctions[] = {{"linear", ""},
                                        {"relu", "relu"},
                                        {"relu6", "relu6"},
                                        {"sigmoid", "sigmoid"},
                                        {"tanh", "tanh"},
                                        {"softmax", "softmax"},
                                        {"elu", "elu"},
                                        {"selu", "selu"},
                                        {"gelu", "gelu"},
                                        {"swish", "swish"},
                                        {"silu", "swish"},
                                        {"softplus", "softplus"},
                                        {"mish", "mish"},
                                        {"hard_sigmoid", "hard_sigmoid"},
                                        {"hard_swish", "hard_swish"},
                                        {"hard_silu", "hard_swish"},
                                        {"leaky_relu", "leaky_relu"}};

constexpr double kSixth = 1.0 / 6;

// {"class_name": "function", "config": "relu"} and {"class_name": "ReLU", "config": {...}}.
struct ActivationForm {
  std::string name;               // of a function, or
  const Json* options = nullptr;  // of a layer of the class `name`
};

ActivationForm form_of(const LayerPlace& place, const Json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  if (!value.is_object()) throw IoError("activation: expected a name, got ", value.dump());
  const auto class_name = value.get<std::string>("class_name");
  const Json& config = value.at("config");
  if (config.is_string()) return {config.get<std::string>()};
  (void)place;
  return {class_name, &config};
}

MadeLayer make_relu(const LayerPlace& place) {
  if (place.get("threshold", 0.0) != 0) refuse_option(place, "threshold", "0");
  const auto slope = place.get("negative_slope", 0.0);
  const bool cut = place.has("max_value");
  const auto most = place.get("max_value", 0.0);
  if (cut && !(most > 0)) refuse_option(place, "max_value", "null or more than 0");
  if (!cut || slope == 0) {
    return {ReLU({.max_value = cut ? most : 0, .negative_slope = slope, .name = place.name})};
  }
  ComposedSpec spec{.class_name = "ReLU", .stem = "re_lu"};
  spec.build = [=](nn::GraphBuilder& builder, const std::vector<ir::Value*>& inputs) {
    ir::Value* y = builder.append("leaky_relu", {inputs[0]}, {{"alpha", slope}})->output();
    return builder.append("clip", {y}, {{"max", most}})->output();
  };
  return {composed(std::move(spec), place.name)};
}

MadeLayer make_leaky_relu(const LayerPlace& place) {
  const double slope = place.get("alpha", place.get("negative_slope", 0.3));
  return {LeakyReLU({.alpha = slope, .name = place.name})};
}

MadeLayer make_prelu(const LayerPlace& place) {
  return {
      PReLU({.shared_axes = place.get<std::vector<int>>("shared_axes", {}), .name = place.name})};
}

MadeLayer make_elu(const LayerPlace& place) {
  return {ELU({.alpha = place.get("alpha", 1.0), .name = place.name})};
}

MadeLayer make_softmax(const LayerPlace& place) {
  const int axis = static_cast<int>(place.ints("axis", 1, -1)[0]);
  return {Softmax({.axis = axis, .name = place.name})};
}

MadeLayer make_activation(const LayerPlace& place) {
  const Json& value = place.config().at("activation");
  ActivationChoice choice = activation_of(place, &value, place.name);
  if (choice.layer) return {*choice.layer};
  return {Activation(choice.name, {place.name})};
}

MadeLayer make_identity(const LayerPlace& place) { return {Activation("linear", {place.name})}; }

void require_last_axis(const LayerPlace& place) {
  const auto rank = static_cast<int64_t>(place.inputs[0].rank()) + 1;
  if (axis_of(place, place.ints("axis", 1, -1)[0], rank) != rank - 1) {
    refuse_option(place, "axis", "the last one");
  }
}

MadeLayer make_batch_norm(const LayerPlace& place) {
  require_last_axis(place);
  place.only("renorm", false);
  MadeLayer made{BatchNormalization({.momentum = place.get("momentum", 0.99),
                                     .epsilon = place.get("epsilon", 1e-3),
                                     .name = place.name})};
  if (!place.get("scale", true)) made.given["gamma"] = {1};
  if (!place.get("center", true)) made.given["beta"] = {0};
  return made;
}

MadeLayer make_layer_norm(const LayerPlace& place) {
  place.only("rms_scaling", false);
  const Json* axis = find_value(place.config(), "axis");
  std::vector<int> axes = {-1};
  if (axis != nullptr) {
    axes = axis->is_array() ? axis->get<std::vector<int>>() : std::vector{axis->get<int>()};
  }
  return {LayerNormalization({.axis = axes,
                              .epsilon = place.get("epsilon", 1e-3),
                              .center = place.get("center", true),
                              .scale = place.get("scale", true),
                              .name = place.name})};
}

MadeLayer make_group_norm(const LayerPlace& place) {
  require_last_axis(place);
  int64_t groups = place.get<int64_t>("groups", 32);
  if (groups == -1) groups = place.inputs[0].back();
  MadeLayer made{GroupNormalization(
      {.groups = groups, .epsilon = place.get("epsilon", 1e-3), .name = place.name})};
  if (!place.get("scale", true)) made.given["gamma"] = {1};
  if (!place.get("center", true)) made.given["beta"] = {0};
  return made;
}

std::vector<double> numbers_of(const Json& json) {
  if (!json.is_array()) return {json.get<double>()};
  std::vector<double> numbers;
  for (const Json& item : json.items()) {  // [[[0.4, 0.5]]] is a row too
    for (const double number : numbers_of(item)) numbers.push_back(number);
  }
  return numbers;
}

// (x - mean) / deviation, with statistics of the file. They are state that nothing changes, so the
// layer is a batch normalisation that always is in inference.
MadeLayer make_normalization(const LayerPlace& place) {
  if (place.has("axis")) require_last_axis(place);
  place.only("invert", false);
  const int64_t channels = place.inputs[0].back();
  constexpr double kNeverMoves = 1;
  ComposedSpec spec{.class_name = "Normalization", .stem = "normalization"};
  const auto add = [&](const char* name, Initializer initializer) {
    spec.weights.push_back({name, {channels}, std::move(initializer), kNeverMoves});
  };
  add("mean", Zeros());
  add("variance", Ones());
  add("gamma", Ones());
  add("beta", Zeros());
  spec.build = [](nn::GraphBuilder& builder, const std::vector<ir::Value*>& inputs) {
    constexpr double kNearlyNone = 1e-14;
    return builder
        .append("batch_norm",
                {inputs[0], builder.weight("mean"), builder.weight("variance"),
                 builder.weight("gamma"), builder.weight("beta")},
                {{"epsilon", kNearlyNone}, {"batch_statistics", int64_t{0}}})
        ->output();
  };
  MadeLayer made{composed(std::move(spec), place.name)};
  made.given["gamma"] = {1};
  made.given["beta"] = {0};
  const Json* mean = find_value(place.config(), "mean");
  const Json* variance = find_value(place.config(), "variance");
  if (mean == nullptr || variance == nullptr) {
    made.ignored = {"count"};
    return made;
  }
  for (const auto& [name, value] : {std::pair("mean", mean), {"variance", variance}}) {
    made.given[name] = numbers_of(*value);
    const auto count = std::ssize(made.given[name]);
    if (count == 1 || count == channels) continue;
    throw IoError(name, ": expected 1 or ", channels, " numbers, got ", count);
  }
  return made;
}

MadeLayer make_rescaling(const LayerPlace& place) {
  const Json& scale = place.config().at("scale");
  const Json zero(0.0);
  const Json* offset = find_value(place.config(), "offset");
  if (offset == nullptr) offset = &zero;
  if (!scale.is_array() && !offset->is_array()) {
    return {Rescaling(
        {.factor = scale.get<double>(), .offset = offset->get<double>(), .name = place.name})};
  }
  return {NormalisePixels(
      {.scale = numbers_of(scale), .shift = numbers_of(*offset), .name = place.name})};
}

// Which elements of a sample are dropped together.
MadeLayer make_dropout(const LayerPlace& place) {
  const DropoutOptions options{.rate = place.config().get<double>("rate"), .name = place.name};
  const Json* noise = find_value(place.config(), "noise_shape");
  if (noise == nullptr) return {Dropout(options)};
  const Json::Items& shape = noise->items();
  const auto one = [](const Json& extent) {
    return !extent.is_null() && extent.get<int64_t>() == 1;
  };
  bool ones = shape.size() > 1;  // between the batch and the channels
  for (size_t i = 1; i + 1 < shape.size(); ++i) ones = ones && one(shape[i]);
  if (ones && one(shape.back())) return {StochasticDepth(options)};
  if (ones && shape.size() == 4) return {SpatialDropout2D(options)};
  if (ones && shape.size() == 5) return {SpatialDropout3D(options)};
  refuse_option(place, "noise_shape", "null, or 1 for all axes of a sample or all but the last");
}

MadeLayer make_spatial_dropout2d(const LayerPlace& place) {
  return {SpatialDropout2D({.rate = place.config().get<double>("rate"), .name = place.name})};
}
MadeLayer make_spatial_dropout3d(const LayerPlace& place) {
  return {SpatialDropout3D({.rate = place.config().get<double>("rate"), .name = place.name})};
}
MadeLayer make_noise(const LayerPlace& place) {
  return {GaussianNoise({.stddev = place.config().get<double>("stddev"), .name = place.name})};
}

}  // namespace

ActivationChoice activation_of(const LayerPlace& place, const Json* value, std::string name) {
  if (value == nullptr) return {};
  const ActivationForm form = form_of(place, *value);
  if (form.options != nullptr) {  // a layer as an activation
    const LayerConfig layer{.class_name = form.name, .name = name, .config = *form.options};
    const LayerPlace inner{
        .layer = layer, .name = name, .inputs = place.inputs, .major = place.major};
    for (const auto& [class_name, make] : {std::pair<std::string, MakeLayer>("ReLU", make_relu),
                                           {"LeakyReLU", make_leaky_relu},
                                           {"ELU", make_elu},
                                           {"Softmax", make_softmax}}) {
      if (class_name == form.name) return {"", make(inner).layer};
    }
  }
  for (const NamedFunction& function : kFunctions) {
    if (form.options != nullptr || form.name != function.name) continue;
    // Keras 3 has another hard sigmoid, and its leaky_relu another slope than the layer.
    const bool sixth = form.name == "hard_sigmoid" && place.major >= 3;
    if (sixth || form.name == "leaky_relu") {
      const ir::Attributes attributes =
          sixth ? ir::Attributes{{"alpha", kSixth}, {"beta", 0.5}} : ir::Attributes{{"alpha", 0.2}};
      ComposedSpec spec{.class_name = "Activation", .stem = "activation"};
      spec.build = [=, op = std::string(function.op)](nn::GraphBuilder& builder,
                                                      const std::vector<ir::Value*>& inputs) {
        return builder.append(op, {inputs[0]}, attributes)->output();
      };
      return {"", composed(std::move(spec), name)};
    }
    return {function.op, {}};
  }
  std::vector<std::string> known;
  for (const NamedFunction& function : kFunctions) known.emplace_back(function.name);
  throw Unsupported(place.label(), ": activation: expected one of ", join(known, ", "), ", got ",
                    value->dump().substr(0, 80));
}

std::vector<LayerImport> element_imports() {
  return {{"Activation", make_activation},
          {"ReLU", make_relu},
          {"LeakyReLU", make_leaky_relu},
          {"PReLU", make_prelu},
          {"ELU", make_elu},
          {"Softmax", make_softmax},
          {"ActivityRegularization", make_identity},
          {"Identity", make_identity},
          {"BatchNormalization", make_batch_norm},
          {"LayerNormalization", make_layer_norm},
          {"GroupNormalization", make_group_norm},
          {"Normalization", make_normalization},
          {"Rescaling", make_rescaling},
          {"Dropout", make_dropout},
          {"SpatialDropout2D", make_spatial_dropout2d},
          {"SpatialDropout3D", make_spatial_dropout3d},
          {"GaussianNoise", make_noise}};
}

}  // namespace pando::keras
