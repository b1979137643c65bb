// Everything that a run of `pando train` is made of before it runs: data, batch configuration, host
// events and the compiled model, spread over its devices.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "pando/app/flags/batch_configuration.h"
#include "pando/app/flags/train_options.h"
#include "pando/app/job/instances.h"
#include "pando/app/record/host_events.h"
#include "pando/app/run/training_data.h"
#include "pando/runtime/program/schedule.h"
#include "pando/train/model.h"
#include "pando/zoo/zoo.h"

namespace pando::app {

// Made in one go; a wrong option throws before anything is written. The options and the stream must
// outlive it. Tells of downloads on the stream.
struct TrainingSetup {
  TrainingSetup(const TrainOptions& options_in, std::ostream& out_in);

  int stages() const { return options.devices.stages(); }
  int accumulation() const { return static_cast<int>(batch.gradient_accumulation_count); }
  runtime::PipelineShape shape() const;
  ScheduleBase schedule_base() const;

  int64_t updates_before(TrainingPosition position) const {
    return position.epoch * updates + position.update;
  }
  // The weight updates of the execution that begins there: up to the next host event, or less, so
  // that the progress bar moves.
  int64_t next_execution(TrainingPosition position) const;
  // Whether an execution may be longer than an epoch.
  bool spans_epochs() const {
    const bool needs_epochs = options.phases.during_training || options.early_stopping.on();
    return !needs_epochs && events.execution > updates;
  }

  // How data come to the devices, in training and when it is only tried.
  FitOptions fit_options() const;

  // After all instances have made theirs: checks that they agree, and makes what each measured that
  // of the first.
  void agree();

  const TrainOptions& options;
  std::ostream& out;
  const Instances instances;
  const ZooEntry& entry;
  TrainingData data;
  BatchConfiguration batch;
  int64_t updates;  // per epoch
  HostEvents events;
  std::vector<std::string> warnings;
  std::vector<std::string> splits;  // layers that begin a stage, also of --pipeline-splits auto
  std::string chosen_splits;        // what the measurement found, or advice, for users
  std::string config_text;          // every effective option, with what was chosen here
  Model model;

 private:
  void collect_warnings();
  void compile();
  void spread();
  void recommend_splits();
  std::vector<std::string> measure_splits();
};

}  // namespace pando::app
