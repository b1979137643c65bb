// SPDX-License-Identifier: MIT
#include "pando/app/flags/optimizer_flags.h"

#include <cmath>
#include <utility>

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/options/dictionary_keys.h"

namespace pando::app {
namespace {

constexpr double kInitialLearningRate = 1.5625e-4;  // per sample of the global batch
constexpr double kAdaptiveLearningRate = 0.001;

const std::vector<std::pair<std::string, OptimizerKind>>& optimizer_names() {
  static const std::vector<std::pair<std::string, OptimizerKind>> names = {
      {"sgd", OptimizerKind::sgd},         {"lars", OptimizerKind::lars},
      {"adam", OptimizerKind::adam},       {"adamw", OptimizerKind::adamw},
      {"rmsprop", OptimizerKind::rmsprop}, {"adadelta", OptimizerKind::adadelta}};
  return names;
}

WantedKeys keys_of(const OptimizerFlags& flags) {
  switch (flags.kind) {
    case OptimizerKind::sgd: return {"sgd", {}, {"momentum", "nesterov"}};
    case OptimizerKind::lars:
      return {"lars", {"momentum", "weight_decay", "eeta", "epsilon"}, {"nesterov"}};
    case OptimizerKind::adam: return {"adam", {}, {"beta_1", "beta_2", "epsilon"}};
    case OptimizerKind::adamw:
      return {"adamw", {}, {"beta_1", "beta_2", "epsilon", "weight_decay"}};
    case OptimizerKind::adadelta: return {"adadelta", {}, {"rho", "epsilon"}};
    case OptimizerKind::rmsprop: break;
  }
  if (flags.params.base_decay_exponent) {
    return {"rmsprop with base_decay_exponent", {"momentum", "base_decay_exponent", "epsilon"}, {}};
  }
  return {"rmsprop", {}, {"rho", "momentum", "epsilon", "base_decay_exponent"}};
}

double rho_of(const OptimizerParams& given, int64_t global_batch_size) {
  if (!given.base_decay_exponent) return given.rho.value_or(RmspropOptions{}.rho);
  return 1 - std::exp2(*given.base_decay_exponent) * static_cast<double>(global_batch_size);
}

void check_rho(const OptimizerParams& given, int64_t global_batch_size) {
  if (!given.base_decay_exponent) return;
  const double rho = rho_of(given, global_batch_size);
  if (rho >= 0 && rho < 1) return;
  throw UsageError("--optimizer-params: base_decay_exponent ", *given.base_decay_exponent,
                   " with a global batch of ", global_batch_size, " gives rho = 1 - 2^",
                   *given.base_decay_exponent, " * ", global_batch_size, " = ", rho,
                   ", wanted 0 or more and below 1; the exponent may be at most ",
                   -std::log2(static_cast<double>(global_batch_size)));
}

Optimizer make_rule(const OptimizerFlags& flags, const LearningRate& rate,
                    int64_t global_batch_size) {
  const OptimizerParams& given = flags.params;
  switch (flags.kind) {
    case OptimizerKind::sgd:
      return SGD({.learning_rate = rate,
                  .momentum = given.momentum.value_or(0.9),
                  .nesterov = given.nesterov.value_or(false)});
    case OptimizerKind::lars:
      return LARS({.learning_rate = rate,
                   .momentum = given.momentum.value_or(LarsOptions{}.momentum),
                   .weight_decay = given.weight_decay.value_or(LarsOptions{}.weight_decay),
                   .eeta = given.eeta.value_or(LarsOptions{}.eeta),
                   .epsilon = given.epsilon.value_or(LarsOptions{}.epsilon),
                   .nesterov = given.nesterov.value_or(false)});
    case OptimizerKind::adam:
      return Adam({.learning_rate = rate,
                   .beta_1 = given.beta_1.value_or(AdamOptions{}.beta_1),
                   .beta_2 = given.beta_2.value_or(AdamOptions{}.beta_2),
                   .epsilon = given.epsilon.value_or(AdamOptions{}.epsilon)});
    case OptimizerKind::adamw:
      return AdamW({.learning_rate = rate,
                    .weight_decay = given.weight_decay.value_or(AdamWOptions{}.weight_decay),
                    .beta_1 = given.beta_1.value_or(AdamWOptions{}.beta_1),
                    .beta_2 = given.beta_2.value_or(AdamWOptions{}.beta_2),
                    .epsilon = given.epsilon.value_or(AdamWOptions{}.epsilon)});
    case OptimizerKind::rmsprop:
      return RMSprop({.learning_rate = rate,
                      .rho = rho_of(given, global_batch_size),
                      .momentum = given.momentum.value_or(0.0),
                      .epsilon = given.epsilon.value_or(RmspropOptions{}.epsilon)});
    case OptimizerKind::adadelta:
      return Adadelta({.learning_rate = rate,
                       .rho = given.rho.value_or(AdadeltaOptions{}.rho),
                       .epsilon = given.epsilon.value_or(AdadeltaOptions{}.epsilon)});
  }
  throw InternalError("an optimizer without a case");
}

}  // namespace

void add_optimizer_flags(OptionTable& table, OptimizerFlags& flags) {
  table.begin_group("Optimizer");
  table.add_choice("optimizer", flags.kind, optimizer_names(), "how weights are updated");
  OptionTable& params = table.add_dictionary(
      "optimizer-params",
      "its parameters, as YAML or JSON; else those of Keras, and momentum 0.9 for sgd. lars wants "
      "momentum, weight_decay, eeta and epsilon; rmsprop takes rho, momentum and epsilon, or wants "
      "momentum, base_decay_exponent and epsilon, where rho = 1 - 2^exponent * global batch");
  params.add("momentum", flags.params.momentum, "").at_least(0).at_most(1);
  params.add("nesterov", flags.params.nesterov, "");
  params.add("beta_1", flags.params.beta_1, "").at_least(0).at_most(1);
  params.add("beta_2", flags.params.beta_2, "").at_least(0).at_most(1);
  params.add("rho", flags.params.rho, "").at_least(0).at_most(1);
  params.add("base_decay_exponent", flags.params.base_decay_exponent, "");
  params.add("eeta", flags.params.eeta, "").above(0);
  params.add("epsilon", flags.params.epsilon, "").at_least(0);
  params.add("weight_decay", flags.params.weight_decay, "").at_least(0);
  table
      .add("weight-decay", flags.weight_decay,
           "before its step every weight loses this share of itself times the learning rate; the "
           "optimizer's state does not see it")
      .with_hint("X")
      .at_least(0);
  table
      .add("l2-regularization", flags.l2_regularization,
           "this times the weight is added to its gradient, and so enters the optimizer's state")
      .with_hint("X")
      .at_least(0);
}

void validate(const OptimizerFlags& flags, int64_t global_batch_size) {
  OptimizerFlags copy = flags;
  OptionTable table;
  add_optimizer_flags(table, copy);
  check_keys(table, "optimizer-params", keys_of(flags));
  if (flags.kind == OptimizerKind::rmsprop) check_rho(flags.params, global_batch_size);
  if (flags.kind == OptimizerKind::adamw && flags.weight_decay > 0) {
    throw UsageError(
        "--weight-decay: adamw decays the weights itself; give weight_decay in --optimizer-params "
        "instead, or take --optimizer adam");
  }
  try {
    make_rule(flags, default_rate(flags, global_batch_size), global_batch_size);
  } catch (const InvalidArgument& error) {
    throw UsageError("--optimizer-params: ", error.what());
  }
}

double default_rate(const OptimizerFlags& flags, int64_t global_batch_size) {
  const bool scaled = flags.kind == OptimizerKind::sgd || flags.kind == OptimizerKind::lars;
  return scaled ? kInitialLearningRate * static_cast<double>(global_batch_size)
                : kAdaptiveLearningRate;
}

Optimizer make_optimizer(const OptimizerFlags& flags, LearningRate rate,
                         int64_t global_batch_size) {
  return regularized(make_rule(flags, rate, global_batch_size),
                     {.weight_decay = flags.weight_decay, .l2 = flags.l2_regularization});
}

}  // namespace pando::app
