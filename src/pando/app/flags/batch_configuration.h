// Divides a global batch into micro-batches, replicas and gradient accumulation, and counts the
// weight updates of an epoch.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pando::app {

struct BatchRequest {
  int64_t micro_batch_size = 1;  // samples per step of one replica
  int64_t num_replicas = 1;
  // At most one of the two may be given; without both, the count is 1.
  std::optional<int64_t> gradient_accumulation_count;
  std::optional<int64_t> global_batch_size;
};

// global_batch_size = micro_batch_size * replicas * gradient_accumulation_count.
struct BatchConfiguration {
  int64_t micro_batch_size = 1;
  int64_t replicas = 1;
  int64_t gradient_accumulation_count = 1;
  int64_t global_batch_size = 1;
  std::optional<std::string> warning;  // set if the requested global batch size was rounded
};

// If the global batch size is not a multiple of the samples that all replicas process in one step,
// takes the nearest accumulation count (halves round to even, at least 1) and sets the warning.
// Throws UsageError that names the flags.
BatchConfiguration make_batch_configuration(const BatchRequest& request);

// The value of --weight-updates-per-epoch, where -1 stands for the number of whole global batches
// in the data set.
// Throws UsageError for other values below 1 and for a data set smaller than one global batch.
// Requires: dataset_size >= 0, global_batch_size >= 1.
int64_t updates_per_epoch(int64_t dataset_size, int64_t global_batch_size, int64_t wanted);

}  // namespace pando::app
