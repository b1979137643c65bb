#include "pando/app/report/schedule_record.h"

#include <gtest/gtest.h>

namespace pando::app {
namespace {

TEST(ScheduleRecord, HasOrdersAndTimes) {
  const runtime::PipelineShape shape{.stages = 2, .micro_batches = 2};
  const Json record = schedule_record(shape, {{1, 2}, {1, 2}});
  EXPECT_EQ(record.get<std::string>("schedule"), "grouped");
  EXPECT_EQ(record.at("devices").items().size(), 2u);
  EXPECT_EQ(record.at("devices").items()[1].items().size(), 4u);
  EXPECT_EQ(record.at("devices").items()[0].items()[0].dump(), "[0,0,0]");
  EXPECT_EQ(record.at("stage_seconds").dump(), "[[1.0,2.0],[1.0,2.0]]");
  const runtime::Playback played = runtime::play(shape, {{1, 2}, {1, 2}});
  EXPECT_EQ(record.get<double>("planned_seconds"), played.seconds);
  EXPECT_EQ(record.get<double>("planned_idle"), played.idle_share());
}

TEST(ScheduleRecord, LeavesOutOrdersThatNobodyCanRead) {
  const runtime::PipelineShape shape{.stages = 2, .micro_batches = 5000};
  EXPECT_EQ(schedule_record(shape, {{1, 2}, {1, 2}}).at("devices").dump(), "[]");
}

}  // namespace
}  // namespace pando::app
