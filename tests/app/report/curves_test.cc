#include "pando/app/report/curves.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::app {
namespace {

using testing_support::TempFolder;

std::vector<HistoryRow> some_rows() {
  std::vector<HistoryRow> rows;
  for (const double epoch : {1.0, 2.0, 3.0}) {
    rows.push_back({.epoch = epoch,
                    .step = static_cast<int64_t>(10 * epoch),
                    .loss = 3 / epoch,
                    .metric = 0.25 * epoch,
                    .throughput = 1000,
                    .learning_rate = 0.1,
                    .seconds = epoch,
                    .extra = {{"memory_mib", 12}}});
  }
  rows[1].loss = std::nan("");
  HistoryRow validation{.epoch = 2, .step = 20};
  validation.val_loss = 1.25;
  validation.val_metric = 0.5;
  rows.push_back(validation);
  return rows;
}

TEST(HistorySvg, HasTheCurvesThatHaveValues) {
  const std::string svg = history_svg(some_rows());
  for (const char* text : {">Loss<", ">Accuracy<", ">training<", ">validation<", ">epoch<"}) {
    EXPECT_SAYS(svg, text);
  }
  std::vector<HistoryRow> rows = some_rows();
  rows.pop_back();
  EXPECT_EQ(history_svg(rows).find("validation"), std::string::npos);
  EXPECT_SAYS(history_svg({}), ">no values<");
}

TEST(WriteCurves, DrawsTheHistoryOfARunDirectory) {
  const TempFolder folder;
  HistoryWriter writer(folder.path("history.csv"), folder.path("history.json"));
  for (const HistoryRow& row : some_rows()) writer.append(row);
  write_curves(folder.path());
  EXPECT_EQ(folder.read("curves.svg"),
            history_svg(read_history(folder.path("history.json"), 1 << 20)));
}

}  // namespace
}  // namespace pando::app
