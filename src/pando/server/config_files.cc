// SPDX-License-Identifier: MIT
#include "pando/server/config_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "pando/base/error.h"
#include "pando/options/usage_error.h"
#include "pando/wire/text_format.h"

namespace pando::server {
namespace {

using wire::TextField;
using wire::TextMessage;

// A field of a message of the text format, read by its name.
class TextReader {
 public:
  TextReader(const TextMessage& message, const std::string& source)
      : message_(message), source_(source) {}

  // Calls `read` for every field of the name.
  template <typename Read>
  TextReader& on(const char* name, Read read) {
    known_.push_back(name);
    for (const TextField& field : message_.fields) {
      if (field.name == name) read(field);
    }
    return *this;
  }
  TextReader& ignore(const char* name) {
    return on(name, [](const TextField&) {});
  }
  // Requires: on() or ignore() was called for every known field.
  void end() const {
    for (const TextField& field : message_.fields) {
      if (std::find(known_.begin(), known_.end(), field.name) == known_.end()) {
        throw InvalidArgument(source_, ":", field.place, ": ",
                              unknown_name_message("field", field.name, known_));
      }
    }
  }

 private:
  const TextMessage& message_;
  const std::string& source_;
  std::vector<std::string> known_;
};

// TensorFlow Serving wraps numbers: max_batch_size { value: 32 }. Here plain ones are fine too.
TextField wrapped(const TextField& field, const std::string& source) {
  if (!field.is_message) return field;
  const TextMessage& message = message_of(field, source);
  if (message.fields.size() != 1 || message.fields[0].name != "value") {
    throw InvalidArgument(source, ":", field.place, ": ", field.name, ": expected { value: ... }");
  }
  TextField value = message.fields[0];
  value.name = field.name;
  return value;
}

serve::VersionPolicy policy_of(const TextMessage& message, const std::string& source) {
  serve::VersionPolicy policy;
  using Kind = serve::VersionPolicy::Kind;
  TextReader(message, source)
      .on("latest",
          [&](const TextField& field) {
            TextReader(message_of(field, source), source)
                .on("num_versions",
                    [&](const TextField& number) { policy.num_versions = int_of(number, source); })
                .end();
          })
      .on("all", [&](const TextField&) { policy.kind = Kind::all; })
      .on("specific",
          [&](const TextField& field) {
            policy.kind = Kind::specific;
            TextReader(message_of(field, source), source)
                .on("versions",
                    [&](const TextField& number) {
                      policy.versions.push_back(int_of(number, source));
                    })
                .end();
          })
      .end();
  return policy;
}

serve::ModelConfig model_of(const TextMessage& message, const std::string& source) {
  serve::ModelConfig model;
  TextReader(message, source)
      .on("name", [&](const TextField& field) { model.name = string_of(field, source); })
      .on("base_path", [&](const TextField& field) { model.base_path = string_of(field, source); })
      .on("model_version_policy",
          [&](const TextField& field) {
            model.policy = policy_of(message_of(field, source), source);
          })
      .on("version_labels",
          [&](const TextField& field) {
            std::string key;
            int64_t value = 0;
            TextReader(message_of(field, source), source)
                .on("key", [&](const TextField& text) { key = string_of(text, source); })
                .on("value", [&](const TextField& number) { value = int_of(number, source); })
                .end();
            model.labels[key] = value;
          })
      .ignore("model_platform")
      .ignore("model_type")
      .ignore("logging_config")
      .end();
  return model;
}

std::string text_of_file(const std::string& path, const char* flag) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw UsageError(flag, ": cannot read '", path, "'");
  return text;
}

bool is_yaml(const std::string& path) {
  return path.ends_with(".yml") || path.ends_with(".yaml") || path.ends_with(".json");
}

}  // namespace

