// Code shared by both styles of training: output, files, the network and the optimizer.
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

  // Prints a line to standard output immediately; only the first instance prints.
  void tell(std::string_view line) const;
  // Replaces a file in the output folder; only the first instance writes. Throws IoError in all
  // instances.
  void write(const std::string& name, const std::string& text) const;
  std::string path(const std::string& name) const { return config.output_dir + "/" + name; }
};

pando::Network make_network(const Config& config);
pando::Optimizer make_optimizer(const Config& config);
double learning_rate(const Config& config);                     // after scaling
std::vector<pando::Metric> make_metrics(const Config& config);  // always includes mae

// The number of steps of training.
struct Plan {
  int64_t loops = 0;            // executions of iterations_per_loop steps
  int64_t loops_per_epoch = 0;  // 0: an epoch ends within a loop
  int64_t steps = 0;            // steps of all epochs; steps after the last whole loop are skipped
};
// Throws UsageError, with the rule and a remedy, if the steps do not fill one loop or, for an
// estimator, are not a multiple of a loop.
Plan make_plan(const Config& config);

// "loss 0.0123, mae 0.0811"
std::string text_of(const pando::Logs& logs);

}  // namespace cosmo
