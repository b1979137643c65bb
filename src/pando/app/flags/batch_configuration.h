// How a global batch is divided over replicas and gradient accumulation, and how many weight
// updates an epoch has.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pando::app {

struct BatchRequest {
  int64_t micro_batch_size = 1;  // samples per step of one replica
  int64_t num_replicas = 1;
  // At most one of the two; with neither the count is 1.
  std::optional<int64_t> gradient_accumulation_count;
  std::optional<int64_t> global_batch_size;
};

// global_batch_size = micro_batch_size * replicas * gradient_accumulation_count.
struct BatchConfiguration {
  int64_t micro_batch_size = 1;
  int64_t replicas = 1;
  int64_t gradient_accumulation_count = 1;
  int64_t global_batch_size = 1;
  std::optional<std::string> warning;  // the global batch size is not the one asked for
};

// A global batch size that is no multiple of what all replicas process in one step gives the
// nearest accumulation count (a half goes to the even one, never below 1) and a warning.
// Throws UsageError that names the flags.
BatchConfiguration make_batch_configuration(const BatchRequest& request);

// --weight-updates-per-epoch: the value -1 stands for the whole global batches in the data set.
// Throws UsageError for other values below 1 and for a data set smaller than one global batch.
// Requires: dataset_size >= 0, global_batch_size >= 1.
int64_t updates_per_epoch(int64_t dataset_size, int64_t global_batch_size, int64_t wanted);

}  // namespace pando::app
