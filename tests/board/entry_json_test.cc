// SPDX-License-Identifier: MIT
#include "pando/board/entry_json.h"

#include <gtest/gtest.h>

#include "tests/board/board_runs.h"

namespace pando::board {
namespace {

TEST(BoardEntryJson, SaysWhatTheListShows) {
  RunEntry entry{.path = "sweep/a b", .name = "sweep/a b"};
  entry.summary = summary_with(app::RunState::stopped);
  entry.summary.cause = "stopped by SIGTERM";
  entry.summary.facts.instances = 4;
  entry.summary.last = {{"loss", 0.25}};
  entry.touched = 12.5;
  const Json json = entry_json(entry);
  EXPECT_EQ(json.get<std::string>("id"), "sweep%2Fa%20b");
  EXPECT_EQ(json.get<std::string>("state"), "stopped");
  EXPECT_EQ(json.get<std::string>("cause"), "stopped by SIGTERM");
  EXPECT_EQ(json.get<int>("instances"), 4);
  EXPECT_EQ(json.get<double>("loss"), 0.25);
  EXPECT_TRUE(json.at("throughput").is_null());
  EXPECT_EQ(json.get<double>("touched_ms"), 12500);
  EXPECT_EQ(json.at("best").get<double>("value"), 0.875);
}

TEST(BoardEntryJson, ARunWithoutASummary) {
  RunEntry entry{.path = "old", .name = "old", .problem = "why"};
  entry.summary.state = app::RunState::unknown;
  const Json json = entry_json(entry);
  EXPECT_EQ(json.get<std::string>("state"), "unknown");
  EXPECT_EQ(json.get<std::string>("problem"), "why");
  EXPECT_TRUE(json.at("best").is_null());
  EXPECT_TRUE(json.at("points").items().empty());
}

}  // namespace
}  // namespace pando::board
