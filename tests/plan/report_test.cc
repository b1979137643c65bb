// Tests of the report of a plan.
// SPDX-License-Identifier: MIT
#include "pando/plan/report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/plan/fake_costs.h"
#include "tests/support/expect_error.h"

namespace pando::plan {
namespace {

PlanOptions options_for(int instances) {
  PlanOptions options;
  options.instances = instances;
  options.train.model = "mnist_cnn";
  options.train.micro_batch_size = 8;
  return options;
}

TEST(PlanReport, HasTheCommandThatTrains) {
  PlanOptions options = options_for(4);
  Combination found{.instances = 4, .replicas = 2, .stages = 2, .bucket_bytes = 4096};
  found.splits = {"middle"};
  found.accumulation = 3;
  options.train_flags = {"--optimizer", "adam"};
  EXPECT_EQ(
      command_of(found, options),
      "pando run -H HOSTS --num-instances 4 --num-replicas 8 --devices-per-replica 2 pando train "
      "--model mnist_cnn --micro-batch-size 8 --gradient-accumulation-count 3 "
      "--pipeline-splits middle --max-cross-replica-buffer-size 4096 --optimizer adam");
  options.instances_per_host = 4;
  EXPECT_SAYS(command_of(found, options), "pando run --num-instances 4 ");
  found = {.replicas = 2};
  EXPECT_EQ(command_of(found, options_for(1)),
            "pando train --model mnist_cnn --micro-batch-size 8 --num-replicas 2");
}

TEST(PlanReport, TextHasTablesAndAdvice) {
  FakeCosts costs;
  PlanOptions options = options_for(4);
  options.train.devices.global_batch_size = 64;
  const Plan plan = make_plan(costs, options.request());
  const std::string text = to_text(plan, options, costs);
  EXPECT_SAYS(text, "precision 32.32, machines of 4 cores; 1.25GB/s per machine, latency 30us");
  EXPECT_SAYS(text, "for each number of instances");
  EXPECT_SAYS(text, "--global-batch-size");
  EXPECT_SAYS(text, "recommended\n");
  EXPECT_SAYS(text, "why: ");
  EXPECT_SAYS(text, "HOSTS by 4 machines");
  EXPECT_SAYS(text, "run:  pando run -H HOSTS --num-instances 4");
  EXPECT_FALSE(testing_support::says(text, "caution"));
}

TEST(PlanReport, TextTellsOfSharedCores) {
  FakeCosts costs;
  PlanOptions options = options_for(8);
  options.network = kLocal;
  Plan plan = make_plan(costs, options.request());
  EXPECT_SAYS(to_text(plan, options, costs), "copies 4GB/s");
  while (plan.combinations[plan.recommended].cores_share == 1) ++plan.recommended;
  EXPECT_SAYS(to_text(plan, options, costs), "share cores");
}

TEST(PlanReport, CautionsAgainstWaste) {
  FakeCosts costs;
  const PlanOptions options = options_for(4);
  Plan plan = make_plan(costs, options.request());
  Combination& chosen = plan.combinations[plan.recommended];
  chosen.efficiency = 0.4;
  EXPECT_SAYS(to_text(plan, options, costs), "\ncaution: efficiency");
  chosen.prediction.exposed = 0.6 * chosen.prediction.seconds;
  EXPECT_SAYS(to_text(plan, options, costs), "exposed communication;");
  const auto json = nlohmann::json::parse(to_json(plan, options, costs));
  EXPECT_SAYS(json["recommended"]["caution"].get<std::string>(), "exposed");
}

TEST(PlanReport, TellsOfTooFewSamples) {
  FakeCosts costs;
  PlanOptions options = options_for(4096);
  options.train.micro_batch_size = 1000;
  const Plan plan = make_plan(costs, options.request());
  EXPECT_SAYS(to_text(plan, options, costs), "1000000 samples");
}

TEST(PlanReport, TextTellsWhatDoesNotFit) {
  FakeCosts costs;
  PlanOptions options = options_for(1);
  options.train.devices.memory_per_device = {12'500'000};
  const std::string text = to_text(make_plan(costs, options.request()), options, costs);
  EXPECT_SAYS(text, "--memory-per-device");
}

TEST(PlanReport, JsonHasAll) {
  FakeCosts costs;
  const PlanOptions options = options_for(4);
  const Plan plan = make_plan(costs, options.request());
  const auto json = nlohmann::json::parse(to_json(plan, options, costs));
  EXPECT_EQ(json["cores_per_host"], 4);
  EXPECT_EQ(json["network"]["name"], "10gbe");
  EXPECT_EQ(json["recommended"]["hosts"], 4);
  EXPECT_EQ(json["best_of_each"].size(), 3U);
  EXPECT_EQ(json["fastest"].size(), 5U);
  EXPECT_EQ(json["recommended"]["instances"], 4);
  EXPECT_GT(json["recommended"]["samples_per_second"], 0.0);
  EXPECT_EQ(json["recommended"]["reason"], plan.reason);
  EXPECT_EQ(json["recommended"]["command"],
            command_of(plan.combinations[plan.recommended], options));
}

TEST(PlanReport, PictureHasBothPanels) {
  FakeCosts costs;
  const std::string picture = to_picture(make_plan(costs, options_for(16).request()));
  EXPECT_EQ(picture.rfind("<svg", 0), 0U);
  EXPECT_SAYS(picture, "samples per second");
  EXPECT_SAYS(picture, "exposed communication");
  EXPECT_SAYS(picture, ">16<");
}

}  // namespace
}  // namespace pando::plan
