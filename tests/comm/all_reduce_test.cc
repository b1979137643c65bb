// SPDX-License-Identifier: MIT
#include "pando/comm/all_reduce.h"

#include <cmath>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pando/comm/collectives.h"
#include "tests/support/thread_instances.h"

namespace pando::comm {
namespace {

using testing_support::on_instances;

// Numbers whose sum depends on the order of adding.
float number_of(int instance, size_t at, int round) {
  return std::sin(static_cast<float>(at) * 0.37f + static_cast<float>(7 * instance + round)) *
         std::pow(10.0f, static_cast<float>((instance + static_cast<int>(at)) % 5));
}

void run(AllReduce& sum) {
  sum.start();
  while (!sum.advance()) std::this_thread::yield();
}

class AllReduceSizes : public ::testing::TestWithParam<std::tuple<int, size_t>> {};

TEST_P(AllReduceSizes, AddsInTheOrderOfTheInstances) {
  const auto [instances, count] = GetParam();
  const size_t numbers = count;
  on_instances(instances, [numbers](Communicator& self) {
    std::vector<float> values(numbers);
    AllReduce sum(self, values, {.tag = 4});
    for (int round = 0; round < 3; ++round) {
      for (size_t i = 0; i < numbers; ++i) values[i] = number_of(self.rank(), i, round);
      run(sum);
      for (size_t i = 0; i < numbers; ++i) {
        float expected = number_of(0, i, round);
        for (int other = 1; other < self.size(); ++other) expected += number_of(other, i, round);
        ASSERT_EQ(values[i], expected) << "instance " << self.rank() << ", number " << i;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, AllReduceSizes,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4),
                                            ::testing::Values(0, 1, 3, 1000, 40001)));

TEST(AllReduce, SumsOfHalvesAreTheSameBitsEverywhere) {
  for (const size_t count : {size_t{100}, size_t{50000}}) {
    std::mutex mutex;
    std::vector<std::vector<float>> results;
    on_instances(3, [&](Communicator& self) {
      std::vector<float> values(count);
      for (size_t i = 0; i < count; ++i) values[i] = number_of(self.rank(), i, 0);
      AllReduce sum(self, values, {.tag = 0, .wire = WireFormat::f16});
      run(sum);
      const std::lock_guard lock(mutex);
      results.push_back(values);
    });
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
    for (size_t i = 0; i < count; ++i) {
      const double exact = static_cast<double>(number_of(0, i, 0)) +
                           static_cast<double>(number_of(1, i, 0)) +
                           static_cast<double>(number_of(2, i, 0));
      EXPECT_NEAR(results[0][i], exact, 30) << i;  // 10,000 / 2048 for each of them, and the sum
    }
  }
}

// Runs with every number of instances, also with instances that are processes.
TEST_P(AllReduceSizes, RepetitionsAgreeOnEveryInstance) {
  const auto [instances, count] = GetParam();
  const size_t numbers = count;
  on_instances(instances, [numbers](Communicator& self) {
    for (const WireFormat wire : {WireFormat::f32, WireFormat::f16}) {
      std::vector<std::string> results;
      std::vector<float> values(numbers);
      AllReduce sum(self, values, {.tag = 8, .wire = wire});
      for (int round = 0; round < 3; ++round) {
        for (size_t i = 0; i < numbers; ++i) values[i] = number_of(self.rank(), i, 0);
        run(sum);
        results.emplace_back(reinterpret_cast<const char*>(values.data()), numbers * sizeof(float));
      }
      EXPECT_EQ(results[0], results[1]);
      EXPECT_EQ(results[0], results[2]);
      for (const std::string& other : all_gather(self, results[0])) EXPECT_EQ(other, results[0]);
    }
  });
}

TEST(AllReduce, SeveralAreUnderWayAtOnce) {
  on_instances(2, [](Communicator& self) {
    std::vector<float> small(10, 1);
    std::vector<float> large(100000, static_cast<float>(self.rank()));
    AllReduce first(self, small, {.tag = 0});
    AllReduce second(self, large, {.tag = 2});
    first.start();
    second.start();
    bool both = false;
    while (!both) {
      const bool one = second.advance();
      both = first.advance() && one;
    }
    EXPECT_EQ(small[9], 2);
    EXPECT_EQ(large[99999], 1);
  });
}

TEST(AllReduce, TellsWhatItSends) {
  on_instances(4, [](Communicator& self) {
    std::vector<float> values(64000);
    EXPECT_EQ(AllReduce(self, values, {}).bytes_sent(), 2 * 3 * 64000);  // 2 x 3/4 of 4 bytes each
    const int64_t halves = AllReduce(self, values, {.wire = WireFormat::f16}).bytes_sent();
    EXPECT_EQ(halves, 3 * 64000 + 6 * 4);
  });
}

}  // namespace
}  // namespace pando::comm
