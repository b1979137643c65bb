#include "pando/runtime/infeed.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::runtime {
namespace {

using testing_support::error_of;

// Numbers its batches; counts its calls and records whether two threads ever called it at once.
struct CountedBatches {
  std::atomic<int> calls{0};
  std::atomic<int> inside{0};
  std::atomic<bool> crowded{false};
  int64_t end = 1'000'000;
  int64_t next = 0;

  BatchSource source() {
    return [this](Batch& batch) {
      ++calls;
      if (++inside > 1) crowded = true;
      const bool there = next < end;
      if (there) batch.first_sample = next++;
      --inside;
      return there;
    };
  }
  void wait_for_calls(int count) const {
    while (calls < count) std::this_thread::yield();
  }
};

TEST(InfeedQueue, ElementsComeInOrder) {
  CountedBatches numbers;
  InfeedQueue queue(numbers.source(), 3);
  for (int64_t number = 0; number < 10; ++number) {
    EXPECT_EQ(queue.position(), number);
    const Batch* batch = queue.take(number);
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch->first_sample, number);
    queue.give_back(number);
  }
  EXPECT_EQ(numbers.calls, 10);
}

TEST(InfeedQueue, AnElementStaysAsItIsUntilGivenBack) {
  CountedBatches numbers;
  InfeedQueue queue(numbers.source(), 1);
  std::vector<const Batch*> held;
  for (int64_t number = 0; number < 5; ++number) held.push_back(queue.take(number));
  for (int64_t number = 0; number < 5; ++number) {
    EXPECT_EQ(held[static_cast<size_t>(number)]->first_sample, number);
  }
  // Memory that was given back is used again.
  queue.give_back(2);
  EXPECT_EQ(queue.take(5), held[2]);
  EXPECT_EQ(held[2]->first_sample, 5);
}

TEST(InfeedQueue, NoMoreThanTheCapacityWaits) {
  CountedBatches numbers;
  InfeedQueue queue(numbers.source(), 2);
  std::thread taker([&] { EXPECT_EQ(queue.take(4)->first_sample, 4); });
  numbers.wait_for_calls(2);
  // Without the bound, the thread would continue to its own element meanwhile.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(numbers.calls, 2);
  EXPECT_EQ(queue.take(0)->first_sample, 0);
  numbers.wait_for_calls(3);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(numbers.calls, 3);
  for (const int64_t number : {1, 2, 3}) EXPECT_EQ(queue.take(number)->first_sample, number);
  taker.join();
  EXPECT_EQ(queue.position(), 5);
}

TEST(InfeedQueue, ACapacityBelowOneIsOne) {
  CountedBatches numbers;
  InfeedQueue queue(numbers.source(), 0);
  EXPECT_EQ(queue.take(0)->first_sample, 0);
  EXPECT_EQ(queue.take(1)->first_sample, 1);
}

TEST(InfeedQueue, SeveralTakersEachGetTheirOwn) {
  constexpr int64_t kTakers = 3;
  constexpr int64_t kEach = 200;
  for (const int capacity : {1, 2, 7}) {
    CountedBatches numbers;
    InfeedQueue queue(numbers.source(), capacity);
    std::atomic<int> wrong{0};
    std::vector<std::thread> takers;
    for (int64_t taker = 0; taker < kTakers; ++taker) {
      takers.emplace_back([&, taker] {
        for (int64_t i = 0; i < kEach; ++i) {
          const int64_t number = i * kTakers + taker;
          if (queue.take(number)->first_sample != number) ++wrong;
          queue.give_back(number);
        }
      });
    }
    for (std::thread& taker : takers) taker.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(numbers.calls, kTakers * kEach);
    EXPECT_FALSE(numbers.crowded);
    EXPECT_EQ(queue.position(), kTakers * kEach);
  }
}

// The waits of the other takers end, and the source is not called again before reopen().
TEST(InfeedQueue, AnExceptionReachesOneTakerAndClosesTheQueue) {
  CountedBatches numbers;
  std::atomic<int> calls{0};
  const BatchSource good = numbers.source();
  InfeedQueue queue(
      [&](Batch& batch) {
        if (++calls == 1) throw IoError("the disk is gone");
        return good(batch);
      },
      2);
  std::atomic<int> caught{0};
  std::atomic<int> let_go{0};
  std::vector<std::thread> takers;
  for (const int64_t number : {0, 1}) {
    takers.emplace_back([&, number] {
      try {
        if (queue.take(number) == nullptr) ++let_go;
      } catch (const IoError&) {
        ++caught;
      }
    });
  }
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(caught, 1);
  EXPECT_EQ(let_go, 1);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(queue.take(0), nullptr);
  queue.reopen();
  EXPECT_EQ(queue.take(0)->first_sample, 0);
}

TEST(InfeedQueue, TheEndOfTheDataIsAnError) {
  CountedBatches numbers{.end = 2};
  InfeedQueue queue(numbers.source(), 4);
  EXPECT_EQ(queue.take(0)->first_sample, 0);
  EXPECT_EQ(queue.take(1)->first_sample, 1);
  EXPECT_SAYS(error_of([&] { queue.take(2); }), "the data ended after 2 micro-batches");
  numbers.end = 3;
  queue.reopen();
  EXPECT_EQ(queue.take(2)->first_sample, 2);
}

TEST(InfeedQueue, AnElementIsTakenOnce) {
  CountedBatches numbers;
  InfeedQueue queue(numbers.source(), 1);
  queue.take(0);
  queue.give_back(0);
  EXPECT_SAYS(error_of<InternalError>([&] { queue.take(0); }), "element 0 is gone");
}

TEST(InfeedQueue, ClosingLetsAWaitingTakerGo) {
  CountedBatches numbers;
  InfeedQueue queue(numbers.source(), 1);
  // Element 0 fills the queue, and no thread takes it or element 1.
  std::thread taker([&] { EXPECT_EQ(queue.take(2), nullptr); });
  numbers.wait_for_calls(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  queue.close();
  taker.join();
  EXPECT_EQ(queue.take(0), nullptr);
  // Ready elements are discarded, and the source continues.
  queue.reopen();
  const int64_t position = queue.position();
  EXPECT_EQ(position, numbers.next);
  EXPECT_EQ(queue.take(position)->first_sample, position);
}

TEST(InfeedQueue, ReopeningWhatIsOpenForgetsNothing) {
  CountedBatches numbers;
  InfeedQueue queue(numbers.source(), 3);
  std::thread early([&] { EXPECT_EQ(queue.take(2)->first_sample, 2); });
  early.join();
  queue.reopen();
  EXPECT_EQ(queue.take(0)->first_sample, 0);
  EXPECT_EQ(queue.take(1)->first_sample, 1);
}

}  // namespace
}  // namespace pando::runtime
