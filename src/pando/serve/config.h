// The configuration of a server. Flags, text files of TensorFlow Serving or YAML fill it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pando/profile/trace.h"

namespace pando::serve {

// Which of the numbered folders of a model are loaded.
struct VersionPolicy {
  enum class Kind { latest, all, specific };
  Kind kind = Kind::latest;
  int64_t num_versions = 1;       // with latest
  std::vector<int64_t> versions;  // with specific
  bool operator==(const VersionPolicy&) const = default;
};

// What happens when a new version replaces an old one.
enum class Transition {
  load_first,    // the old one answers until the new one is ready; needs memory for both
  unload_first,  // the old one goes first; the model is not available in between
};

// TensorFlow Serving's keys, with its meanings. Without them batching is work-conserving: a free
// worker takes what waits, up to the largest batch.
struct BatchingParameters {
  int64_t max_batch_size = 1000;
  int64_t batch_timeout_micros = 0;  // that a batch waits to become full
  int64_t max_enqueued_batches = 10;
  int64_t num_batch_threads = 0;             // 0: the cores of the process
  std::vector<int64_t> allowed_batch_sizes;  // ascending, the last is max_batch_size
  bool pad_variable_length_inputs = false;   // accepted: our inputs have no such lengths
  bool enable_large_batch_splitting = true;  // false: larger requests are refused
  int64_t max_execution_batch_size = 0;      // with splitting; 0: max_batch_size
  bool operator==(const BatchingParameters&) const = default;
};
// Throws InvalidArgument, which names the key.
void validate(const BatchingParameters& parameters);

struct ModelConfig {
  std::string name;       // [A-Za-z0-9._-]{1,128}, no dot at the beginning
  std::string base_path;  // a folder of numbered folders, or one model file, which is version 1
  VersionPolicy policy;
  std::map<std::string, int64_t> labels;  // only for versions that are loaded
  std::optional<BatchingParameters> batching;
  bool operator==(const ModelConfig&) const = default;
};

struct ServerConfig {
  std::vector<ModelConfig> models;
  std::optional<BatchingParameters> batching;  // of models without their own
  int workers = 0;                             // threads that compute; 0: the cores of the process
  int64_t max_batch = 32;                      // samples that are computed together
  int64_t max_request_samples = 1024;
  int64_t max_queue_samples = 4096;  // that wait for one model; more are refused
  // The longest that a request may have to wait, by the measured time per sample; 0: any time. More
  // are refused, with or without a deadline of their own.
  double max_queue_sec = 10;
  double poll_interval_sec = 1;     // of the folders; 0: only at the start and at reload()
  double default_deadline_sec = 0;  // of requests without one; 0: none
  Transition transition = Transition::load_first;
  int load_retries = 5;  // after the first attempt
  double load_retry_interval_sec = 60;
  int warmup_runs = 3;  // of every batch size before a version answers
  // Records what the workers do, if there is one; must outlive the server.
  profile::Trace* trace = nullptr;
};
// Throws InvalidArgument, which names the model and the key.
void validate(const ServerConfig& config);

}  // namespace pando::serve
