// The training of a run: from its beginning or a checkpoint to its end or a signal.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "pando/app/job/agreed_signal.h"
#include "pando/app/record/checkpoint_store.h"
#include "pando/app/record/mlperf_log.h"
#include "pando/app/record/run_log.h"
#include "pando/app/report/validation_summary.h"
#include "pando/app/run/training_setup.h"

namespace pando::app {

struct TrainingPhase {
  TrainingSetup& setup;
  RunLog& log;
  AgreedSignal& signal;
  CheckpointStore& checkpoints;
  std::vector<std::shared_ptr<Callback>> callbacks = {};  // after the recorder of the run
  // With --validation during: the validations of the run so far; those of training are added.
  std::vector<ValidatedCheckpoint>* validated = nullptr;
  MlperfLog* mlperf = nullptr;
};

struct TrainingResult {
  bool stopped = false;  // by a signal; a checkpoint is saved
};

// Trains from `state`, or from the weights that the model has. Throws NonFiniteLoss with the last
// good checkpoint in its message, unless --on-nan goes back to it.
TrainingResult train(const TrainingPhase& phase, const std::optional<TrainingState>& state);

}  // namespace pando::app
