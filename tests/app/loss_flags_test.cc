#include "pando/app/loss_flags.h"

#include <algorithm>
#include <cmath>

#include "pando/nn/layers.h"
#include "pando/train/model.h"
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

// y = onehot (1 - s) + s / K,  -sum(y log p) per sample.
TEST(LossFlags, SmoothedLossFollowsItsFormula) {
  constexpr double kSmoothing = 0.2;
  constexpr int64_t kClasses = 4, kSamples = 6;
  Tensor x(DType::f32, {kSamples, 3});
  for (size_t i = 0; i < x.f32().size(); ++i) {
    x.f32()[i] = std::sin(static_cast<float>(i)) * 3;
  }
  const Tensor labels = Tensor::of_i32({kSamples}, {0, 1, 2, 3, 1, 0});
  Model model(Sequential({3}, {Dense({.units = kClasses, .activation = "softmax"})}));
  model.compile(
      {.loss = make_loss({.label_smoothing = kSmoothing}, "sparse_categorical_crossentropy")});
  const Tensor p = model.predict(x);
  double sum = 0;
  for (int64_t n = 0; n < kSamples; ++n) {
    for (int64_t k = 0; k < kClasses; ++k) {
      const double given = labels.i32()[static_cast<size_t>(n)] == k ? 1 : 0;
      const double y = given * (1 - kSmoothing) + kSmoothing / static_cast<double>(kClasses);
      const auto probability = static_cast<double>(p.f32()[static_cast<size_t>(n * kClasses + k)]);
      sum -= y * std::log(std::clamp(probability, 1e-7, 1 - 1e-7));
    }
  }
  EXPECT_NEAR(model.evaluate(x, labels)[0].second, sum / static_cast<double>(kSamples), 1e-6);
}

}  // namespace
}  // namespace pando::app
