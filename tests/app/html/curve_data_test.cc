#include "pando/app/html/curve_data.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace pando::app {
namespace {

TEST(CurveData, KeepsMinimumAndMaximumOfEachBucket) {
  std::vector<double> values(100000, 1.0);
  values[31000] = 50;  // a spike that plain sampling would miss
  values[77777] = -50;
  values[5] = std::nan("");
  const std::vector<size_t> kept = thinned(values);
  EXPECT_LE(kept.size(), kMostCurvePoints);
  EXPECT_TRUE(std::ranges::is_sorted(kept));
  EXPECT_EQ(kept.front(), 0u);
  EXPECT_EQ(kept.back(), values.size() - 1);
  for (const size_t place : {31000, 77777}) {
    EXPECT_NE(std::ranges::find(kept, place), kept.end()) << place;
  }
  EXPECT_EQ(thinned(std::vector<double>(7, 0.0)).size(), 7u);
  EXPECT_TRUE(thinned({}).empty());
}

TEST(CurveData, HasOneUnitPerChart) {
  RunRecord run;
  run.rows.push_back({.epoch = 0.5,
                      .step = 5,
                      .loss = 2.0,
                      .metric = 0.25,
                      .throughput = 100,
                      .learning_rate = 0.1,
                      .seconds = 3,
                      .extra = {{"loss_scaling_factor", 1024}}});
  run.rows.push_back({.epoch = 1, .step = 10, .loss = std::nan("")});
  run.rows.push_back({.epoch = 1, .step = 10, .val_loss = 1.5, .val_metric = 0.5});
  const Json charts = curve_charts(std::vector{run, run});
  std::vector<std::string> titles;
  for (const Json& chart : charts.items()) {
    titles.push_back(chart.get<std::string>("title") + "|" + chart.get<std::string>("unit"));
  }
  EXPECT_EQ(titles, (std::vector<std::string>{"Loss|", "Accuracy|%", "Learning rate|",
                                              "Throughput|samples/s", "Loss-scaling factor|"}));
  const Json& loss = charts.items()[0].at("curves");
  ASSERT_EQ(loss.items().size(), 4u) << "two runs, training and validation";
  EXPECT_EQ(loss.items()[2].get<int>("run"), 1);
  EXPECT_EQ(loss.items()[0].at("y").items().size(), 2u);
  EXPECT_EQ(loss.items()[0].dump(),
            "{\"run\":0,\"name\":\"training\",\"x\":{\"step\":[5,10],\"epoch\":[0.5,1.0],"
            "\"seconds\":[3.0,null]},\"y\":[2.0,null]}");
  EXPECT_EQ(charts.items()[1].at("curves").items()[0].at("y").dump(), "[25.0]");
}

}  // namespace
}  // namespace pando::app
