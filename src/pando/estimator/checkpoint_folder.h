// The checkpoints of a model_dir: files model.ckpt-<global step>.h5, and the index file
// `checkpoint`, which lists them and names the one to continue from.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/base/folder_lock.h"
#include "pando/train/training_state.h"

namespace pando::estimator {

using Tell = std::function<void(std::string_view)>;

// The file name of a step, "model.ckpt-300.h5", and the step of a name; nothing for other names.
std::string checkpoint_name(int64_t global_step);
std::optional<int64_t> step_of(std::string_view name);

struct Checkpoint {
  std::filesystem::path path;
  TrainingState state;
  int64_t global_step = 0;
};

// Throws IoError.
Checkpoint read_checkpoint(const std::filesystem::path& path);

// Reads the checkpoint that the index names as latest or, if that fails, the one with the highest
// step that can be read. Returns nothing if there is no checkpoint. Tells which files are skipped,
// and why. Throws IoError if there are checkpoints but none can be read.
std::optional<Checkpoint> newest_checkpoint(const std::filesystem::path& folder, const Tell& tell);

struct KeepOptions {
  int most = 5;  // 0: keep all
  double one_of_hours = 10000;
  std::function<double()> clock = {};  // in hours; empty: the system's clock
};

// Writes checkpoints and removes those that need not be kept. Holds a lock on the folder as long as
// it lives. Used by one thread.
class CheckpointFolder {
 public:
  // Starts with the checkpoints of the index. Throws IoError if the folder cannot be created or
  // written, and ResourceError if another training writes to it.
  CheckpointFolder(std::filesystem::path folder, KeepOptions keep);

  // Returns the path. Throws IoError, and NonFiniteLoss for weights that are not finite; earlier
  // files stay intact then.
  std::filesystem::path save(TrainingState state, int64_t global_step);

 private:
  struct Entry {
    std::string name;
    double hour = 0;  // time at which it was written
  };
  double now() const;  // in hours
  std::vector<Entry> drop_old();
  void write_index() const;

  std::filesystem::path folder_;
  std::unique_ptr<FolderLock> lock_;
  KeepOptions keep_;
  std::vector<Entry> entries_;  // the oldest first
  double next_kept_ = 0;        // the next checkpoint after this hour is kept in addition to `most`
};

}  // namespace pando::estimator
