// The checkpoints of a model_dir: model.ckpt-<global step>.h5, and the file `checkpoint`, which
// names them and tells which one is to be gone on from.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/train/training_state.h"

namespace pando::estimator {

using Tell = std::function<void(std::string_view)>;

// "model.ckpt-300.h5", and back; nothing for other names.
std::string checkpoint_name(int64_t global_step);
std::optional<int64_t> step_of(std::string_view name);

struct Checkpoint {
  std::filesystem::path path;
  TrainingState state;
  int64_t global_step = 0;
};

// Throws IoError.
Checkpoint read_checkpoint(const std::filesystem::path& path);

// The one that `checkpoint` names first, or else the one of the highest step, that can be read;
// nothing when there is none. Tells which ones are passed over, and why. Throws IoError when there
// are some, but none can be read.
std::optional<Checkpoint> newest_checkpoint(const std::filesystem::path& folder, const Tell& tell);

struct KeepOptions {
  int most = 5;  // 0: all
  double one_of_hours = 10000;
  std::function<double()> clock = {};  // in hours; empty: the system's
};

// Writes checkpoints and removes those that are not to be kept. Used by one thread.
class CheckpointFolder {
 public:
  // Knows what `checkpoint` names. Throws IoError when the folder cannot be made.
  CheckpointFolder(std::filesystem::path folder, KeepOptions keep);

  // Throws IoError, and NonFiniteLoss for weights that are no numbers; the files before are then
  // intact. Gives the path.
  std::filesystem::path save(TrainingState state, int64_t global_step);

 private:
  struct Entry {
    std::string name;
    double hour = 0;  // in which it was written
  };
  double now() const;  // in hours
  std::vector<Entry> drop_old();
  void write_index() const;

  std::filesystem::path folder_;
  KeepOptions keep_;
  std::vector<Entry> entries_;  // the oldest first
  double next_kept_ = 0;        // the next one from this hour on is kept beyond the number
};

}  // namespace pando::estimator
