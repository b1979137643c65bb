// The description of a Keras model: its layers with their options, and how they are connected.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pando/base/json.h"

namespace pando::keras {

// The result of a call of a layer.
struct TensorRef {
  std::string layer;
  int64_t call = 0;
  int64_t output = 0;
};

// An operand of a call: a tensor, or a value of the file.
struct Operand {
  bool is_tensor = true;
  TensorRef tensor = {};
  Json value = {};
};

struct LayerCall {
  std::vector<Operand> operands = {};
  // Operands by name, which only functions (TFOpLambda and the like) have.
  std::vector<std::pair<std::string, Operand>> named = {};
};

struct ModelConfig;

struct LayerConfig {
  std::string class_name;
  std::string name;
  Json config;
  std::vector<LayerCall> calls = {};
  std::shared_ptr<const ModelConfig> model = {};  // set if the layer is a model itself

  bool is_input() const { return class_name == "InputLayer"; }
  bool trainable() const;
};

struct ModelConfig {
  std::string name;
  bool sequential = false;  // then calls, inputs and outputs are empty
  std::vector<LayerConfig> layers = {};
  std::vector<TensorRef> inputs = {};
  std::vector<TensorRef> outputs = {};
  Json input_shape = {};  // of a Sequential model that was built on data, with the batch; or null
};

// Reads {"class_name": "Functional", "config": {...}} in the forms of Keras 2 and 3. Throws IoError
// for what is not such a description, and for two layers with one name; Unsupported for models of
// other classes.
ModelConfig parse_model_config(const Json& json);

// The value of a key, or `missing` if there is none or it is null.
template <typename T>
T value_or(const Json& config, std::string_view key, T missing) {
  const Json* value = config.is_object() ? config.find(key) : nullptr;
  return value == nullptr || value->is_null() ? std::move(missing) : config.get<T>(key);
}
// Null if there is none.
const Json* find_value(const Json& config, std::string_view key);

}  // namespace pando::keras
