// What to serve, from flags and from TensorFlow Serving's files.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/app/flags/serve_flags.h"
#include "pando/serve/config.h"

namespace pando::server {

// Reads --batching_parameters_file: max_batch_size { value: 32 } ... Unknown keys are errors.
// Throws InvalidArgument with "source:line:column".
serve::BatchingParameters parse_batching(std::string_view text, const std::string& source);

// Reads --model_config_file: model_config_list { config { name: "a" base_path: "/a" } ... }
std::vector<serve::ModelConfig> parse_model_config(std::string_view text,
                                                   const std::string& source);

// The same as YAML, with more:
//   batching: {max_batch_size: 32}
//   models:
//     - {name: a, base_path: /a, policy: all, labels: {stable: 1}, batching: {...}}
struct YamlModels {
  std::vector<serve::ModelConfig> models;
  std::optional<serve::BatchingParameters> batching;
};
YamlModels parse_model_yaml(const std::string& text, const std::string& source);

// "mnist.onnx" is a model of the name mnist, "a=/x" one of the name a.
serve::ModelConfig model_of_argument(const std::string& argument);

// Reads the files that the flags name. Throws UsageError or InvalidArgument.
serve::ServerConfig server_config(const app::ServeFlags& flags);

}  // namespace pando::server
