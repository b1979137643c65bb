// SPDX-License-Identifier: MIT
#include "pando/estimator/checkpoint_folder.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/store/atomic_file.h"

namespace pando::estimator {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "model.ckpt-";
constexpr std::string_view kSuffix = ".h5";
constexpr const char* kIndex = "checkpoint";
constexpr const char* kGlobalStep = "global_step";
constexpr std::string_view kLatest = "model_checkpoint_path: \"";
constexpr std::string_view kEach = "all_model_checkpoint_paths: \"";

// The name in quotes if the line starts with `begin`; else empty.
std::string quoted(const std::string& line, std::string_view begin) {
  if (!line.starts_with(begin)) return "";
  const size_t end = line.find('"', begin.size());
  if (end == std::string::npos) return "";
  return line.substr(begin.size(), end - begin.size());
}

struct Index {
  std::string latest;
  std::vector<std::string> all;
};

// Empty if the file does not exist or is not an index. Other programs also use this file name;
// files that such an index names are neither read nor removed.
Index read_index(const fs::path& folder) {
  Index index;
  std::ifstream file(folder / kIndex);
  for (std::string line; std::getline(file, line);) {
    if (std::string name = quoted(line, kLatest); step_of(name)) index.latest = std::move(name);
    if (std::string name = quoted(line, kEach); step_of(name)) index.all.push_back(std::move(name));
  }
  return index;
}

// The names of all checkpoints of a folder, highest steps first.
std::vector<std::string> checkpoints_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    if (step_of(name)) names.push_back(std::move(name));
  }
  std::ranges::sort(
      names, [](const std::string& a, const std::string& b) { return step_of(a) > step_of(b); });
  return names;
}

}  // namespace

std::string checkpoint_name(int64_t global_step) { return concat(kPrefix, global_step, kSuffix); }

std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  return parse_int(name);
}

Checkpoint read_checkpoint(const fs::path& path) {
  Checkpoint checkpoint{.path = path, .state = load_training_state(path.string())};
  const auto note = checkpoint.state.notes.find(kGlobalStep);
  const std::optional<int64_t> step =
      note == checkpoint.state.notes.end() ? std::nullopt : parse_int(note->second);
  if (!step) {
    throw IoError("checkpoint '", path.string(),
                  "' has no global step: it was not written by an estimator");
  }
  checkpoint.global_step = *step;
  return checkpoint;
}

std::optional<Checkpoint> newest_checkpoint(const fs::path& folder, const Tell& tell) {
  std::vector<std::string> names = checkpoints_in(folder);
  const std::string latest = read_index(folder).latest;
  if (!latest.empty()) {
    std::erase(names, latest);
    names.insert(names.begin(), latest);
  }
  std::string reason;
  for (const std::string& name : names) {
    try {
      return read_checkpoint(folder / name);
    } catch (const IoError& error) {
      if (reason.empty()) reason = error.what();
      if (tell) tell(concat("warning: skipped ", name, ": ", error.what()));
    }
  }
  if (!names.empty()) {
    throw IoError(
        folder.string(), ": cannot read ",
        names.size() == 1 ? "its checkpoint" : concat("any of its ", names.size(), " checkpoints"),
        " (", names[0], ": ", reason, "); remove them or choose another folder to start anew");
  }
  return std::nullopt;
}

CheckpointFolder::CheckpointFolder(fs::path folder, KeepOptions keep)
    : folder_(std::move(folder)), keep_(std::move(keep)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) {
    throw IoError("model_dir: cannot create the folder ", folder_.string(), ": ", error.message());
  }
  const auto give_up = [this] {
    throw ResourceError("model_dir: another training is writing to the folder ", folder_.string(),
                        "; wait until it ends or choose another folder");
  };
  lock_ =
      std::make_unique<FolderLock>(FolderLockOptions{.folder = folder_.string(),
                                                     .remedy = "choose another folder as model_dir",
                                                     .when_busy = give_up});
  for (std::string& name : read_index(folder_).all) {
    if (fs::exists(folder_ / name, error)) entries_.push_back({std::move(name), now()});
  }
  next_kept_ = now() + keep_.one_of_hours;
}

double CheckpointFolder::now() const {
  using Hours = std::chrono::duration<double, std::ratio<3600>>;
  if (keep_.clock) return keep_.clock();
  return std::chrono::duration_cast<Hours>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

fs::path CheckpointFolder::save(TrainingState state, int64_t global_step) {
  check_finite(state);
  state.notes[kGlobalStep] = std::to_string(global_step);
  std::string name = checkpoint_name(global_step);
  fs::path path = folder_ / name;
  save_training_state(path.string(), state);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.name == name; });
  entries_.push_back({std::move(name), now()});
  const std::vector<Entry> old = drop_old();
  write_index();  // before removing files that the old index names
  for (const Entry& entry : old) {
    std::error_code error;
    fs::remove(folder_ / entry.name, error);
    if (error)
      throw IoError((folder_ / entry.name).string(), ": cannot remove it: ", error.message());
  }
  return path;
}

// Removes surplus entries from the list; returns those whose files have to be removed.
std::vector<CheckpointFolder::Entry> CheckpointFolder::drop_old() {
  std::vector<Entry> old;
  if (keep_.most == 0) return old;
  while (std::ssize(entries_) > keep_.most) {
    if (entries_.front().hour < next_kept_) {
      old.push_back(std::move(entries_.front()));
    } else {
      next_kept_ += keep_.one_of_hours;
    }
    entries_.erase(entries_.begin());
  }
  return old;
}

void CheckpointFolder::write_index() const {
  std::string text = concat(kLatest, entries_.back().name, "\"\n");
  for (const Entry& entry : entries_) text += concat(kEach, entry.name, "\"\n");
  store::replace_file((folder_ / kIndex).string(), {std::as_bytes(std::span(text))});
}

}  // namespace pando::estimator
