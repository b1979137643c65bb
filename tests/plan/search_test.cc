// The search over all combinations.
// SPDX-License-Identifier: MIT
#include "pando/plan/search.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/plan/fake_costs.h"
#include "tests/support/expect_error.h"

namespace pando::plan {
namespace {

using testing_support::error_of;

PlanRequest request_for(int instances) {
  return {.instances = instances, .link = find_link("10gbe"), .micro_batch_size = 8};
}

Plan plan_of(const PlanRequest& request) {
  FakeCosts costs;
  return make_plan(costs, request);
}

TEST(Search, CountsByTwos) {
  EXPECT_EQ(counts_up_to(1), (std::vector<int>{1}));
  EXPECT_EQ(counts_up_to(8), (std::vector<int>{1, 2, 4, 8}));
  EXPECT_EQ(counts_up_to(6), (std::vector<int>{1, 2, 4, 6}));
}

TEST(Search, TriesEveryCombinationOnce) {
  const Plan plan = plan_of(request_for(6));
  std::set<std::tuple<int, int, int, int64_t>> tried;
  for (const Combination& found : plan.combinations) {
    EXPECT_TRUE(
        tried.emplace(found.instances, found.replicas, found.stages, found.bucket_bytes).second);
    EXPECT_LE(found.replicas * found.stages, 4);
    EXPECT_LE(found.stages, 2);
  }
  // For each number of instances 5 spreads: 1, 2 or 4 replicas, and two stages with 1 or 2. One
  // bucket size for 1 instance, 3 sizes for each of 2, 4 and 6.
  EXPECT_EQ(tried.size(), 5U * (1 + 3 * 3));
}

TEST(Search, FindsFastestFirst) {
  const Plan plan = plan_of(request_for(4));
  EXPECT_TRUE(std::is_sorted(plan.combinations.begin(), plan.combinations.end(),
                             [](const Combination& a, const Combination& b) {
                               return a.samples_per_second > b.samples_per_second;
                             }));
  for (const Combination& found : plan.combinations) {
    EXPECT_GT(found.prediction.seconds, 0);
    EXPECT_LE(found.prediction.exposed, found.prediction.seconds);
    EXPECT_LE(found.efficiency, 1.0 + 1e-9);
    EXPECT_EQ(found.global_batch_size, 8 * found.instances * found.replicas);
  }
}

TEST(Search, OneInstanceHasNoCommunication) {
  const Plan plan = plan_of(request_for(1));
  for (const Combination& found : plan.combinations) EXPECT_EQ(found.prediction.exposed, 0);
  // Four replicas of one core: 3 s for 32 samples, plus packing and update.
  const Combination& best = plan.combinations[0];
  EXPECT_EQ(best.replicas, 4);
  EXPECT_NE(plan.recommended, 0U);
  EXPECT_DOUBLE_EQ(best.samples_per_second, 32 / 3.03);
  EXPECT_DOUBLE_EQ(best.efficiency, 1);
}

TEST(Search, DividesTheGlobalBatch) {
  PlanRequest request = request_for(4);
  request.global_batch_size = 64;
  const Plan plan = plan_of(request);
  EXPECT_GT(plan.indivisible, 0);  // 4 instances of 4 replicas have 128 samples in a step
  for (const Combination& found : plan.combinations) {
    EXPECT_EQ(found.global_batch_size, 64);
    EXPECT_EQ(found.accumulation * 8 * found.instances * found.replicas, 64);
  }
}

TEST(Search, LeavesOutWhatDoesNotFit) {
  PlanRequest request = request_for(1);
  request.memory_per_device = 12'500'000;
  const Plan plan = plan_of(request);
  EXPECT_GT(plan.too_large, 0);
  for (const Combination& found : plan.combinations) {
    EXPECT_LE(found.device_bytes, request.memory_per_device);
  }
}

TEST(Search, LeavesOutGlobalBatchesLargerThanTheDataSet) {
  PlanRequest request = request_for(64);
  request.micro_batch_size = 100'000;
  const Plan plan = plan_of(request);
  EXPECT_GT(plan.too_few, 0);
  for (const Combination& found : plan.combinations) {
    EXPECT_LE(found.global_batch_size, 1'000'000);
  }
}

TEST(Search, HostsHaveEquallyManyInstances) {
  PlanRequest request = request_for(12);
  request.instances_per_host = 3;
  std::set<int> tried;
  for (const Combination& found : plan_of(request).combinations) tried.insert(found.instances);
  EXPECT_EQ(tried, (std::set<int>{1, 2, 12}));
}

TEST(Search, InstancesOfAHostTakeTurnsOnItsCores) {
  PlanRequest request = request_for(8);
  request.instances_per_host = 8;
  request.link = find_link("local");
  const std::vector<Combination> best = best_of_each(plan_of(request));
  ASSERT_EQ(best.size(), 4U);
  EXPECT_EQ(best[2].instances, 4);
  EXPECT_EQ(best[2].cores_share, 1);
  EXPECT_EQ(best[3].cores_share, 0.5);
  EXPECT_EQ(best[3].replicas, 1);
  EXPECT_GT(best[3].prediction.seconds, 2 * 3);
  EXPECT_LE(best[3].samples_per_second, best[2].samples_per_second);
}

TEST(Search, RecommendsTheSimplestOfTheFast) {
  PlanRequest request = request_for(16);
  request.link = {.bandwidth = {1e15}};
  const Plan plan = plan_of(request);
  const Combination& chosen = plan.combinations[plan.recommended];
  EXPECT_EQ(chosen.instances, 16);
  EXPECT_EQ(chosen.stages, 1);
  EXPECT_EQ(chosen.replicas, 2);  // 4 are 1 % faster, with twice the global batch
  EXPECT_EQ(chosen.bucket_bytes, 1 << 20);
  EXPECT_SAYS(plan.reason, "another number of replicas");
  EXPECT_SAYS(plan.reason, "exposed communication");
}

TEST(Search, MoreInstancesOnASlowNetworkAreNotWorthIt) {
  PlanRequest request = request_for(64);
  request.link = {.bandwidth = {1e4}, .latency = {0.1}};
  const Plan plan = plan_of(request);
  EXPECT_EQ(plan.combinations[plan.recommended].instances, 1);
  EXPECT_SAYS(plan.reason, "of the fastest");
}

TEST(Search, FourThousandInstances) {
  PlanRequest request = request_for(kMostInstances);
  request.accumulation = 4;
  const Plan plan = plan_of(request);
  const std::vector<Combination> best = best_of_each(plan);
  ASSERT_EQ(best.size(), 13U);
  EXPECT_EQ(best.back().instances, 4096);
  EXPECT_LT(best.back().efficiency, best[1].efficiency);
}

TEST(Search, SaysWhyNothingIsLeft) {
  PlanRequest request = request_for(1);
  request.memory_per_device = 1000;
  EXPECT_SAYS(error_of([&] { plan_of(request); }), "--memory-per-device: ");
  request = request_for(1);
  request.global_batch_size = 12;
  EXPECT_SAYS(error_of([&] { plan_of(request); }), "--global-batch-size: ");
  request = request_for(1);
  request.micro_batch_size = 2'000'000;
  EXPECT_SAYS(error_of([&] { plan_of(request); }), "--micro-batch-size: ");
}

}  // namespace
}  // namespace pando::plan
