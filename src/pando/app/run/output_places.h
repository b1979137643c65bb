// Tries the places that the user chose for output before the first step, so that a wrong place ends
// the run at its start and not at its end.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "pando/app/record/checkpoint_store.h"
#include "pando/app/record/run_directory.h"
#include "pando/app/run/training_setup.h"

namespace pando::app {

// The file of --trace of an instance: trace.json, trace.instance1.json, ...
std::string trace_path(const TrainOptions& options, const Instances& instances);

// Every instance calls the same functions, which agree on failures. The setup must outlive it.
class OutputPlaces {
 public:
  // Tries --trace and --profile, and opens the folder of the checkpoints if the user chose it. The
  // run directory does not exist yet, so a wrong place leaves nothing behind. `state` is what the
  // run resumes from. Throws UsageError, and ResourceError if another run is using the folder.
  OutputPlaces(const TrainingSetup& setup, const std::optional<TrainingState>& state);

  // Makes the run directory, and opens the folder of the checkpoints unless the constructor did.
  // The history stays up to `resumed_step` if the run continues in its directory. Throws like the
  // constructor.
  std::unique_ptr<RunDirectory> begin_run(std::optional<int64_t> resumed_step);

  // Whether the run resumes from a checkpoint in the folder that it writes to.
  bool continues() const { return continues_; }
  CheckpointStore& checkpoints() { return *checkpoints_; }  // after begin_run()

 private:
  std::unique_ptr<RunDirectory> make_directory(std::optional<int64_t> resumed_step) const;
  void open_checkpoints(const std::filesystem::path& run_dir);

  const TrainingSetup& setup_;
  bool continues_ = false;
  std::string run_id_;
  std::unique_ptr<CheckpointStore> checkpoints_;
};

}  // namespace pando::app
