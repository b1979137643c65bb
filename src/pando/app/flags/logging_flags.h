// Flags for the records of a run besides its history: event files for TensorBoard, a record of the
// experiment, a page to read.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/options/fraction.h"
#include "pando/options/options.h"

namespace pando::app {

struct LoggingFlags {
  bool tensorboard = true;
  Fraction histograms_per_epoch;  // of the weights
  bool wandb = false;
  std::string wandb_run_name;  // empty: <model>-<dataset>-<time>
  std::vector<std::string> wandb_tags;
  bool report = false;  // report.html at the end
};

void add_logging_flags(OptionTable& table, LoggingFlags& flags);

// Throws UsageError for histograms without event files, which would hold them.
void validate(const LoggingFlags& flags);

// Warnings about flags that have no effect.
std::vector<std::string> warnings_of(const LoggingFlags& flags);

}  // namespace pando::app
