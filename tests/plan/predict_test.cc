// Predictions that can be computed by hand.
// SPDX-License-Identifier: MIT
#include "pando/plan/predict.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::plan {
namespace {

// One stage with forward 1 s, backward 2 s, and the given gradients.
Work work_with(std::vector<Gradient> gradients) {
  return {.stages = {{.seconds = {1, 2}, .gradients = std::move(gradients)}},
          .before = 0.25,
          .after = 0.5};
}

// Two machines with a bandwidth of 1,000 bytes per second and a latency of a tenth of a second.
Exchange two_machines() {
  return {.instances = 2,
          .link = {.bandwidth = {1000}, .latency = {0.1}},
          .bucket_bytes = 1,
          .flag_bytes = 0};
}

Prediction predict_of(const Work& work, const Exchange& exchange) {
  return predict(work, timeline(work), exchange);
}

TEST(Predict, OneInstanceSendsNothing) {
  Exchange exchange = two_machines();
  exchange.instances = 1;
  const Prediction found = predict_of(work_with({{1000, 0}}), exchange);
  EXPECT_DOUBLE_EQ(found.seconds, 0.25 + 3 + 0.5);
  EXPECT_EQ(found.exposed, 0);
  EXPECT_EQ(found.bytes_sent, 0);
  EXPECT_EQ(found.buckets, 0);
}

TEST(Predict, ABucketAtTheEndIsExposed) {
  // Half of the bucket goes to the other instance and half comes back, 0.5 s + 0.1 s each; then the
  // flags, 0.1 s.
  const Prediction found = predict_of(work_with({{1000, 0}}), two_machines());
  EXPECT_NEAR(found.exposed, 2 * 0.6 + 0.1, 1e-12);
  EXPECT_DOUBLE_EQ(found.seconds, 3.75 + 1.3);
  EXPECT_EQ(found.bytes_sent, 1000);
  EXPECT_NEAR(found.exposed_share(), 1.3 / 5.05, 1e-12);
}

TEST(Predict, WhatBackwardOutlastsIsHidden) {
  const Prediction found = predict_of(work_with({{1000, 1.5}}), two_machines());
  EXPECT_NEAR(found.exposed, 0.1, 1e-12);  // the flags
}

TEST(Predict, OnlyTheLastOfManyBucketsIsExposed) {
  const Prediction found = predict_of(
      work_with({{200, 1.6}, {200, 1.2}, {200, 0.8}, {200, 0.4}, {200, 0}}), two_machines());
  EXPECT_EQ(found.buckets, 5);
  EXPECT_NEAR(found.exposed, 2 * (0.1 + 0.1) + 0.1, 1e-12);
}

TEST(Predict, ASlowLinkIsBusyFromTheFirstBucketOn) {
  // Ready at 1.5 s: two phases of 5 s each; the phases of the other bucket come between and after
  // them.
  Work work = work_with({{10000, 1.5}, {10000, 0}});
  const Prediction found = predict_of(work, two_machines());
  EXPECT_DOUBLE_EQ(found.seconds, 0.25 + 1.5 + 4 * 5 + 0.1 + 0.1 + 0.5);
}

TEST(Predict, LatencyMakesOneBucketBetterThanMany) {
  std::vector<Gradient> gradients(100, {1, 0});
  Exchange exchange = two_machines();
  exchange.link = {.bandwidth = {1e9}, .latency = {0}, .overhead = 0.01};
  const Prediction many = predict_of(work_with(gradients), exchange);
  exchange.bucket_bytes = 100;
  const Prediction one = predict_of(work_with(gradients), exchange);
  EXPECT_EQ(many.buckets, 100);
  EXPECT_EQ(one.buckets, 1);
  EXPECT_NEAR(many.exposed, 201 * 0.01, 1e-5);
  EXPECT_NEAR(one.exposed, 3 * 0.01, 1e-5);
}

TEST(Predict, WorkersCopyAndSum) {
  // Half of 1,000 bytes is sent and half received, twice; half is summed.
  Exchange exchange = two_machines();
  exchange.link = {.bandwidth = {1e12}, .copies = 2};
  exchange.copy_rate = 10000;
  exchange.sum_rate = 5000;
  const Prediction found = predict_of(work_with({{1000, 2}}), exchange);
  EXPECT_NEAR(found.exposed, 2 * 2 * 0.1 + 0.1, 1e-6);
}

TEST(Predict, HalfPrecisionHalvesWhatTravels) {
  Exchange exchange = two_machines();
  exchange.wire_share = 0.5;
  const Prediction found = predict_of(work_with({{1000, 0}}), exchange);
  EXPECT_NEAR(found.exposed, 2 * (0.25 + 0.1) + 0.1, 1e-12);
  EXPECT_EQ(found.bytes_sent, 500);
}

TEST(Predict, LanesAreSummedBeforeTheyAreSent) {
  Exchange exchange = two_machines();
  exchange.sum_rate = 5000;
  const double before = predict_of(work_with({{1000, 0}}), exchange).seconds;
  exchange.lanes = 4;
  EXPECT_NEAR(predict_of(work_with({{1000, 0}}), exchange).seconds, before + 3 * 0.2, 1e-12);
}

TEST(Predict, InstancesOfAHostShareItsLink) {
  // 4 instances on 2 hosts: each sends a quarter to the 2 on the other host, over one link.
  Exchange exchange = two_machines();
  exchange.instances = 4;
  exchange.instances_per_host = 2;
  exchange.link.latency = {0};
  const Prediction found = predict_of(work_with({{1000, 0}}), exchange);
  EXPECT_DOUBLE_EQ(found.exposed, 2 * (2 * 2 * 250 / 1000.0));
  exchange.instances_per_host = 4;
  EXPECT_DOUBLE_EQ(predict_of(work_with({{1000, 0}}), exchange).exposed, 0);
}

TEST(Predict, AccumulatedGradientsAreSentOnce) {
  Work work = work_with({{1000, 0}});
  work.micro_batches = 4;
  const Prediction found = predict_of(work, two_machines());
  EXPECT_DOUBLE_EQ(found.seconds, 0.25 + 4 * 3 + 1.3 + 0.5);
  work.accumulation_rate = 2000;
  EXPECT_DOUBLE_EQ(predict_of(work, two_machines()).seconds, found.seconds + 4 * 0.5);
}

TEST(Predict, MoreBandwidthIsNeverSlower) {
  double before = 1e9;
  for (double rate = 10; rate < 1e7; rate *= 3) {
    Exchange exchange = two_machines();
    exchange.link.bandwidth = {rate};
    const double seconds =
        predict_of(work_with({{300, 1.9}, {5000, 1}, {700, 0.2}}), exchange).seconds;
    EXPECT_LE(seconds, before);
    before = seconds;
  }
}

TEST(Predict, MoreInstancesAreNeverFaster) {
  double before = 0;
  for (int instances = 1; instances <= 4096; instances *= 2) {
    Exchange exchange = two_machines();
    exchange.instances = instances;
    exchange.link.overhead = 1e-6;
    const double seconds = predict_of(work_with({{5000, 1}, {700, 0.2}}), exchange).seconds;
    EXPECT_GE(seconds, before);
    before = seconds;
  }
}

TEST(Predict, StagesSendWhatTheyHave) {
  // Two stages, two micro-batches: the second stage ends before the first.
  Work work{.stages = {{.seconds = {1, 2}, .gradients = {{100, 0}}},
                       {.seconds = {1, 2}, .gradients = {{100, 0}}}},
            .micro_batches = 2};
  const Timeline times = timeline(work);
  ASSERT_EQ(times.stage_ends.size(), 2U);
  EXPECT_DOUBLE_EQ(times.seconds, 9);
  EXPECT_LT(times.stage_ends[1], times.stage_ends[0]);
  const std::vector<Bucket> buckets = fill_buckets(work, times, 1000);
  ASSERT_EQ(buckets.size(), 2U);  // every stage has its own
  EXPECT_EQ(buckets[0].ready, times.stage_ends[1]);
  EXPECT_EQ(buckets[1].ready, times.stage_ends[0]);
}

TEST(Predict, LongPipelinesGoOnAtTheirPace) {
  Work work{.stages = {{.seconds = {1, 2}}, {.seconds = {1, 2}}}, .micro_batches = 10000};
  EXPECT_DOUBLE_EQ(timeline(work).seconds, 10000 * 3 + 3);
  EXPECT_DOUBLE_EQ(timeline(work).stage_ends[0], 10000 * 3 + 3);
}

TEST(Predict, GradientsFillBuckets) {
  const Work work = work_with({{60, 1.5}, {60, 1}, {10, 0.5}, {10, 0}});
  const std::vector<Bucket> buckets = fill_buckets(work, timeline(work), 100);
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[0].bytes, 120);
  EXPECT_DOUBLE_EQ(buckets[0].ready, 2);
  EXPECT_EQ(buckets[1].bytes, 20);
  EXPECT_DOUBLE_EQ(buckets[1].ready, 3);
}

TEST(Predict, WantsStages) {
  EXPECT_SAYS(testing_support::error_of<InternalError>([] { timeline({}); }), "0 stages");
}

}  // namespace
}  // namespace pando::plan
