// SPDX-License-Identifier: MIT
#include "pando/app/record/checkpoint_store.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "pando/app/record/checkpoint_list.h"
#include "pando/base/error.h"

namespace pando::app {

namespace fs = std::filesystem;

std::string checkpoint_name(TrainingPosition position, int64_t updates_per_epoch) {
  if (position.update == 0) return fmt::format("epoch_{}.0.h5", position.epoch);
  int digits = 4;
  for (int64_t most = 1000; most < updates_per_epoch; most *= 10) ++digits;
  const double epochs =
      static_cast<double>(position.epoch) +
      static_cast<double>(position.update) / static_cast<double>(updates_per_epoch);
  return fmt::format("epoch_{:.{}f}.h5", epochs, digits);
}

namespace {

// Whether the content of the file is damaged. False for a file without read permission and for
// intact weights of another program.
bool is_damaged(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) return false;
  try {
    store::read_weights_file(path);
    return false;
  } catch (const IoError&) {
    return true;
  }
}

}  // namespace

CheckpointStore::CheckpointStore(CheckpointStoreOptions options) : options_(std::move(options)) {
  if (!options_.writes) return;
  std::error_code error;
  fs::create_directories(options_.folder, error);
  if (error) {
    throw IoError("checkpoints: the folder ", options_.folder.string(),
                  " cannot be created: ", error.message(), "; choose another one with ",
                  "--checkpoint-output-dir");
  }
  lock();
  if (!options_.continues) refuse_foreign();
}

void CheckpointStore::lock() {
  const auto give_up = [this] {
    throw ResourceError("checkpoints: another run is writing to the folder ",
                        options_.folder.string(),
                        "; wait until it ends or choose another folder with "
                        "--checkpoint-output-dir");
  };
  lock_ = std::make_unique<FolderLock>(
      FolderLockOptions{.folder = options_.folder.string(),
                        .name = kCheckpointLock,
                        .remedy = "choose another folder with --checkpoint-output-dir",
                        .when_busy = give_up});
}

// New checkpoints would get the same names, and --keep-last would delete.
void CheckpointStore::refuse_foreign() const {
  const bool has_best = fs::exists(fs::symlink_status(options_.folder / kBestCheckpoint));
  const std::vector<CheckpointFile> found = checkpoints_in(options_.folder);
  if (found.empty() && !has_best) return;
  const std::string owner = mark_in(options_.folder).directory;
  throw InvalidArgument(
      "checkpoints: the folder ", options_.folder.string(), " has ",
      found.empty() ? kBestCheckpoint : found.back().path.filename().string(), " of another run",
      owner.empty() ? "" : concat(" (", owner, ")"),
      "; choose another folder with --checkpoint-output-dir, or continue that run with --resume ",
      options_.folder.string());
}

void CheckpointStore::claim(const RunMark& mark) const {
  if (options_.writes) write_mark(options_.folder, mark);
}

void CheckpointStore::go_on_from(const fs::path& path, TrainingPosition position) {
  last_ = path;
  last_position_ = position;
  if (!options_.writes || !options_.continues) return;
  const auto epoch = epoch_of(checkpoint_name(position, options_.updates_per_epoch));
  for (const CheckpointFile& file : checkpoints_in(options_.folder)) {
    if (file.epoch <= epoch) own_.push_back(file.path);
  }
}

const fs::path& CheckpointStore::save(const Model& model,
                                      const std::map<std::string, std::string>& notes) {
  TrainingState state = model.training_state();
  check_finite(state);
  state.notes = notes;
  const fs::path path =
      options_.folder / checkpoint_name(state.position, options_.updates_per_epoch);
  const TrainingPosition position = state.position;
  if (options_.writes) save_training_state(path.string(), std::move(state));
  last_ = path;
  last_position_ = position;
  if (!options_.writes) return last_;
  std::erase(own_, path);
  own_.push_back(path);
  remove_old();
  return last_;
}

void CheckpointStore::save_best(const Model& model,
                                const std::map<std::string, std::string>& notes) const {
  TrainingState state = model.training_state();
  check_finite(state);
  if (!options_.writes) return;
  state.notes = notes;
  save_training_state((options_.folder / kBestCheckpoint).string(), std::move(state));
}

// Does not touch files of other runs in the folder.
void CheckpointStore::remove_old() {
  if (options_.keep_last == 0) return;
  for (; std::ssize(own_) > options_.keep_last; own_.erase(own_.begin())) {
    std::error_code error;
    fs::remove(own_.front(), error);
    if (error) throw IoError(own_.front().string(), ": cannot be removed: ", error.message());
  }
}

void CheckpointStore::clean(const std::vector<CheckpointFile>& files) {
  std::error_code error;
  for (const CheckpointFile& file : files) {
    fs::remove(file.path, error);
    if (error) {
      throw IoError("--clean-dir: ", file.path.string(), " cannot be removed: ", error.message());
    }
  }
  // A folder that is not empty stays.
  if (checkpoints_in(options_.folder).empty()) fs::remove(options_.folder / kRunMark, error);
  lock_.reset();
  fs::remove(options_.folder, error);
}

size_t set_aside_after(const fs::path& path) {
  size_t count = 0;
  const std::optional<double> epoch = epoch_of(path.filename().string());
  if (!epoch) return count;
  for (const CheckpointFile& file : checkpoints_in(path.parent_path())) {
    if (file.epoch <= *epoch) continue;
    std::error_code error;
    fs::rename(file.path, file.path.string() + ".old", error);
    if (error) throw IoError(file.path.string(), ": cannot be renamed: ", error.message());
    ++count;
  }
  return count;
}

fs::path keep_as_best(const fs::path& folder, double epoch) {
  const std::vector<CheckpointFile> all = checkpoints_in(folder);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const CheckpointFile& file) { return file.epoch == epoch; });
  if (found == all.end()) throw IoError(folder.string(), " has no checkpoint of epoch ", epoch);
  fs::path best = folder / kBestCheckpoint;
  store::write_weights_file(best.string(), store::read_weights_file(found->path.string()));
  return best;
}

std::optional<TrainingState> newest_state(const fs::path& folder, const NewestOptions& options) {
  std::vector<CheckpointFile> all = checkpoints_in(folder);
  for (; !all.empty(); all.pop_back()) {
    const fs::path& path = all.back().path;
    try {
      return load_training_state(path.string());
    } catch (const IoError& error) {
      std::string line = concat("warning: ", path.string(), " is skipped: ", error.what());
      if (options.set_aside && is_damaged(path.string())) {
        std::error_code failed;
        fs::rename(path, path.string() + ".damaged", failed);
        if (!failed) line += "; renamed to " + path.filename().string() + ".damaged";
      }
      if (options.tell) options.tell(line);
    }
  }
  return std::nullopt;
}

}  // namespace pando::app
