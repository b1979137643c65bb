// SPDX-License-Identifier: MIT
#include "pando/serve/config.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "pando/base/error.h"

namespace pando::serve {

namespace {

// Far below what would overflow when samples, bytes or microseconds are multiplied.
constexpr int64_t kMostSamples = 1 << 20;
constexpr int64_t kMostMicros = int64_t{3'600} * 1'000'000;

void check_range(const char* key, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  throw InvalidArgument(key, ": expected ", least, " to ", most, ", got ", value);
}

void check_seconds(const char* key, double value) {
  if (value >= 0 && value <= 1e9) return;
  throw InvalidArgument(key, ": expected a number of seconds from 0, got ", value);
}

bool is_model_name(const std::string& name) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 128 && name[0] != '.' && std::ranges::all_of(name, fits);
}

void check_policy(const VersionPolicy& policy) {
  if (policy.kind == VersionPolicy::Kind::latest) {
    check_range("num_versions", policy.num_versions, 1, kMostSamples);
  }
  if (policy.kind != VersionPolicy::Kind::specific) return;
  if (policy.versions.empty()) {
    throw InvalidArgument("versions: empty, expected the versions of the policy 'specific'");
  }
  for (const int64_t version : policy.versions) {
    if (version < 0) throw InvalidArgument("versions: expected numbers from 0, got ", version);
  }
}

void check_model(const ModelConfig& model) {
  if (!is_model_name(model.name)) {
    throw InvalidArgument(
        "name: expected 1 to 128 letters, digits, '.', '_' and '-', and no '.' at the beginning");
  }
  if (model.base_path.empty()) {
    throw InvalidArgument("base_path: empty, expected a folder with numbered folders");
  }
  check_policy(model.policy);
  for (const auto& [label, version] : model.labels) {
    const bool fits = !label.empty() && label.find_first_of("/:") == std::string::npos;
    if (!fits)
      throw InvalidArgument("labels: expected names without '/' and ':', got '", label, "'");
    if (version < 0)
      throw InvalidArgument("labels: ", label, ": expected a version, got ", version);
  }
  if (model.batching) validate(*model.batching);
}

}  // namespace

void validate(const BatchingParameters& parameters) {
  check_range("max_batch_size", parameters.max_batch_size, 1, kMostSamples);
  check_range("batch_timeout_micros", parameters.batch_timeout_micros, 0, kMostMicros);
  check_range("max_enqueued_batches", parameters.max_enqueued_batches, 1, kMostSamples);
  check_range("num_batch_threads", parameters.num_batch_threads, 0, 1024);
  check_range("max_execution_batch_size", parameters.max_execution_batch_size, 0,
              parameters.max_batch_size);
  const std::vector<int64_t>& sizes = parameters.allowed_batch_sizes;
  if (sizes.empty()) return;
  const bool ascends = std::ranges::adjacent_find(sizes, std::greater_equal<>()) == sizes.end();
  if (!ascends || sizes[0] < 1) {
    throw InvalidArgument("allowed_batch_sizes: expected ascending numbers from 1");
  }
  const bool splits =
      parameters.enable_large_batch_splitting && parameters.max_execution_batch_size > 0;
  const int64_t last = splits ? parameters.max_execution_batch_size : parameters.max_batch_size;
  if (sizes.back() != last) {
    throw InvalidArgument("allowed_batch_sizes: expected ",
                          splits ? "max_execution_batch_size " : "max_batch_size ", last,
                          " as the last one, got ", sizes.back());
  }
}

void validate(const ServerConfig& config) {
  std::set<std::string> names;
  for (const ModelConfig& model : config.models) {
    try {
      check_model(model);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument("model '", model.name, "': ", error.what());
    }
    if (!names.insert(model.name).second) {
      throw InvalidArgument("model '", model.name, "': there are two models of this name");
    }
  }
  if (config.batching) validate(*config.batching);
  check_range("workers", config.workers, 0, 1024);
  check_range("max_batch", config.max_batch, 1, kMostSamples);
  check_range("max_request_samples", config.max_request_samples, 1, kMostSamples);
  check_range("max_queue_samples", config.max_queue_samples, 1, kMostSamples);
  check_range("load_retries", config.load_retries, 0, 1'000'000);
  check_range("warmup_runs", config.warmup_runs, 0, 1000);
  check_seconds("max_queue_sec", config.max_queue_sec);
  check_seconds("poll_interval_sec", config.poll_interval_sec);
  check_seconds("default_deadline_sec", config.default_deadline_sec);
  check_seconds("load_retry_interval_sec", config.load_retry_interval_sec);
}

}  // namespace pando::serve
