// Tests that runs warn of half precision that learns nothing or gains nothing.
// SPDX-License-Identifier: MIT
#include "pando/app/job/exit_code.h"
#include "tests/app/training_run_fixture.h"
#include "tests/support/expect_error.h"
#include "tests/support/isa.h"

namespace pando::app {
namespace {

class TrainingWarnings : public TrainingRunTest {
 protected:
  TrainOptions half(const std::string& run) const {
    TrainOptions given = options(run);
    given.precision = parse_precision("16.16");
    given.phases.validation = ValidationTime::off;
    return given;
  }
};

// The loss scaling cuts all gradients off. 125 weight updates: a hundred are enough for the
// warning.
TEST_F(TrainingWarnings, WeightsThatDoNotMoveAreToldWhileTraining) {
  TrainOptions given = half("run");
  given.loss.loss_scaling = 1e20;
  given.micro_batch_size = 8;
  given.num_epochs = 5;
  EXPECT_EQ(run_training(given), kDone);
  for (const std::string& text : {out_.str(), folder_.read("run/log.txt")}) {
    EXPECT_SAYS(text, "warning: --loss-scaling 1e+20: gradients in f16");
    EXPECT_SAYS(text, "warning: the weights 'dense/kernel' have not changed in ");
  }
}

TEST_F(TrainingWarnings, SlowHalfPrecisionIsOneLine) {
  const test::SetIsa isa("sse2");  // has no products of halves
  const auto lines = [&](const TrainOptions& given) {
    out_.str("");
    EXPECT_EQ(run_training(given), kDone);
    const std::string text = out_.str();
    size_t count = 0;
    for (size_t at = text.find("is slower than 32.32"); at != std::string::npos;
         at = text.find("is slower than 32.32", at + 1)) {
      ++count;
    }
    return count;
  };
  TrainOptions given = half("run");
  given.num_epochs = 1;
  EXPECT_EQ(lines(given), 1U);
  given.precision = {};
  EXPECT_EQ(lines(given), 0U);
}

}  // namespace
}  // namespace pando::app
