// The flags that end a training whose figures have stopped getting better.
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
  std::optional<int64_t> patience;  // 0 when not given
  std::optional<double> min_delta;  // likewise
  bool restore_best = false;

  bool monitors_validation() const { return monitor.starts_with("val_"); }
  bool on() const { return !monitor.empty(); }
};

void add_early_stopping_flags(OptionTable& table, EarlyStoppingFlags& flags);

// Throws UsageError for a figure that the run does not have, and for flags without
// --early-stopping.
void validate(const EarlyStoppingFlags& flags, const ValidationFlags& phases);

// The callback of a run; values of its epochs before it was resumed come from the history.json of
// its directory, which the first instance reads. Null without the flag.
struct EarlyStoppingPlace {
  const Instances& instances;
  std::filesystem::path directory;
  std::function<void(const std::string&)> tell;
  // On all instances, at the end: the model has the weights after so many epochs, which are saved.
  std::function<void(int64_t epoch)> restored = nullptr;
};
std::shared_ptr<Callback> early_stopping_callback(const EarlyStoppingFlags& flags,
                                                  const EarlyStoppingPlace& run);

}  // namespace pando::app
