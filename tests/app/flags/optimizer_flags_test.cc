#include "pando/app/flags/optimizer_flags.h"

#include <cmath>

#include "tests/app/parse_options.h"

namespace pando::app {
namespace {

constexpr const char* kLars =
    "--optimizer-params={momentum: 0.9, weight_decay: 5e-5, eeta: 0.001, epsilon: 0}";

Optimizer optimizer_of(const std::vector<std::string>& args) {
  const TrainOptions options = parse(args);
  const int64_t batch = options.devices.batch(options.micro_batch_size).global_batch_size;
  return make_optimizer(options.optimizer, 0.5, batch);
}

// The weight after two updates from 1 with a gradient of 0.5 and a rate of 0.5.
double after_two(const Optimizer& optimizer) {
  float w = 1, a = 0, b = 0;
  const float g = 0.5;
  for (int64_t t = 0; t < 2; ++t) {
    const UpdateNorms norms{static_cast<double>(w), 0.5};
    optimizer.rule->apply(
        {.weights = &w, .gradient = &g, .slots = {&a, &b}, .count = 1, .norms = norms}, {0.5, t});
  }
  return static_cast<double>(w);
}

TEST(OptimizerFlags, EveryKindIsMade) {
  EXPECT_EQ(optimizer_of({}).rule->name(), "sgd");
  for (const char* name : {"sgd", "adam", "adamw", "rmsprop", "adadelta"}) {
    EXPECT_EQ(optimizer_of({"--optimizer", name}).rule->name(), name);
  }
  EXPECT_EQ(optimizer_of({"--optimizer=lars", kLars}).rule->name(), "lars");
}

TEST(OptimizerFlags, ParametersReachTheRule) {
  EXPECT_NEAR(after_two(optimizer_of({})), 1 - 0.25 - (0.9 * 0.25 + 0.25), 1e-6);
  EXPECT_NEAR(after_two(optimizer_of({"--optimizer-params={momentum: 0}"})), 0.5, 1e-6);
  EXPECT_NEAR(after_two(optimizer_of({"--optimizer-params={momentum: 0.5, nesterov: true}"})),
              after_two(SGD({.momentum = 0.5, .nesterov = true})), 0);
  EXPECT_NEAR(after_two(optimizer_of({"--optimizer=adam",
                                      "--optimizer-params={beta_1: 0.5, beta_2: 0.6, epsilon: "
                                      "0.1}"})),
              after_two(Adam({.beta_1 = 0.5, .beta_2 = 0.6, .epsilon = 0.1})), 0);
  EXPECT_NEAR(
      after_two(optimizer_of({"--optimizer=adamw", "--optimizer-params={weight_decay: 0.3}"})),
      after_two(AdamW({.weight_decay = 0.3})), 0);
  EXPECT_NEAR(after_two(optimizer_of({"--optimizer=adadelta", "--optimizer-params={rho: 0.5}"})),
              after_two(Adadelta({.rho = 0.5})), 0);
  EXPECT_NEAR(
      after_two(optimizer_of({"--optimizer=lars",
                              "--optimizer-params={momentum: 0.5, weight_decay: 0.1, "
                              "eeta: 0.2, epsilon: 0.3, nesterov: true}"})),
      after_two(LARS(
          {.momentum = 0.5, .weight_decay = 0.1, .eeta = 0.2, .epsilon = 0.3, .nesterov = true})),
      0);
}

TEST(OptimizerFlags, RegularizationReachesTheOptimizer) {
  const Optimizer sgd = optimizer_of({"--weight-decay=0.1", "--l2-regularization", "1e-4"});
  EXPECT_EQ(sgd.regularization.weight_decay, 0.1);
  EXPECT_EQ(sgd.regularization.l2, 1e-4);
  EXPECT_EQ(optimizer_of({"--optimizer=adamw", "--l2-regularization=0.5"}).regularization.l2, 0.5);
  EXPECT_SAYS(error({"--optimizer=adamw", "--weight-decay=0.1"}),
              "--weight-decay: adamw decays the weights itself");
}

TEST(OptimizerFlags, KeysBelongToTheOptimizer) {
  EXPECT_SAYS(error({"--optimizer", "adam", "--optimizer-params", "{momentum: 0.9}"}),
              "--optimizer-params: adam ", "'momentum'", "beta_1, beta_2, epsilon");
  EXPECT_SAYS(error({"--optimizer=adadelta", "--optimizer-params={beta_1: 0.1}"}), "'beta_1'");
  EXPECT_SAYS(error({"--optimizer-params={eeta: 0.1}"}), "sgd", "'eeta'");
}

TEST(OptimizerFlags, LarsWantsAllOfItsKeys) {
  EXPECT_SAYS(error({"--optimizer=lars", "--optimizer-params={momentum: 0.9, eeta: 0.001}"}),
              "--optimizer-params: lars ", "momentum, weight_decay, eeta, epsilon",
              "got momentum, eeta", "missing weight_decay, epsilon");
  EXPECT_SAYS(error({"--optimizer=lars"}), "got no keys");
}

TEST(OptimizerFlags, NumbersOutOfRangeAreToldBeforeTheRun) {
  EXPECT_SAYS(error({"--optimizer-params={nesterov: true, momentum: 0}"}),
              "--optimizer-params: sgd: nesterov");
  EXPECT_SAYS(error({"--optimizer-params={momentum: 1}"}), "below 1");
  EXPECT_SAYS(error({"--optimizer=adam", "--optimizer-params={epsilon: 0}"}), "epsilon", "got 0");
}

TEST(OptimizerFlags, RmspropTakesRhoOrItsExponent) {
  // 1 - 2^-8 * 64 = 0.75
  const Optimizer by_exponent =
      optimizer_of({"--optimizer=rmsprop",
                    "--optimizer-params={momentum: 0.5, base_decay_exponent: -8, epsilon: 1e-3}"});
  double s = 0, v = 0, w = 1;
  for (int i = 0; i < 2; ++i) {
    s = 0.75 * s + 0.25 * 0.25;
    v = 0.5 * v + 0.5 * 0.5 / std::sqrt(s + 1e-3);
    w -= v;
  }
  EXPECT_NEAR(after_two(by_exponent), w, 1e-6);
  const Optimizer by_rho = optimizer_of(
      {"--optimizer=rmsprop", "--optimizer-params={momentum: 0.5, rho: 0.75, epsilon: 1e-3}"});
  EXPECT_EQ(after_two(by_rho), after_two(by_exponent));
}

TEST(OptimizerFlags, RmspropsExponentFollowsTheGlobalBatch) {
  const std::string params =
      "--optimizer-params={momentum: 0, base_decay_exponent: -8, epsilon: 1e-3}";
  const std::string message = error({"--optimizer=rmsprop", params, "--global-batch-size=512"});
  EXPECT_SAYS(message, "--optimizer-params: base_decay_exponent", "at most -9", "512", "got -8",
              "rho = 1 - 2^-8 * 512 = -1");
  EXPECT_SAYS(error({"--optimizer=rmsprop", "--optimizer-params={base_decay_exponent: -8}"}),
              "--optimizer-params: rmsprop with base_decay_exponent ",
              "momentum, base_decay_exponent, epsilon", "got base_decay_exponent",
              "missing momentum, epsilon");
  EXPECT_SAYS(error({"--optimizer=rmsprop",
                     "--optimizer-params={rho: 0.9, momentum: 0, base_decay_exponent: -8, "
                     "epsilon: 1e-3}"}),
              "rmsprop with base_decay_exponent ", "'rho'");
}

}  // namespace
}  // namespace pando::app
