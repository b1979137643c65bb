// SPDX-License-Identifier: MIT
#include "pando/optim/optimizers.h"

#include <algorithm>

#include "pando/base/error.h"

namespace pando {

namespace optim {

const std::vector<OptimizerRecord>& optimizers() {
  static const std::vector<OptimizerRecord> records = {
      sgd_optimizer(),     lars_optimizer(),     adam_optimizer(),    adamw_optimizer(),
      rmsprop_optimizer(), adadelta_optimizer(), adagrad_optimizer(),
  };
  return records;
}

const OptimizerRecord& optimizer_record(std::string_view name) {
  const auto found = std::ranges::find(optimizers(), name, &OptimizerRecord::name);
  if (found != optimizers().end()) return *found;
  throw InvalidArgument(unknown_name_message("optimizer", name, optimizer_names()));
}

}  // namespace optim

Optimizer::Optimizer(const char* name) : Optimizer(make_optimizer(name)) {}
Optimizer::Optimizer(const std::string& name) : Optimizer(make_optimizer(name)) {}

Optimizer make_optimizer(const std::string& name) {
  const optim::OptimizerRecord& record = optim::optimizer_record(name);
  const optim::OptimizerForm& usual = record.forms.front();
  optim::OptimizerSettings settings{.learning_rate = record.learning_rate, .values = {}};
  for (const optim::OptimizerOption& option : usual.options) {
    settings.values[option.name] = option.fallback;
  }
  return usual.make(settings);
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const optim::OptimizerRecord& record : optim::optimizers()) names.push_back(record.name);
  return names;
}

}  // namespace pando
