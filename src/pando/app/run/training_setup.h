// Prepares a run of `pando train`: data, batch configuration, host events and the compiled model,
// distributed over its devices.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
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
#include "pando/zoo/task.h"
#include "pando/zoo/zoo.h"

namespace pando::app {

// What a C++ program may give instead of what the options name.
struct TrainingParts {
  std::optional<ZooEntry> model;
  std::optional<TrainingData> data;
  std::vector<std::shared_ptr<Callback>> callbacks;  // called after the recorder of the run
  int64_t warm_up_updates = 0;  // weight updates that are made and undone before training
  // Called with "SIGINT", or "SIGINT to instance 2", if a signal stops the training.
  std::function<void(const std::string&)> stopped;
};

// What frozen layers give for all samples (feature_cache.h).
struct KeptFeatures {
  std::string layer = {};  // whose results these are; empty: nothing is kept
  std::optional<Dataset> train = {};
  std::optional<Dataset> test = {};  // only if the run validates
};

// The constructor prepares everything and throws for wrong options before anything is written. The
// options and the stream must outlive it. Downloads are reported on the stream.
struct TrainingSetup {
  TrainingSetup(const TrainOptions& options_in, std::ostream& out_in,
                const TrainingParts& parts = {});

  int stages() const { return options.devices.stages(); }
  int accumulation() const { return static_cast<int>(batch.gradient_accumulation_count); }
  runtime::PipelineShape shape() const;
  ScheduleBase schedule_base() const;

  int64_t updates_before(TrainingPosition position) const {
    return position.epoch * updates + position.update;
  }
  // The number of weight updates in the execution that begins at `position`: up to the next host
  // event, or fewer, so that the progress bar moves.
  int64_t next_execution(TrainingPosition position) const;
  // Whether an execution may be longer than an epoch.
  bool spans_epochs() const {
    return !options.early_stopping.on() && options.tuning.unfreeze_after == 0 &&
           events.execution > updates;
  }

  // The options of fit() that concern data, for training and for --dry-run.
  FitOptions fit_options() const;

  const Task& task() const { return task_named(entry.task); }

  // Freezes the layers of --freeze, or trains all.
  void set_frozen(bool is_frozen);
  // Whether layers are frozen in this epoch, and the first epoch in which they no longer are.
  bool is_frozen_at(int64_t epoch) const { return !frozen.empty() && epoch < unfreezes_at(); }
  int64_t unfreezes_at() const;
  // The data that the model takes: samples, or features while these are kept.
  const Dataset& train_set() const { return features.train ? *features.train : data.sets.train; }
  const Dataset& test_set() const { return features.test ? *features.test : data.sets.test; }
  // Makes the model take samples again.
  void drop_features();

  // Called after all instances have constructed theirs: checks that they agree, and makes all use
  // the measured splits of the first.
  void agree();
  // Times kernels as --tune says, after agree() and on all instances; all then use the choices of
  // the first.
  void tune_kernels();

  const TrainOptions& options;
  std::ostream& out;
  const Instances instances;
  TrainingData data;
  const ZooEntry entry;  // for the task of the data
  BatchConfiguration batch;
  int64_t updates;  // per epoch
  HostEvents events;
  std::vector<std::string> warnings;
  std::vector<std::string> splits;  // layers that begin a stage, also for --pipeline-splits auto
  std::string chosen_splits;        // the result of the measurement, or advice, for users
  std::string tuned_kernels;        // lines on --tune, for users
  std::string config_text;          // all effective options, including those chosen here
  int64_t memory_left;              // bytes that the system leaves before anything is loaded
  std::vector<std::string> frozen;  // layers of --freeze
  std::vector<std::string> preparing_layers;  // in front of the network, without weights
  KeptFeatures features;
  std::string pixel_note;  // about the numbers of pictures for a model of a file; may be empty
  Model model;

 private:
  void collect_warnings();
  void check_monitor() const;
  void compile();
  void prepare_tuning();
  void spread();
  void set_test_time_flip();
  void recommend_splits();
  std::vector<std::string> measure_splits();
};

}  // namespace pando::app
