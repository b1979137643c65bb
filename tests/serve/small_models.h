// Small model files and requests for the tests of the server.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "pando/nn/layers.h"
#include "pando/serve/infer.h"
#include "pando/serve/model_server.h"
#include "pando/train/load_model.h"
#include "tests/support/temp_folder.h"

namespace pando::serve {

// y = x * factor, for samples of four numbers.
inline Model scaling_model(float factor) {
  Model model(Sequential({4}, {Dense({.units = 4, .use_bias = false, .name = "y"})}),
              {.name = "scaling"});
  Tensor weights(DType::f32, {4, 4});
  for (size_t i = 0; i < 4; ++i) weights.f32()[5 * i] = factor;
  model.set_weights({weights});
  return model;
}

// Writes BASE/<version>/model.onnx as the exporter does: complete, then renamed.
inline void write_version(const std::string& base, int64_t version, const Model& model) {
  namespace fs = std::filesystem;
  const fs::path hidden = fs::path(base) / (".tmp-" + std::to_string(version));
  fs::create_directories(hidden);
  save_model(model, (hidden / "model.onnx").string());
  fs::rename(hidden, fs::path(base) / std::to_string(version));
}

// A request of rows of four numbers: sample i is first + i, four times.
inline InferRequest scaling_request(std::shared_ptr<const Servable> servable, int64_t samples,
                                    float first = 1) {
  auto values = std::make_shared<std::vector<float>>();
  for (int64_t i = 0; i < 4 * samples; ++i) values->push_back(first + static_cast<float>(i / 4));
  InferRequest request{.servable = std::move(servable)};
  request.inputs.push_back({.name = "",
                            .type = ElementType::f32,
                            .shape = {samples, 4},
                            .data = std::as_bytes(std::span(*values)),
                            .elements = {}});
  request.owner = values;
  return request;
}

// The numbers of the only output.
inline std::vector<float> numbers_of(const InferResponse& response) {
  const std::span<const std::byte> data = response.outputs.at(0).data;
  std::vector<float> numbers(data.size() / sizeof(float));
  std::memcpy(numbers.data(), data.data(), data.size());
  return numbers;
}

// Whether a response is that of scaling_request(), multiplied by the factor.
inline bool is_scaled(const Result<InferResponse>& response, int64_t samples, float factor,
                      float first = 1) {
  if (!response || response->outputs.size() != 1) return false;
  const std::vector<float> numbers = numbers_of(*response);
  if (numbers.size() != static_cast<size_t>(4 * samples)) return false;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != factor * (first + static_cast<float>(i / 4))) return false;
  }
  return true;
}

inline ServerConfig config_of(const std::string& base, VersionPolicy policy = {}) {
  ServerConfig config;
  config.models.push_back({.name = "m", .base_path = base, .policy = std::move(policy)});
  config.workers = 2;
  config.max_batch = 8;
  config.poll_interval_sec = 0;
  config.load_retries = 0;
  config.warmup_runs = 1;
  return config;
}

}  // namespace pando::serve
