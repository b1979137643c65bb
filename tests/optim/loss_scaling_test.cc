#include "pando/optim/loss_scaling.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pando/base/random.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

LossScaling automatic(const AutoLossScaling& options = {}) {
  return {.automatic = true, .options = options};
}

// Computes the factor directly from the definition: goes through all counts of a run from the
// start.
double factor_after(const AutoLossScaling& options, const std::vector<GradientCounts>& updates) {
  double factor = options.initial_loss_scaling_factor;
  double below = 0;
  double beyond = 0;
  const auto period = static_cast<size_t>(options.update_frequency);
  for (size_t end = period; end <= updates.size(); end += period) {
    double new_below = 0;
    double new_beyond = 0;
    for (size_t i = end - period; i < end; ++i) {
      if (!options.accumulate_statistics_over_update_period && i + 1 != end) continue;
      new_below += updates[i][0];
      new_beyond += updates[i][1];
    }
    below = options.lpf_alpha * below + (1 - options.lpf_alpha) * new_below;
    beyond = options.lpf_alpha * beyond + (1 - options.lpf_alpha) * new_beyond;
    const bool any = below + beyond > 0;
    const bool shrink = any && beyond / (below + beyond) > options.ratio_threshold;
    const double other =
        shrink ? factor / options.increase_factor : factor * options.increase_factor;
    if (other >= 1 && other < options.max_loss_scaling_factor) factor = other;
  }
  return factor;
}

TEST(LossScaling, FollowsTheRule) {
  const std::vector<AutoLossScaling> cases = {
      {},
      {.update_frequency = 1},
      {.initial_loss_scaling_factor = 64, .update_frequency = 3, .increase_factor = 4},
      {.update_frequency = 2, .max_loss_scaling_factor = 8},
      {.update_frequency = 3, .accumulate_statistics_over_update_period = false},
      {.update_frequency = 2, .ratio_threshold = 0.3},
      {.update_frequency = 2, .ratio_threshold = 0.3, .lpf_alpha = 0.5},
      {.update_frequency = 1, .ratio_threshold = 0.1, .lpf_alpha = 0.9},
  };
  for (size_t number = 0; number < cases.size(); ++number) {
    LossScaler scaler(automatic(cases[number]));
    std::vector<GradientCounts> updates;
    RandomStream random(number);
    bool shrank = false;
    float before = scaler.factor();
    for (int i = 0; i < 200; ++i) {
      const bool many = i / 40 % 2 == 1;
      updates.push_back({static_cast<double>(random.next_below(1000)),
                         many ? static_cast<double>(random.next_below(1000)) : 0});
      scaler.update(updates.back());
      ASSERT_EQ(static_cast<double>(scaler.factor()), factor_after(cases[number], updates))
          << "case " << number << ", update " << i;
      shrank = shrank || scaler.factor() < before;
      before = scaler.factor();
    }
    EXPECT_TRUE(shrank) << "case " << number << " did not see both directions";
  }
}

TEST(LossScaling, TheFactorChangesWithEveryPeriod) {
  LossScaler scaler(automatic());
  for (int update = 1; update <= 24; ++update) {
    scaler.update({100, 0});
    EXPECT_EQ(scaler.factor(), std::exp2(static_cast<float>(update / 8))) << update;
  }
}

TEST(LossScaling, GrowsWithoutGradientsAndStaysBelowTheLimit) {
  LossScaler scaler(automatic({.update_frequency = 1}));
  for (int update = 0; update < 40; ++update) scaler.update({});
  EXPECT_EQ(scaler.factor(), 16384);
}

TEST(LossScaling, StaysAtLeastOne) {
  LossScaler scaler(automatic({.initial_loss_scaling_factor = 4, .update_frequency = 1}));
  std::vector<float> factors;
  for (int update = 0; update < 4; ++update) {
    scaler.update({0, 1});
    factors.push_back(scaler.factor());
  }
  EXPECT_EQ(factors, (std::vector<float>{2, 1, 1, 1}));
}

TEST(LossScaling, AFactorBeyondTheLimitComesBack) {
  LossScaler scaler(
      {.automatic = true, .options = {.update_frequency = 1, .max_loss_scaling_factor = 64}});
  scaler.restore({.factor = 256});
  scaler.update({1, 0});
  EXPECT_EQ(scaler.factor(), 256);  // it does not grow
  scaler.update({0, 1});
  EXPECT_EQ(scaler.factor(), 128);
}

TEST(LossScaling, TheThresholdItselfIsNotAboveIt) {
  LossScaler scaler(automatic({.update_frequency = 1, .ratio_threshold = 0.25}));
  scaler.update({3, 1});
  EXPECT_EQ(scaler.factor(), 2);
  scaler.update({2.9, 1});
  EXPECT_EQ(scaler.factor(), 1);
}

TEST(LossScaling, CountsOnlyWhatItUses) {
  LossScaler all(automatic({.update_frequency = 3}));
  LossScaler last(
      automatic({.update_frequency = 3, .accumulate_statistics_over_update_period = false}));
  for (int update = 0; update < 6; ++update) {
    EXPECT_TRUE(all.counts());
    EXPECT_EQ(last.counts(), update % 3 == 2) << update;
    all.update({1, 0});
    last.update({1, 0});
  }
  EXPECT_FALSE(LossScaler({.factor = 128}).counts());
}

