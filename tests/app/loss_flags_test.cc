#include "pando/app/loss_flags.h"

#include "tests/app/parse_options.h"

namespace pando::app {
namespace {

TEST(LossFlags, ReachTheirFields) {
  EXPECT_EQ(parse({}).loss.label_smoothing, std::nullopt);
  EXPECT_EQ(parse({"--label-smoothing", "0.1"}).loss.label_smoothing, 0.1);
  EXPECT_EQ(parse({"--loss-scaling=128"}).loss.loss_scaling, 128);
  EXPECT_FALSE(parse({"--auto-loss-scaling", "False"}).loss.auto_loss_scaling);
}

TEST(LossFlags, AutomaticScalingIsRefused) {
  EXPECT_SAYS(error({"--auto-loss-scaling"}), "--auto-loss-scaling is not there yet");
}

TEST(LossFlags, ScalingWithoutEffectIsTold) {
  EXPECT_TRUE(warnings_of(LossFlags{}).empty());
  ASSERT_EQ(warnings_of({.loss_scaling = 128}).size(), 1u);
  EXPECT_SAYS(warnings_of({.loss_scaling = 128})[0], "--loss-scaling 128 has no effect");
}

TEST(LossFlags, SmoothingIsForClassifiers) {
  EXPECT_EQ(make_loss({}, "mean_squared_error").name(), "mean_squared_error");
  EXPECT_EQ(make_loss({.label_smoothing = 0.0}, "mean_squared_error").name(), "mean_squared_error");
  const Loss smooth = make_loss({.label_smoothing = 0.1}, "sparse_categorical_crossentropy");
  EXPECT_EQ(smooth.labels(), LabelKind::classes);
  EXPECT_SAYS(testing_support::error_of<UsageError>(
                  [] { make_loss({.label_smoothing = 0.1}, "mean_squared_error"); }),
              "--label-smoothing: the model is trained with mean_squared_error");
}

}  // namespace
}  // namespace pando::app
