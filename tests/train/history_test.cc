#include "pando/train/history.h"

#include "tests/support/expect_error.h"

namespace pando {
namespace {

TEST(History, RowsAndColumns) {
  History history;
  history.add(3, {{"loss", 0.5}, {"accuracy", 0.75}});
  history.add(4, {{"loss", 0.25}, {"accuracy", 0.875}});
  EXPECT_EQ(history.epoch, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(history["loss"], (std::vector<double>{0.5, 0.25}));
  EXPECT_SAYS(testing_support::error_of([&] { history["acuracy"]; }), "did you mean 'accuracy'");
}

TEST(LogSums, AreFoundByName) {
  const LogSums sums{.samples = 4, .sums = {{"loss", 2}, {"accuracy", 3}}};
  EXPECT_EQ(sums.sum("loss"), 2);
  EXPECT_EQ(sums.sum("accuracy"), 3);
  EXPECT_EQ(sums.sum("auc"), 0);
}

}  // namespace
}  // namespace pando
