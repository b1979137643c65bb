#include "pando/data/parallel.h"

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::data {
namespace {

TEST(ForEachItem, EveryItemOnceForAnyNumberOfWorkers) {
  for (const int workers : {1, 2, 5, 50}) {
    std::vector<std::atomic<int>> calls(20);
    for_each_item(calls.size(), workers, [&](size_t item) { ++calls[item]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
  for_each_item(0, 3, [](size_t) { FAIL(); });
}

TEST(ForEachItem, TheLowestFailureComesOut) {
  for (const int workers : {1, 2, 5}) {
    const auto fail_from_7 = [](size_t item) {
      if (item >= 7) throw IoError("item ", item);
    };
    EXPECT_EQ(testing_support::error_of<IoError>([&] { for_each_item(100, workers, fail_from_7); }),
              "item 7");
  }
}

TEST(ForEachItem, NothingIsBegunAfterAFailure) {
  std::atomic<int> begun = 0;
  EXPECT_THROW(for_each_item(1000, 1,
                             [&](size_t) {
                               ++begun;
                               throw IoError("first");
                             }),
               IoError);
  EXPECT_EQ(begun, 1);
}

TEST(ForEachItem, NoWorkerIsAMistake) {
  EXPECT_THROW(for_each_item(1, 0, [](size_t) {}), InternalError);
}

}  // namespace
}  // namespace pando::data
