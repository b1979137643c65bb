// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/keras/exporter_impl.h"
#include "pando/keras/weights.h"
#include "pando/nn/network_builder.h"

namespace pando::keras {

namespace {

constexpr const char* kRefused = "";  // in place of the name of a layer

const std::map<std::string, ExportOp>& all_exports() {
  static const std::map<std::string, ExportOp> table = [] {
    std::map<std::string, ExportOp> all;
    for (const auto& family :
         {product_exports(), picture_exports(), element_exports(), shape_exports()}) {
      for (const OpExport& one : family) all.emplace(one.op, one.add);
    }
    return all;
  }();
  return table;
}

// A name that TensorFlow takes as a scope. Keras 3 takes no slash.
std::string keras_name(const std::string& name, int major) {
  constexpr size_t kLongest = 1000;
  std::string result = name.substr(0, kLongest);
  for (char& c : result) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == '-' || (c == '/' && major < 3);
    if (!plain) c = '_';
  }
  while (!result.empty() && (result[0] == '_' || result[0] == '/' || result[0] == '-')) {
    result.erase(0, 1);
  }
  return result.empty() ? "layer" : result;
}

}  // namespace

Exporter::Exporter(const Network& network, const std::map<std::string, Tensor>& weights,
                   const ExportOptions& options)
    : network_(network),
      weights_(weights),
      options_(options),
      built_(network.build({.batch = 1, .training = true, .stages = false})) {
  if (options.major != 2 && options.major != 3) {
    throw InvalidArgument("export to Keras: expected version 2 or 3, got ", options.major);
  }
  for (const LayerInfo& layer : network.layers()) {
    if (!layer.weights.empty()) weighted_.insert(layer.name);
  }
}

bool Exporter::is_weight(const ir::Value* value) const {
  return value->is_input() && value->role() != ir::InputRole::feed;
}

const nn::WeightSpec& Exporter::spec(const ir::Value* weight) const {
  const size_t slash = weight->name().rfind('/');
  const LayerInfo& layer = network_.layer(weight->name().substr(0, slash));
  for (const nn::WeightSpec& one : layer.weights) {
    if (nn::weight_name(layer.name, one.name) == weight->name()) return one;
  }
  throw InternalError("no description of the weight ", weight->name());
}

const ir::Value* Exporter::sibling(const ir::Value* weight, const std::string& name) const {
  const std::string layer = weight->name().substr(0, weight->name().rfind('/'));
  const ir::Value* found = graph().find_value(nn::weight_name(layer, name));
  if (found == nullptr) throw InternalError("layer ", layer, " has no weight ", name);
  return found;
}

const TensorRef& Exporter::ref(const ir::Value* value) const {
  const auto found = refs_.find(value);
  if (found == refs_.end()) throw InternalError("value ", value->name(), " is not in the model");
  return found->second;
}

std::string Exporter::unique(const std::string& name) {
  const std::string base = keras_name(name, options_.major);
  std::string result = base;
  for (int i = 1; !names_.insert(result).second; ++i) result = concat(base, "_", i);
  return result;
}

// A layer with weights has the name of its layer in the network, and so has the only or last one of
// a layer without weights; the others have their class behind it.
std::string Exporter::name_for(const ir::Node& node, const NewLayer& layer, bool last) {
  const bool own = weighted_.contains(node.name()) ? !layer.weights.empty() : last;
  const bool taken = names_.contains(keras_name(node.name(), options_.major));
  return unique(own && !taken ? node.name()
                              : concat(node.name(), "_", snake_case(layer.class_name)));
}

TensorRef Exporter::add(const ir::Node& node, NewLayer layer, const std::vector<TensorRef>& inputs,
                        const Shape& input, const Shape& output, bool last) {
  if (!layer.weights.empty()) {  // a second call of a shared layer
    const auto owner = owners_.find(layer.weights[0].value->name());
    if (owner != owners_.end()) {
      std::vector<std::vector<TensorRef>>& calls = model_.layers[owner->second].calls;
      calls.push_back(inputs);
      return {model_.layers[owner->second].name, std::ssize(calls) - 1, 0};
    }
    owners_[layer.weights[0].value->name()] = model_.layers.size();
  }
  ExportedLayer added{.class_name = layer.class_name,
                      .name = name_for(node, layer, last),
                      .config = std::move(layer.config)};
  added.calls = {inputs};
  added.input = input;
  added.output = output;
  added.trainable = layer.trainable && !options_.frozen.contains(node.name());
  for (const NewLayer::Weight& weight : layer.weights) {
    const auto found = weights_.find(weight.value->name());
    if (found == weights_.end() || found->second.dtype() != DType::f32) {
      throw InvalidArgument("export to Keras: expected the f32 weight ", weight.value->name());
    }
    added.weights.emplace_back(weight.name, found->second.reshaped(weight.shape));
  }
  by_name_[added.name] = model_.layers.size();
  model_.layers.push_back(std::move(added));
  return {model_.layers.back().name, 0, 0};
}

