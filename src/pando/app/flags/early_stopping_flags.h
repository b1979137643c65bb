// The flags that end training early when a metric no longer improves.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pando/app/flags/validation_flags.h"
#include "pando/app/job/instances.h"
#include "pando/options/options.h"
#include "pando/train/early_stopping.h"

namespace pando::app {

// Where --restore-best saves the weights of the best epoch, in the run directory.
inline constexpr const char* kBestEpochFile = "best_epoch.h5";

struct EarlyStoppingFlags {
  std::string monitor;              // a column of the history; empty: off
  std::optional<int64_t> patience;  // 0 if not given
  std::optional<double> min_delta;  // 0 if not given
  bool restore_best = false;

  bool monitors_validation() const { return monitor.starts_with("val_"); }
  bool on() const { return !monitor.empty(); }
};

void add_early_stopping_flags(OptionTable& table, EarlyStoppingFlags& flags);

// Throws UsageError for a metric that the run does not measure, and for flags that need
// --early-stopping.
void validate(const EarlyStoppingFlags& flags, const ValidationFlags& phases);

// Makes the callback of a run; null without --early-stopping. If the run was resumed, instance 0
// reads the values of earlier epochs from history.json in the run directory.
struct EarlyStoppingPlace {
  const Instances& instances;
  std::filesystem::path directory;
  std::function<void(const std::string&)> tell;
  // Called on all instances at the end: the model has the saved weights of the best epoch, after
  // `epoch` epochs.
  std::function<void(int64_t epoch)> restored = nullptr;
};
std::shared_ptr<Callback> early_stopping_callback(const EarlyStoppingFlags& flags,
                                                  const EarlyStoppingPlace& run);

}  // namespace pando::app
