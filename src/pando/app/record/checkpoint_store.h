// The checkpoints of a run: writes them under names that contain the epoch and finds the newest
// readable one.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pando/app/record/checkpoint_list.h"
#include "pando/app/record/run_mark.h"
#include "pando/base/folder_lock.h"
#include "pando/train/model.h"

namespace pando::app {

struct CheckpointStoreOptions {
  std::filesystem::path folder;
  int64_t updates_per_epoch = 1;
  int keep_last = 0;   // 0: all
  bool writes = true;  // false: another instance writes them; this one only tracks their names
  // Whether the run resumes from a checkpoint of this folder. Otherwise a folder with checkpoints
  // is refused: they belong to another run.
  bool continues = false;
};

inline constexpr const char* kBestCheckpoint = "best.h5";  // of --keep-best

// "epoch_3.0.h5" after a whole epoch, "epoch_2.9328.h5" within one, with enough digits to give
// every weight update its own name.
std::string checkpoint_name(TrainingPosition position, int64_t updates_per_epoch);

// Holds a lock on the folder as long as it lives. Used by one thread.
class CheckpointStore {
 public:
  // Creates the folder. Throws InvalidArgument if the folder has checkpoints of another run,
  // ResourceError if another run is writing to it, and IoError if it cannot be written.
  explicit CheckpointStore(CheckpointStoreOptions options);

  // The run that owns what is and will be in the folder. Throws IoError.
  void claim(const RunMark& mark) const;

  // Saves the training state of the model, then removes older checkpoints of this run as keep_last
  // says. Throws IoError, and NonFiniteLoss if weights are not finite; older files then stay.
  const std::filesystem::path& save(const Model& model,
                                    const std::map<std::string, std::string>& notes);

  // Saves the training state of the model as best.h5. Throws like save().
  void save_best(const Model& model, const std::map<std::string, std::string>& notes) const;

  const std::filesystem::path& folder() const { return options_.folder; }
  // The file that save() wrote last or that the run was resumed from; empty if there is none.
  const std::filesystem::path& last() const { return last_; }
  std::optional<TrainingPosition> last_position() const { return last_position_; }
  // Tells the store that the run resumes from this file. If that is in the folder, checkpoints up
  // to its epoch count as written by the run.
  void go_on_from(const std::filesystem::path& path, TrainingPosition position);

  // Implements --clean-dir: removes these checkpoints, then the folder if nothing else is in it.
  // Nothing can be saved after that. Throws IoError.
  void clean(const std::vector<CheckpointFile>& files);

 private:
  void lock();
  void refuse_foreign() const;
  void remove_old();

  CheckpointStoreOptions options_;
  std::unique_ptr<FolderLock> lock_;  // null if another instance writes
  std::filesystem::path last_;
  std::optional<TrainingPosition> last_position_;
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
