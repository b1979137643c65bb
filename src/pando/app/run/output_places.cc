// SPDX-License-Identifier: MIT
#include "pando/app/run/output_places.h"

#include <functional>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/run/resume.h"
#include "pando/base/new_file.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

// The user chose the place: a restart would not help.
void as_usage(const std::string& flag, const std::function<void()>& part) {
  try {
    part();
  } catch (const IoError& error) {
    throw UsageError(flag, error.what());
  }
}

void try_profile(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError("cannot make the folder '", folder, "': ", error.message());
  check_can_write((fs::path(folder) / "train_report.txt").string());
}

// An interrupted run keeps its number when it is resumed.
std::string run_id_of(const TrainingState& state) {
  const std::string known = mark_in(fs::path(state.weights.path).parent_path()).id;
  return known.empty() ? new_run_id() : known;
}

}  // namespace

std::string trace_path(const TrainOptions& options, const Instances& instances) {
  if (instances.is_first()) return options.trace;
  fs::path own(options.trace);
  own.replace_extension(fmt::format(".instance{}{}", instances.index(), own.extension().string()));
  return own.string();
}

OutputPlaces::OutputPlaces(const TrainingSetup& setup, const std::optional<TrainingState>& state)
    : setup_(setup) {
  const TrainOptions& options = setup.options;
  if (!options.phases.training) return;
  const Instances& instances = setup.instances;
  const bool own = state && is_in_own_folder(*state, options);
  continues_ = instances.share(own ? 1.0 : 0.0) != 0;
  run_id_ = instances.from_first([&] { return continues_ ? run_id_of(*state) : new_run_id(); });
  if (!options.checkpoints.output_dir.empty()) open_checkpoints({});
  instances.together([&] {
    if (!options.trace.empty()) {
      as_usage("--trace: ", [&] { check_can_write(trace_path(options, instances)); });
    }
    if (!options.profile.empty() && instances.is_first()) {
      as_usage("--profile: ", [&] { try_profile(options.profile); });
    }
  });
}

void OutputPlaces::open_checkpoints(const fs::path& run_dir) {
  const TrainOptions& options = setup_.options;
  const bool writes = setup_.instances.is_first() || options.counterparts.ckpt_all_instances;
  setup_.instances.together([&] {
    as_usage("", [&] {
      checkpoints_ = std::make_unique<CheckpointStore>(
          CheckpointStoreOptions{.folder = options.checkpoints.folder(run_dir),
                                 .updates_per_epoch = setup_.updates,
                                 .keep_last = options.checkpoints.keep_last,
                                 .writes = writes,
                                 .continues = continues_});
    });
  });
}

void OutputPlaces::begin_run(const fs::path& run_dir) {
  if (!setup_.options.phases.training) return;
  if (!checkpoints_) open_checkpoints(run_dir);
  setup_.instances.together(
      [&] { checkpoints_->claim({.id = run_id_, .directory = fs::absolute(run_dir).string()}); });
}

}  // namespace pando::app
