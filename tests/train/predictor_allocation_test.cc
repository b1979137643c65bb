// A separate program, because it replaces malloc: shows that a call of a predictor allocates
// nothing and starts no thread.
#include <atomic>
#include <cstdlib>

#include <gtest/gtest.h>

#include "pando/train/predictor.h"
#include "tests/train/train_support.h"

namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0;

bool count_one() {
  if (counting.load(std::memory_order_relaxed)) ++allocations;
  return true;
}

}  // namespace

#include "tests/support/replaced_malloc.h"

namespace pando {
namespace {

TEST(PredictorAllocation, CallsAllocateNothing) {
  const Predictor predictor(Model(rich_cnn()),
                            {.max_batch = 4, .workers = 2, .always_in_parts = true});
  const Tensor x = random_tensor({7, 6, 6, 1}, 1);
  Tensor y(DType::f32, {7, 3});
  const std::byte* from = x.data();
  std::byte* to = y.data();
  for (const PredictorMode mode : {PredictorMode::throughput, PredictorMode::latency}) {
    const auto run = [&](int64_t samples) {
      predictor.run({.inputs = {&from, 1}, .outputs = {&to, 1}, .samples = samples}, mode);
    };
    run(7);
    allocations = 0;
    counting = true;
    for (int64_t samples = 1; samples <= 7; ++samples) run(samples);
    counting = false;
    EXPECT_EQ(allocations, 0);
  }
}

TEST(PredictorAllocation, TheCounterCounts) {
  allocations = 0;
  counting = true;
  const Tensor some(DType::f32, {100});
  counting = false;
  EXPECT_GT(allocations, 0);
}

}  // namespace
}  // namespace pando
