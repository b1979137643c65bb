#include "pando/serve/batch_policy.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::serve {
namespace {

using std::chrono::microseconds;

TEST(BatchPolicy, LimitsAreWorkConservingUnlessAskedForOthers) {
  const ServerConfig config{.max_request_samples = 100, .max_queue_samples = 50};
  const QueueLimits own = limits_of(config, std::nullopt, 16);
  EXPECT_EQ(own.max_batch, 16);
  EXPECT_EQ(own.max_queue_samples, 50);
  EXPECT_EQ(own.max_running, 0);
  EXPECT_FALSE(own.waits());
  const QueueLimits serving = limits_of(config,
                                        BatchingParameters{.max_batch_size = 8,
                                                           .batch_timeout_micros = 500,
                                                           .max_enqueued_batches = 3,
                                                           .num_batch_threads = 4,
                                                           .enable_large_batch_splitting = false},
                                        16);
  EXPECT_EQ(serving.max_batch, 8);
  EXPECT_EQ(serving.max_queue_samples, 24);
  EXPECT_EQ(serving.max_request_samples, 8);
  EXPECT_EQ(serving.max_running, 4);
  EXPECT_EQ(serving.timeout, microseconds(500));
  EXPECT_EQ(
      limits_of(config, BatchingParameters{.max_batch_size = 8, .max_execution_batch_size = 4}, 16)
          .max_batch,
      4);
}

TEST(BatchPolicy, AFullQueueRefuses) {
  const QueueLimits limits{.max_queue_samples = 10, .max_request_samples = 100};
  EXPECT_TRUE(admit(limits, {.queued_samples = 5}, 5, std::nullopt).ok());
  const Status full =
      admit(limits, {.queued_samples = 6, .queued_seconds = 3, .workers = 2}, 5, std::nullopt);
  EXPECT_EQ(full.code, Code::resource_exhausted);
  EXPECT_SAYS(full.message, "queue", "full");
  EXPECT_DOUBLE_EQ(full.retry_after_sec, 1.5);
  EXPECT_TRUE(admit(limits, {}, 50, std::nullopt).ok());  // nothing else waits
}

TEST(BatchPolicy, NobodyWaitsForeverEvenWithoutADeadline) {
  const QueueLimits limits{.max_wait_sec = 2};
  const QueueState state{.queued_samples = 10, .queued_seconds = 3, .workers = 1};
  EXPECT_EQ(admit(limits, state, 1, std::nullopt).code, Code::resource_exhausted);
  EXPECT_TRUE(admit(limits, {.queued_seconds = 3, .workers = 2}, 1, std::nullopt).ok());
  EXPECT_TRUE(admit({}, state, 1, std::nullopt).ok());
  EXPECT_EQ(limits_of({.max_queue_sec = 7}, std::nullopt, 1).max_wait_sec, 7);
}

TEST(BatchPolicy, RequestsHaveALargestSize) {
  const Status status = admit({.max_request_samples = 4}, {}, 5, std::nullopt);
  EXPECT_EQ(status.code, Code::invalid_argument);
  EXPECT_SAYS(status.message, "5 samples", "at most 4");
}

TEST(BatchPolicy, WhatCannotBeInTimeIsRefused) {
  const QueueLimits limits;
  const QueueState state{
      .queued_samples = 10, .queued_seconds = 1, .seconds_per_sample = 0.1, .workers = 2};
  EXPECT_TRUE(admit(limits, state, 1, 0.8).ok());
  const Status busy = admit(limits, state, 1, 0.63);
  EXPECT_EQ(busy.code, Code::resource_exhausted);
  EXPECT_DOUBLE_EQ(busy.retry_after_sec, 0.5);
  // Eight samples on two workers take as long as four on one.
  EXPECT_TRUE(admit(limits, state, 8, 1.2).ok());
  EXPECT_FALSE(admit(limits, state, 8, 1.0).ok());
  EXPECT_EQ(admit(limits, state, 1, 0.0).code, Code::deadline_exceeded);
  EXPECT_TRUE(admit(limits, {}, 1, 0.001).ok());  // nothing is known yet
}

TEST(BatchPolicy, IdleWorkersShareWhatWaits) {
  EXPECT_EQ(share_to_take(32, 2, 32), 16);
  EXPECT_EQ(share_to_take(32, 1, 8), 8);
  EXPECT_EQ(share_to_take(3, 2, 32), 2);
  EXPECT_EQ(share_to_take(1, 4, 32), 1);
  EXPECT_EQ(share_to_take(5, 0, 32), 5);
}

TEST(BatchPolicy, BatchesWaitOnlyIfAskedTo) {
  EXPECT_TRUE(is_due({}, 1, microseconds(0)));
  const QueueLimits limits{.max_batch = 4, .timeout = microseconds(100)};
  EXPECT_FALSE(is_due(limits, 3, microseconds(99)));
  EXPECT_TRUE(is_due(limits, 4, microseconds(0)));
  EXPECT_TRUE(is_due(limits, 1, microseconds(100)));
}

TEST(BatchPolicy, RequestsAreLateWhenTheirAnswerWouldBe) {
  const Clock::time_point now = Clock::now();
  EXPECT_FALSE(is_late(Clock::time_point::max(), now, 1e9));
  EXPECT_FALSE(is_late(now + std::chrono::seconds(2), now, 1));
  EXPECT_TRUE(is_late(now + std::chrono::seconds(1), now, 2));
  EXPECT_TRUE(is_late(now - std::chrono::seconds(1), now, 0));
}

}  // namespace
}  // namespace pando::serve
