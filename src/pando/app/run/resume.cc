// SPDX-License-Identifier: MIT
#include "pando/app/run/resume.h"

#include <array>
#include <filesystem>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/job/shared_state.h"
#include "pando/app/record/checkpoint_store.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"

namespace pando::app {

namespace {

namespace fs = std::filesystem;

struct Note {
  const char* name;
  const char* flags;        // the flags that set it
  const char* absent = "";  // its value in old checkpoints that do not have this note
};

// Notes that must be equal: otherwise the numbers of epochs and updates would mean something else.
constexpr std::array<Note, 4> kSame = {
    {{"model", "--model"},
     {"samples", "--dataset"},
     {"global_batch_size",
      "--micro-batch-size, --num-replicas, --gradient-accumulation-count or --global-batch-size"},
     {"updates_per_epoch", "--weight-updates-per-epoch"}}};

// Notes that may differ, with a warning: the run continues with other results.
constexpr std::array<Note, 12> kSimilar = {
    {{"micro_batch_size", "--micro-batch-size"},
     {"replicas", "--num-replicas"},
     {"instances", "the launcher's --num-instances", "1"},
     {"slices", "--slices"},
     {"precision", "--precision, --stochastic-rounding, --half-partials, --nanoo", "32.32"},
     {"loss_scaling", "--loss-scaling, --auto-loss-scaling, --auto-loss-scaling-params", "none"},
     {"pipeline_splits", "--pipeline-splits"},
     {"shuffle", "--shuffle"},
     {"learning_rate", "--learning-rate, --lr-..."},
     {"l2_regularization", "--l2-regularization"},
     {"weight_decay", "--weight-decay"},
     {"label_smoothing", "--label-smoothing"}}};

// The settings of the arithmetic that the results depend on.
std::string arithmetic_of(ModelFlags flags) {
  flags.fp_exceptions = false;
  return describe_precision(flags);
}

void check_notes(const TrainingSetup& setup, const TrainingState& state,
                 const std::function<void(const std::string&)>& tell) {
  const std::map<std::string, std::string> own = run_notes(setup);
  const auto found = [&](const Note& note) {
    const auto saved = state.notes.find(note.name);
    return saved != state.notes.end() ? saved->second : note.absent;
  };
  for (const Note& note : kSame) {
    if (found(note) == own.at(note.name)) continue;
    throw UsageError("--resume: ", state.weights.path, " belongs to a run with ", note.name, " ",
                     found(note), ", this run has ", own.at(note.name), "; change ", note.flags,
                     ", or use --weights with this file to start a new run from its weights");
  }
  for (const Note& note : kSimilar) {
    if (found(note) == own.at(note.name)) continue;
    tell(concat("warning: --resume: ", note.name, " was '", found(note), "' and is now '",
                own.at(note.name), "' (", note.flags,
                "): the run continues, but not bit for bit like an uninterrupted one"));
  }
}

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

std::map<std::string, std::string> run_notes(const TrainingSetup& setup) {
  const BatchConfiguration& batch = setup.batch;
  return {{"model", setup.options.model},
          {"samples", std::to_string(setup.data.sets.train.size())},
          {"global_batch_size", std::to_string(batch.global_batch_size)},
          {"updates_per_epoch", std::to_string(setup.updates)},
          {"micro_batch_size", std::to_string(batch.micro_batch_size)},
          {"replicas", std::to_string(batch.replicas)},
          {"instances", std::to_string(setup.instances.count())},
          {"slices", std::to_string(setup.options.slices)},
          {"precision", arithmetic_of(setup.options)},
          {"loss_scaling", to_string(setup.options.loss.scaling(batch.replicas))},
          {"pipeline_splits", join(setup.splits, " ")},
          {"shuffle", setup.fit_options().shuffle ? "true" : "false"},
          {"learning_rate", describe(setup.options.schedule, setup.schedule_base())},
          {"l2_regularization", fmt::format("{}", setup.options.optimizer.l2_regularization)},
          {"weight_decay", fmt::format("{}", setup.options.optimizer.weight_decay)},
          {"label_smoothing", fmt::format("{}", setup.options.loss.label_smoothing.value_or(0))}};
}

std::optional<TrainingState> find_resume_state(
    TrainingSetup& setup, const std::function<void(const std::string&)>& tell) {
  std::optional<TrainingState> state;
  setup.instances.from_first([&] {
    if (!setup.options.checkpoints.resume.empty()) state = find_state(setup, tell);
    if (state) check_notes(setup, *state, tell);
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
