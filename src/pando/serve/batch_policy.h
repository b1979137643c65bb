// How requests become batches, and which requests are refused: functions of their arguments,
// without threads and clocks.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "pando/serve/config.h"
#include "pando/serve/infer.h"
#include "pando/serve/status.h"

namespace pando::serve {

// The limits of the queue of one model.
struct QueueLimits {
  int64_t max_batch = 32;            // samples that are computed together
  int64_t max_queue_samples = 4096;  // that may wait
  int64_t max_request_samples = 1024;
  double max_wait_sec = 0;               // 0: any time
  int max_running = 0;                   // batches at the same time; 0: one per worker
  std::chrono::microseconds timeout{0};  // that a batch waits to become full
  bool waits() const { return timeout.count() > 0; }
};

// Work-conserving limits, or those of TensorFlow Serving's keys if they are given.
// `predictor_batch` is what a predictor computes at once.
QueueLimits limits_of(const ServerConfig& config, const std::optional<BatchingParameters>& batching,
                      int64_t predictor_batch);

// The state of the queue when a request arrives.
struct QueueState {
  int64_t queued_samples = 0;     // of its model
  double queued_seconds = 0;      // of computing, for all models, on one worker
  double seconds_per_sample = 0;  // for its model; 0: not known yet
  int workers = 1;
};

// Why a request is refused; ok: it is accepted.
Status admit(const QueueLimits& limits, const QueueState& state, int64_t samples,
             std::optional<double> seconds_left);

// How many of the queued samples a worker takes: its share, if others are idle too, up to the
// largest batch.
int64_t share_to_take(int64_t queued_samples, int idle_workers, int64_t max_batch);

// Whether a batch is taken now, or waits for more samples until its oldest request has waited for
// the timeout.
bool is_due(const QueueLimits& limits, int64_t queued_samples, Clock::duration oldest_waited);

// Whether a request cannot be answered in time any more.
bool is_late(Clock::time_point deadline, Clock::time_point now, double seconds_to_compute);

}  // namespace pando::serve
