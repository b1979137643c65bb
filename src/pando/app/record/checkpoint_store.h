// The checkpoints of a run: written under names that tell the epoch, the newest good one found
// again.
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
  bool writes = true;  // false: another instance does; this one only remembers what there is
};

// "epoch_3.0.h5" after whole epochs, "epoch_2.9328.h5" within one, with as many digits as tell any
// two weight updates apart.
std::string checkpoint_name(TrainingPosition position, int64_t updates_per_epoch);

// Used by one thread.
class CheckpointStore {
 public:
  // Throws IoError when the folder cannot be made.
  explicit CheckpointStore(CheckpointStoreOptions options);

  // Saves where the model stands and removes what keep_last no longer wants of this run. Throws
  // IoError, and NonFiniteLoss for weights that are no numbers; the files before are then intact.
  const std::filesystem::path& save(const Model& model,
                                    const std::map<std::string, std::string>& notes);

  // Saves where the model stands as best.h5. Throws as save().
  void save_best(const Model& model, const std::map<std::string, std::string>& notes) const;

  const std::filesystem::path& folder() const { return options_.folder; }
  // The file that save() wrote last or a run went on from; empty when there is none.
  const std::filesystem::path& last() const { return last_; }
  TrainingPosition last_position() const { return last_position_; }
  // The run goes on from this file. Those of the folder up to it count as written by the run.
  void go_on_from(const std::filesystem::path& path, TrainingPosition position);

 private:
  void remove_old();

  CheckpointStoreOptions options_;
  std::filesystem::path last_;
  TrainingPosition last_position_;
  std::vector<std::filesystem::path> own_;  // of the run, the oldest first
};

// Gives checkpoints of a later epoch than that of `path`, a file in the same folder, the name
// <name>.old: a run that goes on from `path` writes others, and must not go on from these later.
// Gives their number. Throws IoError.
size_t set_aside_after(const std::filesystem::path& path);

// Copies the checkpoint of this epoch to best.h5 in its folder, replacing what has that name as a
// whole; gives its path. Throws IoError, also when the folder has no such checkpoint.
std::filesystem::path keep_as_best(const std::filesystem::path& folder, double epoch);

// The newest checkpoint of a folder that can be read whole, or nothing. One that is damaged is told
// of (in a line, by its name) and, with `set_aside`, gets the name <name>.damaged, so that nobody
// takes it for one later. Throws IoError for a folder that cannot be read.
struct NewestOptions {
  bool set_aside = false;
  std::function<void(const std::string&)> tell;
};
std::optional<TrainingState> newest_state(const std::filesystem::path& folder,
                                          const NewestOptions& options);

}  // namespace pando::app
