#include "pando/app/flags/loss_flags.h"

#include <algorithm>
#include <cmath>

#include "pando/base/cpu.h"
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

TEST(LossFlags, ParametersOfAutomaticScalingReachTheirOptions) {
  const LossFlags flags =
      parse({"--auto-loss-scaling",
             "--auto-loss-scaling-params={initial_loss_scaling_factor: 4, update_frequency: 3, "
             "increase_factor: 8, max_loss_scaling_factor: 1024, "
             "accumulate_statistics_over_update_period: false, ratio_threshold: 0.25, "
             "lpf_alpha: 0.5, histogram_bin_edge: 100, captured_grads_only: false}"})
          .loss;
  const LossScaling scaling = flags.scaling(2);
  EXPECT_TRUE(scaling.automatic);
  EXPECT_EQ(to_string(scaling),
            "automatic from 4, by 8 every 3 weight updates, below 1024, at most 0.25 of the "
            "gradients beyond 100 in the last one, filtered by 0.5");
  EXPECT_EQ(flags.describe_scaling(2), "loss scaling " + to_string(scaling));
  // Missing keys have the defaults of the library.
  EXPECT_EQ(to_string(parse({"--auto-loss-scaling"}).loss.scaling(1)),
            to_string(LossScaling{.automatic = true}));
}

TEST(LossFlags, ErrorsNameTheFlag) {
  EXPECT_SAYS(error({"--auto-loss-scaling-params={increase_factor: 3}"}),
              "--auto-loss-scaling-params: increase_factor", "power of two", "got 3");
  EXPECT_SAYS(error({"--auto-loss-scaling-params={captured_grads_only: true}"}),
              "--auto-loss-scaling-params: captured_grads_only", "got true");
  const std::string unknown = error({"--auto-loss-scaling-params={frequency: 8}"});
  EXPECT_SAYS(unknown, "auto-loss-scaling-params");
  EXPECT_SAYS(unknown, "update_frequency");
  EXPECT_SAYS(error({"--loss-scaling=1e-300"}), "--loss-scaling: ", "got 1e-300");
  EXPECT_SAYS(error({"--loss-scaling=1e21"}), "--loss-scaling");
}

TEST(LossFlags, AStaticFactorIsForEveryReplica) {
  const LossFlags flags{.loss_scaling = 128};
  EXPECT_EQ(flags.scaling(4).factor, 512);
  EXPECT_EQ(flags.describe_scaling(4), "loss scaling 128 x 4 replicas = 512");
  EXPECT_EQ(flags.describe_scaling(1), "loss scaling 128 x 1 replica = 128");
  EXPECT_EQ(LossFlags{}.describe_scaling(4), "");
  EXPECT_EQ(LossScaler(LossFlags{}.scaling(4)).factor(), 1);
}

TEST(LossFlags, ScalingWithoutEffectIsTold) {
  const Precision full;
  const Precision half{DType::f16, DType::f16};
  const Precision wide{DType::bf16, DType::f32};
  const auto only = [](const LossFlags& flags, const Precision& precision) {
    const std::vector<std::string> warnings = warnings_of(flags, precision);
    EXPECT_EQ(warnings.size(), 1u);
    return warnings.empty() ? "" : warnings[0];
  };
  const LossFlags automatic{.auto_loss_scaling = true};
  for (const Precision& precision : {full, half, wide}) {
    EXPECT_TRUE(warnings_of(LossFlags{}, precision).empty());
  }
  EXPECT_TRUE(warnings_of({.loss_scaling = 128}, half).empty());
  EXPECT_TRUE(warnings_of(automatic, half).empty());
  EXPECT_SAYS(only({.loss_scaling = 128}, full), "--loss-scaling 128 gains nothing in 32.32");
  EXPECT_SAYS(only(automatic, full), "--auto-loss-scaling gains nothing in 32.32");
  EXPECT_SAYS(only({.loss_scaling = 128}, wide), "--loss-scaling 128 gains nothing in bf16.32");
  EXPECT_SAYS(only(automatic, wide), "--auto-loss-scaling gains nothing in bf16.32");
  EXPECT_SAYS(only({.loss_scaling = 128, .auto_loss_scaling = true}, half), "--loss-scaling 128 ",
              "--auto-loss-scaling");
  EXPECT_SAYS(only({.auto_loss_scaling_params = {.update_frequency = 4}}, half),
              "--auto-loss-scaling-params has no effect without");
}

TEST(LossFlags, FactorsThatF16CannotRepresentAreTold) {
  const Precision half{DType::f16, DType::f32};
  for (const double factor : {1e20, 1e-20, 65505.0}) {
    const std::vector<std::string> warnings = warnings_of({.loss_scaling = factor}, half);
    ASSERT_EQ(warnings.size(), 1u) << factor;
    EXPECT_SAYS(warnings[0], "--loss-scaling ", "f16", "--auto-loss-scaling");
  }
  EXPECT_TRUE(warnings_of({.loss_scaling = 32768}, half).empty());
}

TEST(LossFlags, ProcessorsWithoutHalfProductsAreTold) {
  const Precision f16{DType::f16, DType::f32};
  const Precision bf16{DType::bf16, DType::f32};
  EXPECT_EQ(slow_half({}, {}), "");
  EXPECT_SAYS(slow_half(f16, {"avx512f", "avx512_bf16"}), "--precision 16.32", "f16", "slower");
  EXPECT_SAYS(slow_half(bf16, {"avx2", "f16c"}), "--precision bf16.32", "bf16", "slower");
  if (!requested_isa().empty()) GTEST_SKIP() << "PANDO_ISA is set";
  EXPECT_EQ(slow_half(bf16, {"avx512f", "avx512_bf16"}), "");
  EXPECT_EQ(slow_half(f16, {"avx512_fp16"}), "");
}

TEST(LossFlags, SmoothingIsForClassifiers) {
  EXPECT_EQ(make_loss({}, "mean_squared_error").name(), "mean_squared_error");
  EXPECT_EQ(make_loss({.label_smoothing = 0.0}, "mean_squared_error").name(), "mean_squared_error");
  const Loss smooth = make_loss({.label_smoothing = 0.1}, "sparse_categorical_crossentropy");
  EXPECT_EQ(smooth.labels(), LabelKind::classes);
  EXPECT_SAYS(testing_support::error_of<UsageError>(
                  [] { make_loss({.label_smoothing = 0.1}, "mean_squared_error"); }),
              "--label-smoothing: ", "mean_squared_error");
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
