// A separate program, because it replaces malloc: shows that a call of a predictor allocates
// nothing and starts no thread.
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include <gtest/gtest.h>

#include "pando/train/predictor.h"
#include "tests/train/train_support.h"

namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0;

void count_one() {
  if (counting.load(std::memory_order_relaxed)) ++allocations;
}

}  // namespace

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are glibc's
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(size_t size) {
  count_one();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {  // new threads get theirs here
  count_one();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  count_one();
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  count_one();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  count_one();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  count_one();
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}

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