void Exporter::emit(const ir::Node& node, NewLayer layer,
                    const std::vector<const ir::Value*>& inputs) {
  std::vector<TensorRef> tensors;
  for (const ir::Value* input : inputs) tensors.push_back(ref(input));
  emit_last(node, std::move(layer), tensors, inputs[0]->shape());
}

TensorRef Exporter::emit_step(const ir::Node& node, NewLayer layer,
                              const std::vector<TensorRef>& inputs, const Shape& input,
                              const Shape& output) {
  return add(node, std::move(layer), inputs, input, output, false);
}

void Exporter::emit_last(const ir::Node& node, NewLayer layer, const std::vector<TensorRef>& inputs,
                         const Shape& input) {
  pass_on(node, add(node, std::move(layer), inputs, input, node.output()->shape(), true));
}

void Exporter::refuse(const ir::Node& node, const std::string& why) {
  refused_.push_back(concat(node.label(), ": ", why));
  pass_on(node, {kRefused, 0, 0});
}

ExportedLayer* Exporter::owner_of_activation(const ir::Node& node) {
  const ir::Node* before = node.input(0)->producer();
  if (before == nullptr || before->name() != node.name()) return nullptr;
  if (graph().users(node.input(0)).size() != 1 || graph().is_output(node.input(0))) return nullptr;
  for (const ir::Value* output : built_.outputs) {
    if (output == node.input(0)) return nullptr;
  }
  const TensorRef& result = ref(node.input(0));
  const auto found = by_name_.find(result.layer);
  if (found == by_name_.end()) return nullptr;
  ExportedLayer& layer = model_.layers[found->second];
  const Json* activation = layer.config.find("activation");
  if (activation == nullptr || layer.weights.empty()) return nullptr;
  // Further calls of a shared layer have the activation already.
  const bool taken = activation->get<std::string>() != "linear";
  return taken && result.call == 0 ? nullptr : &layer;
}

void Exporter::add_inputs() {
  size_t next = 0;
  for (const NetworkInput& input : network_.inputs()) {
    if (next >= built_.inputs.size()) break;
    const ir::Value* value = built_.inputs[next++];
    if (input.auxiliary) continue;
    if (input.dtype != DType::f32) {
      throw Unsupported("export to Keras: input ", input.name, ": expected f32, got ",
                        to_string(input.dtype), "; export the network without preprocessing");
    }
    Json shape = Json::array();
    shape.push_back(nullptr);
    for (const int64_t extent : input.shape) shape.push_back(extent);
    ExportedLayer added{.class_name = "InputLayer", .name = unique(input.name), .config = {}};
    added.config = {{"batch_input_shape", shape}, {"dtype", "float32"}, {"sparse", false}};
    added.input = value->shape();
    added.output = value->shape();
    refs_[value] = {added.name, 0, 0};
    model_.inputs.push_back(refs_[value]);
    model_.layers.push_back(std::move(added));
  }
}

void Exporter::add_node(const ir::Node& node) {
  const auto found = all_exports().find(node.op());
  if (found == all_exports().end()) return refuse(node, "Keras has no such layer");
  for (const ir::Value* input : node.inputs()) {
    if (is_weight(input)) continue;
    const auto known = refs_.find(input);
    if (known == refs_.end() || known->second.layer != kRefused) continue;
    return pass_on(node, known->second);  // the refused node before it is reported
  }
  found->second(*this, node);
}

ExportedModel Exporter::run() {
  model_.name = keras_name(options_.name, options_.major);
  add_inputs();
  for (const auto& node : built_.graph.nodes()) add_node(*node);
  if (!refused_.empty()) {
    throw Unsupported("export to Keras ", options_.major, ":\n", join(refused_, "\n"));
  }
  for (const ir::Value* output : built_.outputs) model_.outputs.push_back(ref(output));
  return std::move(model_);
}

ExportedModel export_network(const Network& network, const std::map<std::string, Tensor>& weights,
                             const ExportOptions& options) {
  return Exporter(network, weights, options).run();
}

}  // namespace pando::keras
