// SPDX-License-Identifier: MIT
#include "pando/keras/model_config.h"

#include <algorithm>
#include <map>
#include <set>

#include "pando/base/error.h"

namespace pando::keras {
namespace {

constexpr size_t kMostLayers = 20000;
constexpr size_t kLongestName = 4096;

bool is_model_class(const std::string& class_name) {
  return class_name == "Sequential" || class_name == "Functional" || class_name == "Model";
}

// ["name", call, output] or ["name", call, output, {...}].
bool is_ref(const Json& json) {
  if (!json.is_array()) return false;
  const Json::Items& items = json.items();
  return (items.size() == 3 || items.size() == 4) && items[0].is_string();
}

TensorRef ref_of(const Json& json) {
  const Json::Items& items = json.items();
  TensorRef ref{items[0].get<std::string>(), items[1].get<int64_t>(), items[2].get<int64_t>()};
  if (ref.layer.size() > kLongestName) throw IoError("the name of a layer is too long");
  if (ref.call < 0 || ref.output < 0) {
    throw IoError("expected a call and an output from 0 on, got ", json.dump().substr(0, 80));
  }
  return ref;
}

// One tensor, or a list or an object of such.
void collect_refs(const Json& json, std::vector<TensorRef>& refs) {
  if (is_ref(json)) {
    refs.push_back(ref_of(json));
  } else if (json.is_object()) {
    for (const Json::Member& member : json.members()) collect_refs(member.value, refs);
  } else {
    for (const Json& item : json.items()) collect_refs(item, refs);
  }
}

constexpr const char* kConstant = "_CONSTANT_VALUE";

Operand operand_of_2(const Json& json) {
  if (!is_ref(json)) return {.is_tensor = false, .value = json};
  if (json.items()[0].get<std::string>() == kConstant) {
    return {.is_tensor = false, .value = json.items()[2]};
  }
  return {.tensor = ref_of(json)};
}

// A call in Keras 2: [["conv", 0, 0, {}], ...], of functions also ["conv", 0, 0, {"y": 0.5}]. The
// object has the operands by name.
LayerCall call_of_2(const Json& json) {
  LayerCall call;
  const auto add = [&](const Json& item) {
    if (!is_ref(item)) {
      throw IoError("inbound_nodes: expected [name, call, output], got ",
                    item.dump().substr(0, 80));
    }
    call.operands.push_back(operand_of_2(item));
    if (item.items().size() < 4 || !item.items()[3].is_object()) return;
    for (const Json::Member& member : item.items()[3].members()) {
      call.named.emplace_back(member.key, operand_of_2(member.value));
    }
  };
  if (is_ref(json)) {
    add(json);
  } else {
    for (const Json& item : json.items()) add(item);
  }
  return call;
}

bool is_keras_tensor(const Json& json) {
  const Json* class_name = json.is_object() ? json.find("class_name") : nullptr;
  return class_name != nullptr && class_name->is_string() &&
         class_name->get<std::string>() == "__keras_tensor__";
}

Operand operand_of_3(const Json& json) {
  if (!is_keras_tensor(json)) return {.is_tensor = false, .value = json};
  const Json& history = json.at("config").at("keras_history");
  if (!is_ref(history)) throw IoError("keras_history: expected [name, call, output]");
  return {.tensor = ref_of(history)};
}

// Operands of Keras 3 may be lists of tensors, as those of Add are.
void add_operands_of_3(const Json& json, std::vector<Operand>& operands) {
  const bool tensors = json.is_array() && !json.items().empty() &&
                       std::ranges::all_of(json.items(), is_keras_tensor);
  if (!tensors) {
    operands.push_back(operand_of_3(json));
    return;
  }
  for (const Json& item : json.items()) operands.push_back(operand_of_3(item));
}

// A call in Keras 3: {"args": [...], "kwargs": {...}}.
LayerCall call_of_3(const Json& json) {
  LayerCall call;
  for (const Json& item : json.at("args").items()) add_operands_of_3(item, call.operands);
  const Json* named = find_value(json, "kwargs");
  if (named == nullptr) return call;
  for (const Json::Member& member : named->members()) {
    call.named.emplace_back(member.key, operand_of_3(member.value));
  }
  return call;
}

LayerConfig parse_layer(const Json& json) {
  LayerConfig layer;
  layer.class_name = json.get<std::string>("class_name");
  layer.config = json.at("config");
  if (layer.class_name.size() > kLongestName) throw IoError("the name of a class is too long");
  if (is_model_class(layer.class_name)) {
    layer.model = std::make_shared<const ModelConfig>(parse_model_config(json));
    layer.name = layer.model->name;
  }
  const Json* own = find_value(layer.config, "name");
  if (own != nullptr) layer.name = own->get<std::string>();
  layer.name = value_or<std::string>(json, "name", layer.name);
  if (layer.name.empty() || layer.name.size() > kLongestName) {
    throw IoError("a layer of class ", layer.class_name, ": expected a name of 1 to ", kLongestName,
                  " bytes, got ", layer.name.size());
  }
  if (const Json* calls = find_value(json, "inbound_nodes")) {
    for (const Json& call : calls->items()) {
      layer.calls.push_back(call.is_object() ? call_of_3(call) : call_of_2(call));
    }
  }
  return layer;
}

void check_names(const ModelConfig& model) {
  if (model.layers.size() > kMostLayers) {
    throw IoError("model '", model.name, "': expected at most ", kMostLayers, " layers, got ",
                  model.layers.size());
  }
  std::set<std::string> names;
  for (const LayerConfig& layer : model.layers) {
    if (names.insert(layer.name).second) continue;
    throw IoError("model '", model.name, "': two layers have the name '", layer.name, "'");
  }
}

// The calls of a model that is a layer are counted from 1 in some versions, because its own inputs
// count as a call. This counts them from 0.
void count_from_zero(ModelConfig& model) {
  std::map<std::string, const LayerConfig*> models;
  for (const LayerConfig& layer : model.layers) {
    if (layer.model) models.emplace(layer.name, &layer);
  }
  if (models.empty()) return;
  std::vector<TensorRef*> refs;
  for (LayerConfig& layer : model.layers) {
    for (LayerCall& call : layer.calls) {
      for (Operand& operand : call.operands) refs.push_back(&operand.tensor);
      for (auto& [name, operand] : call.named) refs.push_back(&operand.tensor);
    }
  }
  for (TensorRef& ref : model.outputs) refs.push_back(&ref);
  std::map<std::string, int64_t> last;
  for (const TensorRef* ref : refs) last[ref->layer] = std::max(last[ref->layer], ref->call);
  for (TensorRef* ref : refs) {
    const auto found = models.find(ref->layer);
    if (found == models.end()) continue;
    if (last[ref->layer] >= std::ssize(found->second->calls)) --ref->call;
  }
}

}  // namespace

const Json* find_value(const Json& config, std::string_view key) {
  const Json* value = config.is_object() ? config.find(key) : nullptr;
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool LayerConfig::trainable() const { return value_or(config, "trainable", true); }

ModelConfig parse_model_config(const Json& json) {
  const auto class_name = json.get<std::string>("class_name");
  if (!is_model_class(class_name)) {
    throw Unsupported("a model of class ", class_name.substr(0, 80),
                      ": expected Sequential or Functional; save its layers as one of these");
  }
  ModelConfig model;
  model.sequential = class_name == "Sequential";
  const Json& config = json.at("config");
  // Keras before 2.2.3 wrote the layers of a Sequential model as a list.
  const bool list = model.sequential && config.is_array();
  model.name = list ? "sequential" : value_or<std::string>(config, "name", "model");
  if (model.name.size() > kLongestName) throw IoError("the name of a model is too long");
  for (const Json& layer : (list ? config : config.at("layers")).items()) {
    model.layers.push_back(parse_layer(layer));
  }
  check_names(model);
  if (model.sequential) {
    const Json* shape = find_value(config, "build_input_shape");
    if (shape == nullptr) {
      if (const Json* build = find_value(json, "build_config")) {
        shape = find_value(*build, "input_shape");
      }
    }
    if (shape != nullptr) model.input_shape = *shape;
    return model;
  }
  collect_refs(config.at("input_layers"), model.inputs);
  collect_refs(config.at("output_layers"), model.outputs);
  count_from_zero(model);
  return model;
}

}  // namespace pando::keras
