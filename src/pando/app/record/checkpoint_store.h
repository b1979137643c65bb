// The checkpoints of a run: writes them under names that contain the epoch and finds the newest
// readable one.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pando/train/model.h"

namespace pando::app {

struct CheckpointStoreOptions {
  std::filesystem::path folder;
  int64_t updates_per_epoch = 1;
  int keep_last = 0;   // 0: all
  bool writes = true;  // false: another instance writes them; this one only tracks their names
};

// "epoch_3.0.h5" after a whole epoch, "epoch_2.9328.h5" within one, with enough digits to give
// every weight update its own name.
std::string checkpoint_name(TrainingPosition position, int64_t updates_per_epoch);

// Used by one thread.
class CheckpointStore {
 public:
  // Throws IoError if the folder cannot be created.
  explicit CheckpointStore(CheckpointStoreOptions options);

  // Saves the training state of the model, then removes older checkpoints of this run as keep_last
  // says. Throws IoError, and NonFiniteLoss if weights are not finite; older files then stay.
  const std::filesystem::path& save(const Model& model,
                                    const std::map<std::string, std::string>& notes);

  // Saves the training state of the model as best.h5. Throws like save().
  void save_best(const Model& model, const std::map<std::string, std::string>& notes) const;

  const std::filesystem::path& folder() const { return options_.folder; }
  // The file that save() wrote last or that the run was resumed from; empty if there is none.
  const std::filesystem::path& last() const { return last_; }
  TrainingPosition last_position() const { return last_position_; }
  // Tells the store that the run resumes from this file. Checkpoints in the folder up to its epoch
  // then count as written by the run.
  void go_on_from(const std::filesystem::path& path, TrainingPosition position);

 private:
  void remove_old();

  CheckpointStoreOptions options_;
  std::filesystem::path last_;
  TrainingPosition last_position_;
  std::vector<std::filesystem::path> own_;  // checkpoints of the run, the oldest first
};

// Renames checkpoints in the folder of `path` with a later epoch than that of `path` to <name>.old:
// a run that resumes from `path` writes new ones and must not resume from these later. Returns how
// many were renamed. Throws IoError.
size_t set_aside_after(const std::filesystem::path& path);

// Copies the checkpoint of this epoch to best.h5 in the same folder, replacing an existing file
// atomically, and returns the path. Throws IoError, also if the folder has no such checkpoint.
std::filesystem::path keep_as_best(const std::filesystem::path& folder, double epoch);

// Reads the newest checkpoint of a folder that is not damaged; returns nothing if there is none.
// Calls `tell` with a line about each damaged file and, with `set_aside`, renames it to
// <name>.damaged, so that it is not used later. Throws IoError if the folder cannot be read.
struct NewestOptions {
  bool set_aside = false;
  std::function<void(const std::string&)> tell;
};
std::optional<TrainingState> newest_state(const std::filesystem::path& folder,
                                          const NewestOptions& options);

}  // namespace pando::app
