#include "pando/base/bounded_queue.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace pando {
namespace {

TEST(BoundedQueue, IsFirstInFirstOutAcrossTheEndOfTheRing) {
  BoundedQueue<int> queue(3);
  int next_out = 0;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(queue.push(2 * i));
    EXPECT_TRUE(queue.push(2 * i + 1));
    EXPECT_EQ(queue.pop(), next_out++);
    EXPECT_EQ(queue.pop(), next_out++);
  }
  EXPECT_EQ(queue.size(), 0u);
}

TEST(BoundedQueue, RefusesNoCapacity) { EXPECT_THROW(BoundedQueue<int>(0), InvalidArgument); }

TEST(BoundedQueue, TryPushLeavesTheValueWhenFull) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  EXPECT_FALSE(queue.try_pop());
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(1)));
  auto kept = std::make_unique<int>(2);
  EXPECT_FALSE(queue.try_push(std::move(kept)));
  EXPECT_EQ(*kept, 2);
  EXPECT_EQ(**queue.try_pop(), 1);
}

TEST(BoundedQueue, HandsOutWhatItHoldsAfterClose) {
  BoundedQueue<int> queue(2);
  queue.push(7);
  queue.close();
  EXPECT_TRUE(queue.closed());
  EXPECT_FALSE(queue.push(8));
  EXPECT_FALSE(queue.try_push(8));
  EXPECT_EQ(queue.pop(), 7);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, CarriesTheFirstExceptionBehindTheElements) {
  BoundedQueue<int> queue(2);
  queue.push(7);
  queue.fail(std::make_exception_ptr(IoError("first")));
  queue.fail(std::make_exception_ptr(InvalidArgument("second")));
  EXPECT_EQ(queue.pop(), 7);
  EXPECT_THROW(queue.pop(), IoError);
  EXPECT_THROW(queue.pop(), IoError);
  EXPECT_EQ(queue.try_pop(), std::nullopt);
}

TEST(BoundedQueue, CloseWakesProducersAndConsumers) {
  BoundedQueue<int> full(1);
  full.push(1);
  BoundedQueue<int> empty(1);
  bool pushed = true;
  std::optional<int> popped = 5;
  {
    const std::jthread producer([&] { pushed = full.push(2); });
    const std::jthread consumer([&] { popped = empty.pop(); });
    full.close();
    empty.close();
  }
  EXPECT_FALSE(pushed);
  EXPECT_EQ(popped, std::nullopt);
}

TEST(BoundedQueue, ManyProducersAndConsumersLoseNothing) {
  constexpr int kThreads = 3;
  constexpr int kEach = 500;
  BoundedQueue<int> queue(4);
  std::atomic<int64_t> sum = 0;
  std::atomic<int> count = 0;
  {
    std::vector<std::jthread> consumers;
    for (int t = 0; t < kThreads; ++t) {
      consumers.emplace_back([&] {
        while (const auto value = queue.pop()) {
          sum += *value;
          ++count;
        }
      });
    }
    {
      std::vector<std::jthread> producers;
      for (int t = 0; t < kThreads; ++t) {
        producers.emplace_back([&queue, t] {
          for (int i = 0; i < kEach; ++i) queue.push(t * kEach + i);
        });
      }
    }
    queue.close();
  }
  constexpr int64_t kTotal = kThreads * kEach;
  EXPECT_EQ(count, kTotal);
  EXPECT_EQ(sum, kTotal * (kTotal - 1) / 2);
}

}  // namespace
}  // namespace pando