serve::BatchingParameters parse_batching(std::string_view text, const std::string& source) {
  serve::BatchingParameters result;
  const TextMessage message = wire::parse_text_format(text, source);
  TextReader reader(message, source);
  const auto number = [&](const char* name, int64_t& value) {
    reader.on(name,
              [&](const TextField& field) { value = int_of(wrapped(field, source), source); });
  };
  const auto truth = [&](const char* name, bool& value) {
    reader.on(name,
              [&](const TextField& field) { value = bool_of(wrapped(field, source), source); });
  };
  number("max_batch_size", result.max_batch_size);
  number("batch_timeout_micros", result.batch_timeout_micros);
  number("max_enqueued_batches", result.max_enqueued_batches);
  number("num_batch_threads", result.num_batch_threads);
  number("max_execution_batch_size", result.max_execution_batch_size);
  truth("pad_variable_length_inputs", result.pad_variable_length_inputs);
  truth("enable_large_batch_splitting", result.enable_large_batch_splitting);
  reader.on("allowed_batch_sizes", [&](const TextField& field) {
    result.allowed_batch_sizes.push_back(int_of(wrapped(field, source), source));
  });
  reader.ignore("thread_pool_name").end();
  validate(result);
  return result;
}

std::vector<serve::ModelConfig> parse_model_config(std::string_view text,
                                                   const std::string& source) {
  const TextMessage message = wire::parse_text_format(text, source);
  std::vector<serve::ModelConfig> models;
  TextReader(message, source)
      .on("model_config_list",
          [&](const TextField& list) {
            TextReader(message_of(list, source), source)
                .on("config",
                    [&](const TextField& field) {
                      models.push_back(model_of(message_of(field, source), source));
                    })
                .end();
          })
      .end();
  if (models.empty()) {
    throw InvalidArgument(source, ": expected model_config_list { config { ... } }, got no model");
  }
  return models;
}

serve::ModelConfig model_of_argument(const std::string& argument) {
  serve::ModelConfig model;
  const size_t equals = argument.find('=');
  model.base_path = equals == argument.npos ? argument : argument.substr(equals + 1);
  model.name = argument.substr(0, equals);
  if (equals == argument.npos) {
    std::filesystem::path path(argument);
    if (!path.has_filename()) path = path.parent_path();  // "models/mnist/"
    model.name = path.stem().string();
  }
  return model;
}

serve::ServerConfig server_config(const app::ServeFlags& flags) {
  serve::ServerConfig config;
  config.workers = flags.workers;
  config.max_batch = flags.max_batch;
  config.max_request_samples = flags.max_request_samples;
  config.max_queue_samples = flags.max_queue_samples;
  config.max_queue_sec = flags.max_queue_seconds;
  config.poll_interval_sec = flags.file_system_poll_wait_seconds;
  config.default_deadline_sec = static_cast<double>(flags.rest_api_timeout_in_ms) / 1e3;
  config.load_retries = flags.max_num_load_retries;
  config.load_retry_interval_sec = static_cast<double>(flags.load_retry_interval_micros) / 1e6;
  for (const std::string& model : flags.models) config.models.push_back(model_of_argument(model));
  if (!flags.model_base_path.empty()) {
    config.models.push_back({.name = flags.model_name, .base_path = flags.model_base_path});
  }
  if (!flags.model_config_file.empty()) {
    const std::string& path = flags.model_config_file;
    const std::string text = text_of_file(path, "--model-config-file");
    if (is_yaml(path)) {
      YamlModels yaml = parse_model_yaml(text, path);
      config.models = std::move(yaml.models);
      config.batching = std::move(yaml.batching);
    } else {
      config.models = parse_model_config(text, path);
    }
  }
  if (flags.enable_batching && flags.batching_parameters_file.empty()) config.batching.emplace();
  if (!flags.batching_parameters_file.empty()) {
    const std::string& path = flags.batching_parameters_file;
    config.batching = parse_batching(text_of_file(path, "--batching-parameters-file"), path);
  }
  validate(config);
  return config;
}

}  // namespace pando::server
