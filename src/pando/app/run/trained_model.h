// Models that are trained already, from what users have: the directory of a run, a checkpoint, a
// file of weights or a model file.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pando/app/flags/train_options.h"
#include "pando/datasets/preparation.h"
#include "pando/train/load_model.h"

namespace pando::app {

// What a checkpoint records of its network, so that it can be built again without the data: the
// facts, and the shapes of samples and outputs.
std::map<std::string, std::string> network_notes(const TrainOptions& options,
                                                 const TrainingData& data, const ZooEntry& entry);

struct TrainedModel {
  Model model;         // without layers that prepare samples on devices; its facts describe those
  std::string source;  // the file that the weights are from; empty: they are random
  std::optional<TrainingState> training = {};  // of a checkpoint
  std::optional<DataFlags> data = {};  // that it was or would be trained on, if that is known
};

enum class WhichCheckpoint { best_or_newest, best, newest };

struct TrainedModelOptions {
  WhichCheckpoint which = WhichCheckpoint::best_or_newest;  // of a run or a folder
  LoadModelOptions file = {};                               // for model files
  // The given flags; flags without effect are refused. Null: none were given.
  const OptionTable* table = nullptr;
  // The flags of `pando train` that describe the network, for files that do not record it. They
  // override the record of a checkpoint. Null: files must have a record.
  const TrainOptions* flags = nullptr;
};

// `what` may be empty if flags are given: the network gets random weights, or those of --weights.
// Throws UsageError for what does not exist or has no weights and for flags without effect, IoError
// for damaged files, and what load_model() throws.
TrainedModel open_trained_model(const std::string& what, const TrainedModelOptions& options = {});

}  // namespace pando::app
