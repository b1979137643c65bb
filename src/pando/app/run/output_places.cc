// SPDX-License-Identifier: MIT
#include "pando/app/run/output_places.h"

#include <functional>

#include <fmt/core.h>

#include "pando/app/flags/job_settings.h"
#include "pando/app/job/exit_code.h"
#include "pando/app/run/announcement.h"
#include "pando/app/run/resume.h"
#include "pando/base/new_file.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

// The user chose the place, so a restart would fail again.
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

SummaryFacts facts_of(const TrainingSetup& setup) {
  const TrainOptions& options = setup.options;
  const bool trains = options.phases.training;
  return {.command = trains ? "train" : "validate",
          .model = options.model_name(),
          .dataset = options.data.dataset,
          .id = {},
          .epochs = trains ? static_cast<double>(options.num_epochs) : 0,
          .instances = setup.instances.count(),
          .replicas = setup.batch.replicas,
          .task = setup.task()};
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

std::unique_ptr<RunDirectory> OutputPlaces::begin_run(std::optional<int64_t> resumed_step) {
  std::unique_ptr<RunDirectory> directory = make_directory(resumed_step);
  if (!setup_.options.phases.training) return directory;
  if (!checkpoints_) open_checkpoints(directory->path());
  setup_.instances.together([&] {
    checkpoints_->claim({.id = run_id_, .directory = fs::absolute(directory->path()).string()});
  });
  return directory;
}

// The first instance makes it; the others get its path.
std::unique_ptr<RunDirectory> OutputPlaces::make_directory(
    std::optional<int64_t> resumed_step) const {
  const TrainOptions& options = setup_.options;
  const bool trains = options.phases.training;
  std::unique_ptr<RunDirectory> directory;
  const std::string head =
      setup_.instances.count() == 1 ? "" : fmt::format("# {}\n", replicas_text(setup_));
  const std::string path = setup_.instances.from_first([&] {
    refuse_to_hide(options);
    as_usage("", [&] {
      directory = std::make_unique<RunDirectory>(
          RunDirectoryOptions{.path = options.run_dir,
                              .model = options.model_name() + (trains ? "" : "-validation"),
                              .config = head + setup_.config_text,
                              .resumed_step = resumed_step,
                              .validates_again = options.phases.validation == ValidationTime::after,
                              .run_id = run_id_,
                              .facts = facts_of(setup_)});
      if (trains) mark_job(directory->path().string());
    });
    return directory->path().string();
  });
  if (directory) return directory;
  return std::make_unique<RunDirectory>(RunDirectoryOptions{.path = path, .writes = false});
}

}  // namespace pando::app
