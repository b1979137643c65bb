// SPDX-License-Identifier: MIT
#include "pando/app/run/resume.h"

#include <filesystem>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/job/shared_state.h"
#include "pando/app/record/checkpoint_store.h"
#include "pando/app/run/run_identity.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"

namespace pando::app {

namespace {

namespace fs = std::filesystem;

// With --ckpt-all-instances `folder` has a folder for each instance; all instances resume from that
// of the first.
fs::path folder_of_first(const fs::path& folder) {
  const fs::path first = folder / "rank0";
  return is_folder(first) ? first : folder;
}

std::optional<TrainingState> find_state(const TrainingSetup& setup,
                                        const std::function<void(const std::string&)>& tell) {
  const CheckpointFlags& flags = setup.options.checkpoints;
  if (flags.resume == CheckpointFlags::kAuto) {
    const fs::path folder = folder_of_first(flags.folder(setup.options.run_dir));
    if (!is_folder(folder)) return std::nullopt;
    return newest_state(folder, {.set_aside = true, .tell = tell});
  }
  if (!is_folder(flags.resume)) return load_training_state(flags.resume);
  const fs::path inner = fs::path(flags.resume) / "checkpoints";  // if `resume` is a run directory
  const fs::path folder = folder_of_first(is_folder(inner) ? inner : fs::path(flags.resume));
  std::optional<TrainingState> state = newest_state(folder, {.tell = tell});
  if (!state) throw IoError("--resume: ", folder.string(), " has no checkpoint that can be read");
  return state;
}

}  // namespace

std::optional<TrainingState> find_resume_state(
    TrainingSetup& setup, const std::function<void(const std::string&)>& tell) {
  std::optional<TrainingState> state;
  setup.instances.from_first([&] {
    if (!setup.options.checkpoints.resume.empty()) state = find_state(setup, tell);
    if (state) check_same_run(setup, *state, tell);
    return "";
  });
  share_state(setup.instances, state);
  if (!state) return state;
  setup.instances.together([&] {
    try {
      const LoadReport report = setup.model.restore(*state);
      if (!setup.instances.is_first()) return;
      for (const std::string& line : report.out_of_range) tell("warning: --resume: " + line);
    } catch (const InvalidArgument& error) {
      throw UsageError("--resume: ", error.what(),
                       "; use --weights with this file to start a new run from its weights");
    }
  });
  return state;
}

std::string describe_resumed(const TrainingSetup& setup, const TrainingState& state) {
  std::string text =
      fmt::format("resuming from {}, after {} weight updates", state.weights.path, state.iteration);
  if (setup.options.loss.auto_loss_scaling && state.loss_scaling) {
    text += fmt::format(", with the loss scaling factor {}", setup.model.loss_scaling_factor());
  }
  return text;
}

bool is_in_own_folder(const TrainingState& state, const TrainOptions& options) {
  std::error_code failed;
  return (!options.run_dir.empty() || !options.checkpoints.output_dir.empty()) &&
         fs::equivalent(fs::path(state.weights.path).parent_path(),
                        folder_of_first(options.checkpoints.folder(options.run_dir)), failed);
}

bool is_of_this_run(const TrainingState& state, const TrainOptions& options) {
  return !options.run_dir.empty() && is_in_own_folder(state, options);
}

void refuse_to_hide(const TrainOptions& options) {
  const fs::path run = options.run_dir;
  const bool is_run =
      !run.empty() && path_exists(run / "history.json") && path_exists(run / "checkpoints");
  if (options.phases.training || !is_run) return;
  throw UsageError("--training false --run-dir ", run.string(),
                   ": the folder contains an earlier run; validate it with `pando validate ",
                   run.string(), "`, or choose another --run-dir");
}

}  // namespace pando::app
