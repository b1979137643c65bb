// Ends a fit when a figure has stopped getting better, like Keras' callback of the same name.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pando/train/callback.h"

namespace pando {

// automatic: the direction of the metric; see larger_is_better() in nn/losses.h.
enum class MonitorMode { automatic, min, max };

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  int64_t patience = 0;  // allowed epochs in a row without a better value
  double min_delta = 0;  // a smaller change does not count
  MonitorMode mode = MonitorMode::automatic;
  // An improvement that is not better than this does not restart the count of epochs.
  std::optional<double> baseline = std::nullopt;
  bool restore_best = false;  // at the end, restores the weights of the best epoch
  // Epochs (from 0) and their values in a run that this fit continues.
  std::vector<std::pair<int64_t, double>> earlier = {};
  // With restore_best: called at the end, when the model has the weights of this epoch, from 0.
  std::function<void(Model&, int64_t epoch)> at_best = {};
  // Receives messages; empty: they are shown above the progress bar.
  std::function<void(const std::string&)> tell = {};
};

// Checks the figure after every epoch. NaN never improves it. The best weights are restored when
// the patience has run out and after the last epoch, not when something else ends the fit. Throws
// InvalidArgument for a negative number. For a figure that the model does not have, the fit throws
// it after its first execution, with a list of known figures.
std::shared_ptr<Callback> EarlyStopping(EarlyStoppingOptions options = {});

}  // namespace pando
