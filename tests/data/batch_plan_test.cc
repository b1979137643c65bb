#include "pando/data/batch_plan.h"

#include <gtest/gtest.h>

#include "tests/data/counting.h"

namespace pando {
namespace {

BatchPlan plan_of(int64_t size, int64_t batch_size, bool drop_remainder) {
  return {.source = counting(size).source(),
          .batch_size = batch_size,
          .drop_remainder = drop_remainder,
          .epochs = 3};
}

// Advancing many steps at once leads to the same place as one step after the other, from any sample
// on. This allows several workers to share a plan.
TEST(BatchPlan, StepsAddUp) {
  for (const bool drop : {false, true}) {
    for (const int64_t batch_size : {1, 3, 4, 10, 11}) {
      BatchPlan plan = plan_of(10, batch_size, drop);
      if (plan.batches_from(0) == 0) continue;
      for (int64_t start = 0; start <= 10; ++start) {
        plan.origin = {.sample = start};
        StreamState at = plan.after({.sample = start}, 0);
        for (int64_t steps = 0; steps < 20; ++steps) {
          EXPECT_EQ(plan.after({.sample = start}, steps), at);
          EXPECT_EQ(plan.at_end(at), at.epoch >= 3);
          at = plan.after(at, 1);
        }
      }
    }
  }
}

TEST(BatchPlan, StepsOfAShareAddUp) {
  for (const BatchShare share : {BatchShare{3, 0, 1}, {3, 1, 2}, {4, 2, 2}, {8, 5, 1}}) {
    BatchPlan plan = plan_of(50, 3, false);
    plan.share = share;
    plan.origin = {.epoch = 1, .sample = 7};
    StreamState at = plan.after(plan.origin, 0);
    for (int64_t steps = 0; steps < 40; ++steps) {
      EXPECT_EQ(plan.after(plan.origin, steps), at);
      EXPECT_EQ(plan.at_end(at), at.epoch >= 3);
      at = plan.after(at, 1);
    }
  }
}

TEST(BatchPlan, CountsTheBatchesOfAnEpoch) {
  EXPECT_EQ(plan_of(10, 4, false).batches_from(0), 3);
  EXPECT_EQ(plan_of(10, 4, true).batches_from(0), 2);
  EXPECT_EQ(plan_of(10, 4, true).batches_from(5), 1);
  EXPECT_EQ(plan_of(10, 4, false).batches_from(10), 0);
  EXPECT_TRUE(plan_of(3, 4, true).at_end({}));
  EXPECT_TRUE(plan_of(0, 4, false).at_end({}));
}

TEST(BatchFiller, RefusesAPositionWithoutSamples) {
  Batch batch;
  EXPECT_THROW(BatchFiller().fill(plan_of(10, 4, false), {.sample = 10}, batch), InternalError);
}

}  // namespace
}  // namespace pando
