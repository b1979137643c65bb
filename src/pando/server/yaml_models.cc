// Models to serve, as YAML.
// SPDX-License-Identifier: MIT
#include "pando/base/strings.h"
#include "pando/options/config_value.h"
#include "pando/options/usage_error.h"
#include "pando/server/config_files.h"

namespace pando::server {
namespace {

using Kind = ConfigValue::Kind;

[[noreturn]] void fail_yaml(const ConfigValue& value, const std::string& message) {
  throw UsageError(value.place, value.place.empty() ? "" : ": ", message);
}

int64_t yaml_int(const ConfigValue& value, const std::string& key) {
  const auto number = value.kind == Kind::scalar ? parse_int(value.text) : std::nullopt;
  if (!number) fail_yaml(value, key + ": expected a whole number");
  return *number;
}

bool yaml_bool(const ConfigValue& value, const std::string& key) {
  if (value.kind == Kind::scalar && value.text == "true") return true;
  if (value.kind != Kind::scalar || value.text != "false") {
    fail_yaml(value, key + ": expected true or false");
  }
  return false;
}

std::string yaml_text(const ConfigValue& value, const std::string& key) {
  if (value.kind != Kind::scalar) fail_yaml(value, key + ": expected a text");
  return value.text;
}

// Calls `read(key, value)`, which returns whether it knows the key.
template <typename Read>
void each_key(const ConfigValue& map, const std::string& what,
              const std::vector<std::string>& known, Read read) {
  if (map.kind != Kind::map) fail_yaml(map, what + ": expected keys with values");
  for (size_t i = 0; i < map.keys.size(); ++i) {
    if (!read(map.keys[i], map.items[i])) {
      fail_yaml(map.items[i], unknown_name_message("key", map.keys[i], known));
    }
  }
}

std::vector<int64_t> yaml_ints(const ConfigValue& value, const std::string& key) {
  if (value.kind != Kind::list) fail_yaml(value, key + ": expected a list of whole numbers");
  std::vector<int64_t> numbers;
  for (const ConfigValue& item : value.items) numbers.push_back(yaml_int(item, key));
  return numbers;
}

serve::BatchingParameters yaml_batching(const ConfigValue& map) {
  serve::BatchingParameters result;
  const std::pair<const char*, int64_t*> numbers[] = {
      {"max_batch_size", &result.max_batch_size},
      {"batch_timeout_micros", &result.batch_timeout_micros},
      {"max_enqueued_batches", &result.max_enqueued_batches},
      {"num_batch_threads", &result.num_batch_threads},
      {"max_execution_batch_size", &result.max_execution_batch_size}};
  std::vector<std::string> known = {"allowed_batch_sizes", "enable_large_batch_splitting",
                                    "pad_variable_length_inputs"};
  for (const auto& [name, field] : numbers) known.emplace_back(name);
  each_key(map, "batching", known, [&](const std::string& key, const ConfigValue& value) {
    for (const auto& [name, field] : numbers) {
      if (key != name) continue;
      *field = yaml_int(value, key);
      return true;
    }
    if (key == "allowed_batch_sizes") {
      result.allowed_batch_sizes = yaml_ints(value, key);
    } else if (key == "enable_large_batch_splitting") {
      result.enable_large_batch_splitting = yaml_bool(value, key);
    } else if (key == "pad_variable_length_inputs") {
      result.pad_variable_length_inputs = yaml_bool(value, key);
    } else {
      return false;
    }
    return true;
  });
  validate(result);
  return result;
}

// all, latest, {latest: 2} or {specific: [1, 2]}
serve::VersionPolicy yaml_policy(const ConfigValue& value) {
  serve::VersionPolicy policy;
  if (value.kind == Kind::scalar && value.text == "latest") return policy;
  if (value.kind == Kind::scalar && value.text == "all") {
    policy.kind = serve::VersionPolicy::Kind::all;
    return policy;
  }
  each_key(value, "policy (all, latest, {latest: N} or {specific: [N]})", {"latest", "specific"},
           [&](const std::string& key, const ConfigValue& item) {
             if (key == "latest") {
               policy.num_versions = yaml_int(item, key);
             } else if (key == "specific") {
               policy.kind = serve::VersionPolicy::Kind::specific;
               policy.versions = yaml_ints(item, key);
             } else {
               return false;
             }
             return true;
           });
  return policy;
}

serve::ModelConfig yaml_model(const ConfigValue& map) {
  serve::ModelConfig model;
  each_key(map, "models", {"name", "base_path", "policy", "labels", "batching"},
           [&](const std::string& key, const ConfigValue& value) {
             if (key == "name") {
               model.name = yaml_text(value, key);
             } else if (key == "base_path") {
               model.base_path = yaml_text(value, key);
             } else if (key == "policy") {
               model.policy = yaml_policy(value);
             } else if (key == "labels") {
               each_key(value, key, {}, [&](const std::string& label, const ConfigValue& version) {
                 model.labels[label] = yaml_int(version, label);
                 return true;
               });
             } else if (key == "batching") {
               model.batching = yaml_batching(value);
             } else {
               return false;
             }
             return true;
           });
  return model;
}

}  // namespace

YamlModels parse_model_yaml(const std::string& text, const std::string& source) {
  YamlModels result;
  const ConfigValue root = parse_yaml(text, source);
  each_key(root, source, {"models", "batching"},
           [&](const std::string& key, const ConfigValue& value) {
             if (key == "batching") {
               result.batching = yaml_batching(value);
             } else if (key == "models") {
               if (value.kind != Kind::list) fail_yaml(value, "models: expected a list");
               for (const ConfigValue& item : value.items) {
                 result.models.push_back(yaml_model(item));
               }
             } else {
               return false;
             }
             return true;
           });
  if (result.models.empty()) throw UsageError(source, ": models: expected at least one model");
  return result;
}

}  // namespace pando::server
