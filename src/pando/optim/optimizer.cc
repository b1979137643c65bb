// SPDX-License-Identifier: MIT
#include "pando/optim/optimizer.h"

#include "pando/base/error.h"
#include "pando/optim/ranges.h"

namespace pando {

Optimizer regularized(Optimizer optimizer, const Regularization& regularization) {
  PANDO_CHECK(optimizer.rule != nullptr);
  const std::string name = optimizer.rule->name();
  optim::require_not_negative(name.c_str(), "weight_decay", regularization.weight_decay);
  optim::require_not_negative(name.c_str(), "l2", regularization.l2);
  if (regularization.weight_decay > 0 && optimizer.rule->decays_weights()) {
    throw InvalidArgument(name, ": weight_decay: expected 0, got ", regularization.weight_decay,
                          "; ", name,
                          " decays the weights itself, set weight_decay in its own options");
  }
  optimizer.regularization = regularization;
  return optimizer;
}

bool is_scale_or_shift(std::string_view variable) {
  const std::string_view own = variable.substr(variable.rfind('/') + 1);
  for (const char* word : {"beta", "gamma", "bias"}) {
    if (own.find(word) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace pando
