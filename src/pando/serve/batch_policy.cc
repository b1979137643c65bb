// SPDX-License-Identifier: MIT
#include "pando/serve/batch_policy.h"

#include <algorithm>

#include "pando/base/checked.h"

namespace pando::serve {

namespace {

// Real times sometimes exceed the measured ones.
constexpr double kCaution = 1.25;

}  // namespace

QueueLimits limits_of(const ServerConfig& config, const std::optional<BatchingParameters>& batching,
                      int64_t predictor_batch) {
  QueueLimits limits{.max_batch = predictor_batch,
                     .max_queue_samples = config.max_queue_samples,
                     .max_request_samples = config.max_request_samples,
                     .max_wait_sec = config.max_queue_sec};
  if (!batching) return limits;
  int64_t most = batching->max_batch_size;
  if (batching->enable_large_batch_splitting && batching->max_execution_batch_size > 0) {
    most = batching->max_execution_batch_size;
  }
  limits.max_batch = most;
  limits.max_queue_samples = product_of({batching->max_enqueued_batches, batching->max_batch_size})
                                 .value_or(config.max_queue_samples);
  if (!batching->enable_large_batch_splitting) {
    limits.max_request_samples = std::min(limits.max_request_samples, batching->max_batch_size);
  }
  limits.max_running = static_cast<int>(batching->num_batch_threads);
  limits.timeout = std::chrono::microseconds(batching->batch_timeout_micros);
  return limits;
}

Status admit(const QueueLimits& limits, const QueueState& state, int64_t samples,
             std::optional<double> seconds_left) {
  if (samples > limits.max_request_samples) {
    return failure(Code::invalid_argument, "the request has ", samples, " samples, at most ",
                   limits.max_request_samples, " are allowed; send several requests");
  }
  const double wait = state.queued_seconds / std::max(state.workers, 1);
  // A request larger than the queue is accepted when nothing else waits.
  const bool is_full =
      state.queued_samples > 0 && state.queued_samples + samples > limits.max_queue_samples;
  const bool is_long = limits.max_wait_sec > 0 && wait > limits.max_wait_sec;
  if (is_full || is_long) {
    Status full = failure(Code::resource_exhausted,
                          "The batch scheduling queue to which this task was submitted is full");
    full.retry_after_sec = wait;
    return full;
  }
  if (!seconds_left) return {};
  if (*seconds_left <= 0) {
    return failure(Code::deadline_exceeded, "the deadline passed before the request was accepted");
  }
  // One worker computes a single sample. All workers share the samples of a large request.
  const double own = state.seconds_per_sample *
                     std::max(1.0, static_cast<double>(samples) / std::max(state.workers, 1));
  if (kCaution * (wait + own) <= *seconds_left) return {};
  Status busy = failure(Code::resource_exhausted,
                        "the server is too busy to answer before the deadline; try again later");
  busy.retry_after_sec = wait;
  return busy;
}

int64_t share_to_take(int64_t queued_samples, int idle_workers, int64_t max_batch) {
  const int64_t workers = std::max(idle_workers, 1);
  return std::clamp<int64_t>((queued_samples + workers - 1) / workers, 1, max_batch);
}

bool is_due(const QueueLimits& limits, int64_t queued_samples, Clock::duration oldest_waited) {
  return !limits.waits() || queued_samples >= limits.max_batch || oldest_waited >= limits.timeout;
}

bool is_late(Clock::time_point deadline, Clock::time_point now, double seconds_to_compute) {
  if (deadline == Clock::time_point::max()) return false;
  return now + std::chrono::duration<double>(kCaution * seconds_to_compute) > deadline;
}

}  // namespace pando::serve
