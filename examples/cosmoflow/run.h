// What both styles of training share: who tells, what is written, the network and the optimizer.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <pando/pando.h>

#include "config.h"
#include "pando/app/job/agreed_signal.h"
#include "pando/app/job/instances.h"

namespace cosmo {

struct Run {
  const Config& config;
  const pando::app::Instances& instances;
  pando::app::AgreedSignal& signal;

  // A line on standard output, at once, of the first instance.
  void tell(std::string_view line) const;
  // Replaces a file of the output folder; the first instance does it. Throws IoError everywhere.
  void write(const std::string& name, const std::string& text) const;
  std::string path(const std::string& name) const { return config.output_dir + "/" + name; }
};

pando::Network make_network(const Config& config);
pando::Optimizer make_optimizer(const Config& config);
double learning_rate(const Config& config);                     // after scaling
std::vector<pando::Metric> make_metrics(const Config& config);  // mae always is one

// How many steps training takes.
struct Plan {
  int64_t loops = 0;            // executions of iterations_per_loop steps
  int64_t loops_per_epoch = 0;  // 0: the end of an epoch lies within a loop
  int64_t steps = 0;            // that the epochs have; those beyond the loops are left out
};
// Throws UsageError with the rule and a remedy when there is no whole loop, or, for an estimator,
// when the steps are not whole loops.
Plan make_plan(const Config& config);

// "loss 0.0123, mae 0.0811"
std::string text_of(const pando::Logs& logs);

}  // namespace cosmo
