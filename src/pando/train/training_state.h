// Everything that the rest of a training run depends on: weights, the state of the optimizer, and
// the position in the training data. Random numbers are functions of the seed and of these
// counters.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pando/optim/loss_scaling.h"
#include "pando/runtime/totals.h"
#include "pando/store/weights_file.h"

namespace pando {

// A position in a run: `update` weight updates of epoch number `epoch` (from 0) are done.
struct TrainingPosition {
  int64_t epoch = 0;
  int64_t update = 0;

  bool operator==(const TrainingPosition&) const = default;
};

// Numbers have the types that the model stores them in. A model of another precision rounds them.
struct TrainingState {
  store::WeightsFile weights;  // with the optimizer's slots as its state
  TrainingPosition position;
  int64_t iteration = 0;   // weight updates since compile()
  int64_t data_epoch = 0;  // epochs of data drawn before the one of `position`
  uint64_t seed = 0;
  std::string optimizer;                        // the name of its rule
  std::optional<LossScalerState> loss_scaling;  // automatic loss scaling only
  // Sums over the samples of the epoch before `position`: of all replicas, then of each. Empty at
  // the beginning of an epoch. An epoch that is resumed has the loss of all of its samples.
  std::vector<runtime::Totals> epoch_sums;
  std::map<std::string, std::string> notes;  // for the application that saves it
};

// Writes a file of weights that Keras reads (store/weights_file.h), with the rest of the state
// beside them. Replaces an existing file as a whole or not at all. Throws IoError.
void save_training_state(const std::string& path, TrainingState state);

// Throws NonFiniteLoss if a weight is not finite: an infinite gradient may spoil weights one update
// before the loss shows it. Such a state is not worth saving.
void check_finite(const TrainingState& state);

// Throws IoError for a file that is damaged or holds weights only.
TrainingState load_training_state(const std::string& path);

}  // namespace pando
