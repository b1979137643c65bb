#include "pando/data/prefetcher.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/data/counting.h"

namespace {

std::atomic<int64_t> allocations = 0;

}  // namespace

// Counts the allocations of this program, to show that the steady state has none. Not inlined,
// because the compiler would then see free() called on memory from new.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace pando {
namespace {

using Labels = std::vector<int32_t>;

Dataset shuffled_one_hot() {
  return one_hot(counting(50).shuffle({.seed = 2}), 50).map_in_place([](const SampleView& sample) {
    sample.f32(0)[0] += static_cast<float>(sample.epoch());
  });
}

std::vector<Batch> all_batches(BatchStream stream) {
  std::vector<Batch> batches;
  while (auto batch = stream.next()) batches.push_back(std::move(*batch));
  return batches;
}

TEST(Prefetch, SameBytesForAnyNumberOfWorkers) {
  const std::vector<Batch> expected = all_batches(shuffled_one_hot().batch(8).repeat(3));
  ASSERT_EQ(expected.size(), 21u);
  for (const int workers : {1, 2, 3, 5}) {
    for (const int depth : {1, 2, 7}) {
      const std::vector<Batch> found =
          all_batches(shuffled_one_hot().batch(8).repeat(3).prefetch(depth, {.workers = workers}));
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].valid, expected[i].valid);
        EXPECT_EQ(found[i].epoch, expected[i].epoch);
        EXPECT_EQ(found[i].first_sample, expected[i].first_sample);
        for (size_t f = 0; f < 2; ++f) {
          const Tensor& a = found[i].fields[f];
          const Tensor& b = expected[i].fields[f];
          ASSERT_EQ(a.shape(), b.shape());
          EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0);
        }
      }
    }
  }
}

TEST(Prefetch, MoreWorkersThanBatches) {
  auto stream = counting(5).batch(4).prefetch(1, {.workers = 6});
  EXPECT_EQ(rest_of(stream), up_to(5));
  EXPECT_FALSE(stream.next());
}

TEST(Prefetch, GoesOnFromASavedPosition) {
  const Dataset set = counting(10).shuffle({.seed = 4});
  auto stream = set.batch(4).repeat(2).prefetch(3, {.workers = 2});
  stream.next();
  const StreamState saved = stream.state();
  EXPECT_EQ(saved, (StreamState{.epoch = 0, .sample = 4}));
  const Labels rest = rest_of(stream);
  stream.restore(saved);
  EXPECT_EQ(rest_of(stream), rest);
}

TEST(Prefetch, AWorkersExceptionComesAtItsBatch) {
  for (const int workers : {1, 3}) {
    auto failing = std::make_shared<std::atomic<bool>>(true);
    const Dataset set = counting(20).map_in_place([failing](const SampleView& sample) {
      if (sample.index() == 9 && *failing) throw IoError("sample 9 is unreadable");
    });
    auto stream = set.batch(2).prefetch(4, {.workers = workers});
    for (int i = 0; i < 4; ++i) EXPECT_EQ(labels(*stream.next())[0], 2 * i);
    EXPECT_THROW(stream.next(), IoError);
    EXPECT_THROW(stream.next(), IoError);
    *failing = false;
    EXPECT_EQ(labels(*stream.next()), (Labels{8, 9}));
    EXPECT_EQ(rest_of(stream).size(), 10u);
  }
}

TEST(Prefetch, StopsWhileWorkersRun) {
  for (const int taken : {0, 1, 3}) {
    auto stream = counting(1000).batch(2).repeat().prefetch(2, {.workers = 3});
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(stream.next());
  }
  data::Prefetcher never_asked({.source = counting(10).source(), .batch_size = 2}, {},
                               {.depth = 1, .workers = 2});
}

TEST(Prefetch, StreamsCanBeMovedAndReplacedWhileRunning) {
  auto stream = counting(100).batch(2).prefetch(2);
  EXPECT_EQ(labels(*stream.next()), (Labels{0, 1}));
  BatchStream moved = std::move(stream);
  EXPECT_EQ(labels(*moved.next()), (Labels{2, 3}));
  moved = counting(3).batch(3).prefetch(1);
  EXPECT_EQ(rest_of(moved), up_to(3));
}

TEST(Prefetch, WorksAheadWithoutBeingAsked) {
  auto gathered = std::make_shared<std::atomic<int>>(0);
  const Dataset set = counting(100).map_in_place([gathered](const SampleView&) { ++*gathered; });
  auto stream = set.batch(1).prefetch(3);
  stream.next();
  // One batch taken, three queued, one in work: the prefetcher gets that far by itself and no
  // further.
  while (*gathered < 5) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(*gathered, 5);
}

TEST(Prefetch, DepthZeroGathersInTheCallingThread) {
  const std::thread::id caller = std::this_thread::get_id();
  const Dataset set = counting(4).map_in_place(
      [caller](const SampleView&) { EXPECT_EQ(std::this_thread::get_id(), caller); });
  auto stream = set.batch(2).prefetch(0);
  EXPECT_EQ(rest_of(stream), up_to(4));
}

// The number of allocations for `steps` batches after a warm-up, and the number of different
// buffers.
struct Use {
  int64_t allocations = 0;
  size_t buffers = 0;
};

Use use_of(BatchStream stream, int steps) {
  Batch batch;
  std::set<const std::byte*> buffers;
  for (int i = 0; i < 200; ++i) {
    stream.next(batch);
    buffers.insert(batch.x().data());
  }
  const int64_t before = allocations;
  for (int i = 0; i < steps; ++i) stream.next(batch);
  return {allocations - before, buffers.size()};
}

TEST(Prefetch, SteadyStateAllocatesNothing) {
  // Uses one order for all epochs: a new order is allocated per epoch, not per batch.
  const Dataset set =
      one_hot(counting(50).shuffle({.seed = 2, .each_epoch = false}).shard(2, 1), 50)
          .map_in_place([](const SampleView& sample) { sample.f32(0)[0] += 1; })
          .repeat();
  const Use direct = use_of(set.batch(8), 100);
  EXPECT_EQ(direct.allocations, 0);
  EXPECT_EQ(direct.buffers, 1u);
  // Two are queued, one is in work, one is with the caller, and a spare one may be on its way.
  const Use ahead = use_of(set.batch(8).prefetch(2), 100);
  EXPECT_LE(ahead.buffers, 5u);
}

}  // namespace
}  // namespace pando
