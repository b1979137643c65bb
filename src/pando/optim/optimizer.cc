// SPDX-License-Identifier: MIT
#include "pando/optim/optimizer.h"

#include <limits>

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

Optimizer with_layer_rates(Optimizer optimizer, std::map<std::string, double> factors) {
  for (const auto& [layer, factor] : factors) {
    if (factor >= 0 && factor <= std::numeric_limits<float>::max()) continue;
    throw InvalidArgument("the factor on the learning rate of layer '", layer,
                          "': expected a finite number of 0 or more that 32 bits can hold, got ",
                          factor);
  }
  optimizer.layer_rates = std::move(factors);
  return optimizer;
}

double Optimizer::rate_factor(const std::string& variable) const {
  const auto found = layer_rates.find(variable.substr(0, variable.rfind('/')));
  return found == layer_rates.end() ? 1 : found->second;
}

bool is_scale_or_shift(std::string_view variable) {
  const std::string_view own = variable.substr(variable.rfind('/') + 1);
  for (const char* word : {"beta", "gamma", "bias"}) {
    if (own.find(word) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace pando
