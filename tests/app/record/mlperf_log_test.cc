#include "pando/app/record/mlperf_log.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace pando::app {
namespace {

class MlperfLines : public testing::Test {
 protected:
  std::vector<std::string> lines_;
  int64_t time_ = 1700000000000;
  MlperfLog log_{[this](const std::string& line) { lines_.push_back(line); },
                 [this] { return time_++; }};
};

TEST_F(MlperfLines, HaveTheFormatOfTheBenchmarks) {
  log_.event("eval_accuracy", 0.75, {{"epoch_num", 2.5}});
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(
      lines_[0],
      ":::MLLOG {\"namespace\":\"\",\"time_ms\":1700000000000,\"event_type\":\"POINT_IN_TIME\","
      "\"key\":\"eval_accuracy\",\"value\":0.75,\"metadata\":{\"epoch_num\":2.5}}");
}

TEST_F(MlperfLines, IntervalsAndValuesOfEveryKind) {
  log_.started_at(5, "init");
  log_.start("run");
  log_.event("seed", int64_t{7});
  log_.event("opt_name", std::string("sgd \"x\""));
  log_.stop("run", {{"status", std::string("success")}});
  const auto parsed = [&](size_t i) {
    EXPECT_EQ(lines_.at(i).rfind(":::MLLOG ", 0), 0u);
    return nlohmann::json::parse(lines_.at(i).substr(9));
  };
  EXPECT_EQ(parsed(0)["time_ms"], 5);
  EXPECT_EQ(parsed(0)["key"], "init_start");
  EXPECT_EQ(parsed(1)["event_type"], "INTERVAL_START");
  EXPECT_TRUE(parsed(1)["value"].is_null());
  EXPECT_TRUE(parsed(1)["metadata"].is_object());
  EXPECT_EQ(parsed(2)["value"], 7);
  EXPECT_EQ(parsed(3)["value"], "sgd \"x\"");
  EXPECT_EQ(parsed(4)["event_type"], "INTERVAL_END");
  EXPECT_EQ(parsed(4)["key"], "run_stop");
  EXPECT_EQ(parsed(4)["metadata"]["status"], "success");
}

TEST_F(MlperfLines, EpochsCountFromOne) {
  MlperfEpochs epochs(log_);
  FitContext context{.epoch = 3};
  epochs.on_epoch_begin(context);
  epochs.on_epoch_end(context, {});
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_NE(lines_[0].find("\"key\":\"epoch_start\""), std::string::npos);
  EXPECT_NE(lines_[0].find("{\"epoch_num\":4}"), std::string::npos);
  EXPECT_NE(lines_[1].find("\"key\":\"epoch_stop\""), std::string::npos);
}

TEST(MlperfLog, IsSilentWhenItIsOff) {
  MlperfLog off(nullptr);
  EXPECT_FALSE(off.on());
  EXPECT_NO_THROW(off.event("seed", int64_t{1}));
  EXPECT_NO_THROW(off.start("run"));
  EXPECT_NO_THROW(off.stop("run"));
  EXPECT_GT(wall_clock_ms(), 1600000000000);
}

}  // namespace
}  // namespace pando::app
