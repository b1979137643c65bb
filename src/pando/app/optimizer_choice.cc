// SPDX-License-Identifier: MIT
#include "pando/app/optimizer_choice.h"

#include "pando/base/error.h"

namespace pando::app {

Optimizer make_optimizer(const TrainOptions& options, int64_t global_batch_size) {
  const OptimizerParams& given = options.optimizer_params;
  const double rate = options.effective_learning_rate(global_batch_size);
  switch (options.optimizer) {
    case OptimizerKind::sgd:
      return SGD({.learning_rate = rate,
                  .momentum = given.momentum.value_or(0.9),
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
                      .rho = given.rho.value_or(RmspropOptions{}.rho),
                      .momentum = given.momentum.value_or(0.0),
                      .epsilon = given.epsilon.value_or(RmspropOptions{}.epsilon)});
    case OptimizerKind::adadelta:
      return Adadelta({.learning_rate = rate,
                       .rho = given.rho.value_or(AdadeltaOptions{}.rho),
                       .epsilon = given.epsilon.value_or(AdadeltaOptions{}.epsilon)});
  }
  throw InternalError("an optimizer without a case");
}

}  // namespace pando::app
