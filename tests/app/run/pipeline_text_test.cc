#include "pando/app/run/pipeline_text.h"

#include <gtest/gtest.h>

namespace pando::app {
namespace {

const runtime::PipelineShape kShape{
    .schedule = PipelineSchedule::grouped, .stages = 2, .micro_batches = 4, .device_of_stage = {}};

TEST(PipelineText, DrawsShortTimelinesOnly) {
  EXPECT_EQ(
      timeline_of(kShape),
      "pipeline: 2 stages on 2 devices, grouped schedule, 4 micro-batches per weight update\n" +
          runtime::timeline_text(kShape));
  runtime::PipelineShape longer = kShape;
  longer.micro_batches = 16;
  EXPECT_NE(timeline_of(longer).find("dev1"), std::string::npos);
  longer.micro_batches = 17;
  EXPECT_EQ(timeline_of(longer).find("dev1"), std::string::npos);
  longer.micro_batches = 1;
  EXPECT_NE(timeline_of(longer).find("1 micro-batch per"), std::string::npos);
}

TEST(PipelineText, TellsTheIdleShare) {
  // Two stages, four micro-batches: devices idle for (S - 1) / (N + S - 1) of the time while the
  // pipeline fills and drains.
  EXPECT_EQ(expected_idle(kShape, {}),
            "expected idle share of the devices: 20.0 % (if all stages take the same time)\n");
  EXPECT_EQ(expected_idle(kShape, {{1, 2}, {1, 2}}),
            "expected idle share of the devices: 20.0 % (with the measured times of the stages)\n");
  EXPECT_NE(expected_idle(kShape, {{1, 2}, {0, 0}}).find(" 50.0 %"), std::string::npos);
}

TEST(PipelineText, StageTimesAreTakenFromATrace) {
  profile::TraceSummary summary;
  summary.stages = {{.stage = 0, .backward = false, .visits = 8, .mean_seconds = 0.001},
                    {.stage = 0, .backward = true, .visits = 8, .mean_seconds = 0.002},
                    {.stage = 1, .backward = false, .visits = 16, .mean_seconds = 0.001},
                    {.stage = 7, .backward = false, .visits = 1, .mean_seconds = 1}};
  const auto seconds = stage_seconds(summary, {.stages = 2, .workers = 2, .micro_batches = 4});
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_DOUBLE_EQ(seconds[0].forward, 0.001);
  EXPECT_DOUBLE_EQ(seconds[0].backward, 0.002);
  EXPECT_DOUBLE_EQ(seconds[1].forward, 0.002);  // two slices one after the other
  EXPECT_EQ(seconds[1].backward, 0);
  EXPECT_EQ(stage_table({{0.001, 0.0025}}),
            "  stage     forward ms  backward ms\n  0              1.000        2.500\n");
}

}  // namespace
}  // namespace pando::app
