// SPDX-License-Identifier: MIT
#include "pando/comm/dist.h"

#include <atomic>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/comm/job.h"
#include "tests/support/expect_error.h"
#include "tests/support/thread_instances.h"

namespace pando::dist {
namespace {

using comm::Communicator;
using testing_support::error_of;
using testing_support::on_instances;

TEST(DistAlone, EverythingWorksForOne) {
  const comm::JobScope scope({});
  EXPECT_FALSE(is_distributed());
  EXPECT_EQ(num_instances(), 1);
  EXPECT_EQ(instance_index(), 0);
  EXPECT_EQ(local_instance_index(), 0);
  EXPECT_EQ(num_total_replicas(), 1);
  EXPECT_EQ(num_local_replicas(), 1);
  EXPECT_EQ(replica_index_offset(), 0);
  EXPECT_EQ(devices_per_replica(), 1);
  barrier();
  std::vector<float> values = {1.5f, 2};
  broadcast(values);
  all_reduce(values);
  all_reduce(values, Reduction::mean);
  EXPECT_EQ(values, (std::vector<float>{1.5f, 2}));
  std::vector<int64_t> whole = {3};
  all_reduce(whole);
  EXPECT_EQ(all_gather(std::span<const int64_t>(whole)), whole);
  EXPECT_EQ(broadcast("text"), "text");
  EXPECT_EQ(all_gather("text"), std::vector<std::string>{"text"});
  int calls = 0;
  execute_on_instances({0}, [&] { ++calls; });
  execute_on_instances({}, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(DistAlone, InitWithoutALauncherChangesNothing) {
  init();
  const comm::JobScope scope({});
  EXPECT_EQ(num_instances(), 1);
}

TEST(DistAlone, ReplicasAreAsTheLauncherSays) {
  const comm::JobScope scope({.total_replicas = 3, .devices_per_replica = 2});
  EXPECT_EQ(num_total_replicas(), 3);
  EXPECT_EQ(num_local_replicas(), 3);
  EXPECT_EQ(devices_per_replica(), 2);
}

class Dist : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, Dist, ::testing::Values(1, 2, 3, 4));

TEST_P(Dist, KnowsInstancesAndReplicas) {
  on_instances(GetParam(), [](Communicator& self) {
    EXPECT_EQ(num_instances(), self.size());
    EXPECT_EQ(instance_index(), self.rank());
    EXPECT_EQ(num_total_replicas(), self.size());
    EXPECT_EQ(num_local_replicas(), 1);
    EXPECT_EQ(replica_index_offset(), self.rank());
    comm::Job job = comm::current_job();
    job.local_index = 10 + self.rank();
    job.total_replicas = 3 * self.size();
    const comm::JobScope scope(job);
    EXPECT_EQ(local_instance_index(), 10 + self.rank());
    EXPECT_EQ(num_total_replicas(), 3 * self.size());
    EXPECT_EQ(num_local_replicas(), 3);
    EXPECT_EQ(replica_index_offset(), 3 * self.rank());
  });
}

TEST_P(Dist, BroadcastsFromEachInstance) {
  on_instances(GetParam(), [](Communicator& self) {
    for (int root = 0; root < self.size(); ++root) {
      std::vector<float> floats(1000, static_cast<float>(self.rank()));
      broadcast(floats, root);
      EXPECT_EQ(floats, std::vector<float>(1000, static_cast<float>(root)));
      std::vector<double> doubles = {self.rank() + 0.25};
      broadcast(doubles, root);
      EXPECT_EQ(doubles[0], root + 0.25);
      std::vector<int64_t> whole = {int64_t{1} << 60 | self.rank()};
      broadcast(whole, root);
      EXPECT_EQ(whole[0], int64_t{1} << 60 | root);
      const std::string text(static_cast<size_t>(self.rank()), 'x');
      EXPECT_EQ(broadcast(text, root).size(), static_cast<size_t>(root));
      Tensor labels(DType::i32, {2});
      labels.i32()[1] = self.rank();
      broadcast(labels, root);
      EXPECT_EQ(labels.i32()[1], root);
    }
  });
}

// Numbers such as 1e8 + 1 - 1e8: only one order of adding gives the expected bits.
TEST_P(Dist, AddsInTheOrderOfTheInstances) {
  on_instances(GetParam(), [](Communicator& self) {
    const auto number = [](int instance, size_t i) {
      const float numbers[] = {1e8f, 1.25f, -1e8f, 3.5f};
      return numbers[(static_cast<size_t>(instance) + i) % 4];
    };
    for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{50001}}) {
      std::vector<float> floats(count);
      std::vector<double> doubles(count);
      for (size_t i = 0; i < count; ++i) {
        floats[i] = number(self.rank(), i);
        doubles[i] = 1e9 * number(self.rank(), i);
      }
      all_reduce(floats);
      all_reduce(doubles);
      for (size_t i = 0; i < count; ++i) {
        float sum = number(0, i);
        double large = 1e9 * number(0, i);
        for (int other = 1; other < self.size(); ++other) {
          sum += number(other, i);
          large += 1e9 * number(other, i);
        }
        ASSERT_EQ(floats[i], sum) << i << " of " << count;
        ASSERT_EQ(doubles[i], large) << i << " of " << count;
      }
    }
  });
}

TEST_P(Dist, MeansAndWholeSums) {
  on_instances(GetParam(), [](Communicator& self) {
    const int size = self.size();
    std::vector<float> floats = {static_cast<float>(self.rank())};
    all_reduce(floats, Reduction::mean);
    EXPECT_FLOAT_EQ(floats[0], static_cast<float>(size - 1) / 2);
    std::vector<double> doubles = {self.rank() * 2.0};
    all_reduce(doubles, Reduction::mean);
    EXPECT_DOUBLE_EQ(doubles[0], size - 1);
    std::vector<int64_t> whole = {(int64_t{1} << 55) + self.rank()};
    all_reduce(whole);
    EXPECT_EQ(whole[0], size * (int64_t{1} << 55) + size * (size - 1) / 2);
    Tensor tensor = Tensor::of_f32({2}, {1, static_cast<float>(self.rank())});
    all_reduce(tensor, Reduction::mean);
    EXPECT_FLOAT_EQ(tensor.f32()[0], 1);
    EXPECT_FLOAT_EQ(tensor.f32()[1], static_cast<float>(size - 1) / 2);
  });
}

TEST_P(Dist, GathersDifferentNumbers) {
  on_instances(GetParam(), [](Communicator& self) {
    const std::vector<float> own(static_cast<size_t>(self.rank()), static_cast<float>(self.rank()));
    std::vector<float> expected;
    std::vector<double> indices;
    for (int i = 0; i < self.size(); ++i) {
      expected.insert(expected.end(), static_cast<size_t>(i), static_cast<float>(i));
      indices.push_back(i);
    }
    EXPECT_EQ(all_gather(std::span<const float>(own)), expected);
    const double index = self.rank();
    EXPECT_EQ(all_gather(std::span(&index, 1)), indices);
    const std::vector<std::string> texts = all_gather(std::to_string(self.rank()));
    ASSERT_EQ(texts.size(), static_cast<size_t>(self.size()));
    EXPECT_EQ(texts.back(), std::to_string(self.size() - 1));
  });
}

TEST_P(Dist, ExecutesOnSomeInstances) {
  on_instances(GetParam(), [](Communicator& self) {
    bool called = false;
    execute_on_instances({self.size() - 1}, [&] { called = true; });
    EXPECT_EQ(called, self.rank() == self.size() - 1);
  });
}

TEST_P(Dist, NobodyLeavesABarrierBeforeAllHaveCome) {
  std::atomic<int> come{0};
  on_instances(GetParam(), [&](Communicator& self) {
    ++come;
    barrier();
    EXPECT_EQ(come, self.size());
  });
}

TEST(DistDisagreement, AllSayWhoGivesWhat) {
  on_instances(2, [](Communicator& self) {
    std::vector<float> values(static_cast<size_t>(3 + self.rank()));
    const std::string of_floats = error_of([&] { all_reduce(values); });
    for (const char* token : {"all_reduce", "instance 0", "3", "instance 1", "4"}) {
      EXPECT_SAYS(of_floats, token);
    }
    std::vector<double> doubles(static_cast<size_t>(1 + self.rank()));
    const std::string of_doubles = error_of([&] { broadcast(doubles); });
    for (const char* token : {"broadcast", "1 number,", "2 numbers"}) {
      EXPECT_SAYS(of_doubles, token);
    }
    Tensor tensor(DType::f32, {2, 1 + self.rank()});
    const std::string of_tensor = error_of([&] { all_reduce(tensor); });
    for (const char* token : {"all_reduce", "f32 [2,1]", "f32 [2,2]"}) {
      EXPECT_SAYS(of_tensor, token);
    }
  });
}

TEST(DistArguments, NamesWhatIsWrong) {
  on_instances(2, [](Communicator& /*self*/) {
    std::vector<float> values(1);
    EXPECT_SAYS(error_of([&] { broadcast(values, 2); }), "0 to 1, got 2");
    EXPECT_SAYS(error_of([&] { broadcast("text", -1); }), "-1");
    EXPECT_SAYS(error_of([&] { execute_on_instances({0, 2}, [] {}); }), "instance 2");
    Tensor labels(DType::i32, {2});
    EXPECT_SAYS(error_of([&] { all_reduce(labels); }), "expected a tensor of f32, got i32");
  });
}

}  // namespace
}  // namespace pando::dist