TEST(LossScaling, AStaticFactorStays) {
  LossScaler scaler({.factor = 100});
  for (int update = 0; update < 20; ++update) scaler.update({0, 1});
  EXPECT_EQ(scaler.factor(), 100);
  EXPECT_FALSE(scaler.automatic());
  EXPECT_EQ(LossScaler({.factor = 0}).factor(), 1);
  EXPECT_EQ(LossScaler().factor(), 1);
}

TEST(LossScaling, GoesOnFromAStateAsIfNothingHadHappened) {
  const LossScaling scaling = automatic({.update_frequency = 4, .lpf_alpha = 0.5});
  const auto counts = [](int update) { return GradientCounts{100, update % 7 == 0 ? 3.0 : 0.0}; };
  for (int stop = 0; stop < 16; ++stop) {
    LossScaler whole(scaling);
    LossScaler second(scaling);
    for (int update = 0; update < 40; ++update) {
      if (update == stop) second.restore(LossScalerState::of(whole.state().numbers()));
      whole.update(counts(update));
      if (update >= stop) second.update(counts(update));
    }
    EXPECT_EQ(whole.state(), second.state()) << "stopped before update " << stop;
  }
}

TEST(LossScaling, ResetsToTheBeginning) {
  LossScaler scaler(automatic({.initial_loss_scaling_factor = 8, .update_frequency = 2}));
  const LossScalerState first = scaler.state();
  for (int update = 0; update < 5; ++update) scaler.update({1, 0});
  EXPECT_NE(scaler.state(), first);
  scaler.reset();
  EXPECT_EQ(scaler.state(), first);
}

TEST(LossScaling, SaysWhatItDoes) {
  EXPECT_EQ(to_string(LossScaling{}), "none");
  EXPECT_EQ(to_string(LossScaling{.factor = 0}), "none");
  EXPECT_EQ(to_string(LossScaling{.factor = 512}), "512");
  EXPECT_EQ(to_string(LossScaling{.factor = 16777216}), "16777216");
  EXPECT_EQ(to_string(LossScaling{.factor = 0.5}), "0.5");
  EXPECT_EQ(to_string(automatic()),
            "automatic from 1, by 2 every 8 weight updates, below 32768, at most 1e-05 of the "
            "gradients beyond 8192");
  EXPECT_EQ(to_string(automatic({.update_frequency = 1,
                                 .accumulate_statistics_over_update_period = false,
                                 .lpf_alpha = 0.5})),
            "automatic from 1, by 2 every 1 weight update, below 32768, at most 1e-05 of the "
            "gradients beyond 8192 in the last one, filtered by 0.5");
}

TEST(LossScaling, WrongOptionsAreNamed) {
  struct Case {
    AutoLossScaling options;
    std::string name;
    std::string got;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Case> cases = {
      {{.initial_loss_scaling_factor = 3}, "initial_loss_scaling_factor", "got 3"},
      {{.initial_loss_scaling_factor = 0.5}, "initial_loss_scaling_factor", "got 0.5"},
      {{.initial_loss_scaling_factor = -2}, "initial_loss_scaling_factor", "got -2"},
      {{.initial_loss_scaling_factor = nan}, "initial_loss_scaling_factor", "got"},
      {{.increase_factor = 1.5}, "increase_factor: expected a power of two from 2", "got 1.5"},
      {{.increase_factor = 1}, "increase_factor", "got 1"},
      {{.max_loss_scaling_factor = 30000}, "max_loss_scaling_factor", "got 30000"},
      {{.max_loss_scaling_factor = std::exp2(100)}, "max_loss_scaling_factor", "got"},
      {{.initial_loss_scaling_factor = 32768},
       "initial_loss_scaling_factor: expected less than 32768 (max_loss_scaling_factor)",
       "got 32768"},
      {{.initial_loss_scaling_factor = 16384},
       "initial_loss_scaling_factor * increase_factor",
       "got 32768"},
      {{.update_frequency = 0}, "update_frequency", "got 0"},
      {{.ratio_threshold = 0}, "ratio_threshold", "got 0"},
      {{.ratio_threshold = 1}, "ratio_threshold: expected above 0 and below 1", "got 1"},
      {{.ratio_threshold = nan}, "ratio_threshold", "got"},
      {{.lpf_alpha = 1}, "lpf_alpha: expected at least 0 and below 1", "got 1"},
      {{.lpf_alpha = -0.1}, "lpf_alpha", "got -0.1"},
      {{.histogram_bin_edge = 0}, "histogram_bin_edge: expected at least 1e-30", "got 0"},
      {{.histogram_bin_edge = 65504}, "histogram_bin_edge", "below 65504"},
      {{.captured_grads_only = true}, "captured_grads_only: expected false", "got true"},
  };
  for (const Case& wrong : cases) {
    EXPECT_SAYS(error_of([&] { validate(automatic(wrong.options)); }), wrong.name, wrong.got);
    EXPECT_NO_THROW(validate({.options = wrong.options})) << "not used, so not checked";
  }
  for (const double factor : {-1.0, 1e300, 1e-300, nan}) {
    EXPECT_SAYS(error_of([&] { LossScaler({.factor = factor}); }), "loss scaling factor", "got");
  }
  EXPECT_NO_THROW(validate(automatic({.max_loss_scaling_factor = std::exp2(99)})));
}

}  // namespace
}  // namespace pando
