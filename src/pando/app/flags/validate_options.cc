// SPDX-License-Identifier: MIT
#include "pando/app/flags/validate_options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "pando/app/flags/deciding_options.h"
#include "pando/app/job/exit_code.h"
#include "pando/app/record/checkpoint_list.h"
#include "pando/app/record/run_mark.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/train/training_state.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kValidateHelpHead = R"(usage: pando validate [WHAT] [flags]

Measures loss and accuracy of trained weights on the test data, writes a history and a class report
with the confusion matrix. Flags of 'pando train' that concern only training are accepted and
ignored, because configuration files contain them.

examples:
  pando validate runs/mnist_cnn-20261116-050000
  pando validate weights.h5 --model cifar_resnet8 --validation-micro-batch-size 128
  pando validate --checkpoint-input-dir earlier/checkpoints --config-path earlier/config.yml
  pando validate --run-dir earlier --validation-num-replicas 2

exit codes: 0 done, 1 failed or a damaged checkpoint, 2 wrong flag or configuration, 75 stopped by a
signal.

)";

constexpr std::array kShownGroups = {"Model",
                                     "Data",
                                     "Pipeline",
                                     "Devices",
                                     "Phases and validation",
                                     "Output",
                                     "Logging",
                                     "Machine and compiler",
                                     "Precision",
                                     "Configuration"};
// Groups of options that decide what a trained network computes.
constexpr std::array kRecordedGroups = {"Model", "Data", "Fine-tuning", "Precision"};

// One parsed command line. The table points into this object.
struct ValidateCommand {
  TrainOptions options;
  CommonOptions common;
  std::string what;
  std::string output_dir;
  OptionTable table;

  ValidateCommand() {
    table.add_positional("WHAT", what,
                         "a file of weights, a folder with checkpoints epoch_<number>.h5, or the "
                         "run directory of an earlier run",
                         false);
    add_train_options(table, options);
    table.find("weights", "").help = "validate the weights in this file";
    table.find("run-dir", "").help =
        "the directory of an earlier run: validates its checkpoints with the model and data of its "
        "config.yml";
    table.begin_group("Output");
    table
        .add("output-dir", output_dir,
             "the folder for history, log and class report; default: <run-dir>/validation, or "
             "runs/<model>-validation-<date>-<time>")
        .with_hint("DIR")
        .command_line_only();
    add_common_options(table, common);
    hide_what_does_not_matter();
  }
  ValidateCommand(const ValidateCommand&) = delete;
  ValidateCommand& operator=(const ValidateCommand&) = delete;

  void hide_what_does_not_matter() {
    for (const Option& option : table.options()) {
      const bool shown = std::ranges::find(kShownGroups, option.group) != kShownGroups.end() &&
                         !option.of_training;
      table.find(option.name, "").hidden =
          !shown && option.name != "micro-batch-size" && option.name != "weights";
    }
  }

  void parse(std::span<const std::string> args) {
    parse_command_line(table, common, args);
    if (common.help) return;
    for (const Option& option : table.options()) {
      if (!option.of_training || option.origin.kind != Origin::Kind::command_line) continue;
      throw UsageError("--", option.name,
                       ": does not apply to `pando validate`, which does not train; remove it or "
                       "use `pando train`");
    }
    take_what();
  }

  // Assigns the positional argument to the flag that it stands for.
  void take_what() {
    if (what.empty()) return;
    if (!path_exists(what)) {
      throw UsageError("'", what,
                       "' does not exist; expected a file of weights, a folder of checkpoints or "
                       "the directory of an earlier run");
    }
    const bool has_files = is_folder(what);
    const bool is_run = has_files && path_exists(fs::path(what) / "config.yml");
    Option& flag = table.find(is_run      ? "run-dir"
                              : has_files ? "checkpoint-input-dir"
                                          : "weights",
                              "");
    if (flag.origin.kind == Origin::Kind::command_line) {
      throw UsageError("'", what, "' and --", flag.name, " both say what to validate; remove one");
    }
    table.assign(flag, ConfigValue::scalar(what),
                 {.kind = Origin::Kind::command_line, .place = what});
  }
};

// The run directory that a file of weights or a folder of checkpoints lies in or right below;
// empty: none.
fs::path run_around(const fs::path& place) {
  for (const fs::path& run : folders_around(place)) {
    if (path_exists(run / "config.yml") && path_exists(run / "history.json")) return run;
  }
  return {};
}

// The configuration of the run that wrote what is validated; empty: there is none.
std::string config_of_run(const ValidateCommand& command) {
  const std::string& run = command.options.run_dir;
  const bool has_config = !command.common.config_path.empty() || !command.common.config.empty();
  if (run.empty()) {
    const std::string& weights = command.options.checkpoints.weights;
    const std::string& place =
        weights.empty() ? command.options.phases.checkpoint_input_dir : weights;
    if (has_config || place.empty()) return "";
    const fs::path around = run_around(place);
    return around.empty() ? "" : (around / "config.yml").string();
  }
  if (has_config) {
    throw UsageError(
        "--run-dir: the earlier run has its own configuration; remove --config and --config-path");
  }
  const fs::path config = fs::path(run) / "config.yml";
  if (!path_exists(config)) {
    throw UsageError("--run-dir: expected the directory of an earlier run, but there is no ",
                     config.string());
  }
  return config.string();
}

// Puts the configuration of an earlier run before the flags.
std::vector<std::string> with_config_of_run(std::span<const std::string> args) {
  std::vector<std::string> all(args.begin(), args.end());
  ValidateCommand first;
  first.parse(args);
  const std::string config = first.common.help ? "" : config_of_run(first);
  if (!config.empty()) all.insert(all.begin(), {"--config-path", config});
  return all;
}

// Overrides what the configuration of a training run sets.
void switch_training_off(ValidateCommand& command) {
  OptionTable& table = command.table;
  for (const Option& option : table.options()) {
    if (!option.of_training) continue;
    table.assign(table.find(option.name, ""), default_of(option),
                 {.place = "chosen by pando validate"});
  }
  command.options.phases.training = false;
  command.options.phases.validation = ValidationTime::after;
}

// Throws UsageError for a folder without checkpoints; otherwise random weights would be validated.
void check_checkpoints(const fs::path& folder) {
  const bool exists = is_folder(folder);
  if (exists && !checkpoints_in(folder).empty()) return;
  std::vector<fs::path> others;
  if (exists) others = unnumbered_weights_in(folder);
  throw UsageError("'", folder.string(), "' has no checkpoint epoch_<number>.h5",
                   others.empty() ? "" : ", but " + others[0].filename().string(),
                   "; use a folder that has one, or give a file of weights");
}

// Throws UsageError if the checkpoint folder of the run now holds checkpoints of another run.
void refuse_other_run(const fs::path& run, const fs::path& folder) {
  if (!are_of_different_runs(run, folder)) return;
  throw UsageError("--run-dir ", run.string(), ": its folder of checkpoints, ", folder.string(),
                   ", now has those of the run ", mark_in(folder).directory,
                   "; validate that run, or the folder itself with `pando validate ",
                   folder.string(), "`");
}

// Takes the checkpoints that the flags name, otherwise those of the earlier run.
void choose_checkpoints(ValidateCommand& command) {
  ValidationFlags& phases = command.options.phases;
  CheckpointFlags& checkpoints = command.options.checkpoints;
  const auto is_given = [&](const char* name) {
    return command.table.find_exact(name)->origin.kind == Origin::Kind::command_line;
  };
  const std::string run = std::exchange(command.options.run_dir, command.output_dir);
  if (!is_given("weights")) checkpoints.weights.clear();  // not the initial weights of that run
  checkpoints.by_name = checkpoints.skip_mismatch = false;
  if (!is_given("checkpoint-input-dir")) phases.checkpoint_input_dir.clear();
  if (!checkpoints.weights.empty() && !phases.checkpoint_input_dir.empty()) {
    throw UsageError("--weights and --checkpoint-input-dir cannot be combined; remove one of them");
  }
  const fs::path kept = run.empty() ? fs::path() : kept_model_file(run);
  if (!kept.empty() && !is_given("model")) command.options.model = kept.string();
  if (!run.empty() && command.output_dir.empty()) {
    command.options.run_dir = (fs::path(run) / "validation").string();
  }
  if (is_folder(phases.checkpoint_input_dir)) check_checkpoints(phases.checkpoint_input_dir);
  if (!checkpoints.weights.empty() || !phases.checkpoint_input_dir.empty()) return;
  if (run.empty()) {
    throw UsageError(
        "nothing to validate: give a file of weights, --checkpoint-input-dir or --run-dir; see "
        "--help");
  }
  const fs::path all = checkpoints.folder(run);
  const fs::path first = all / "rank0";  // with --ckpt-all-instances
  const fs::path folder = is_folder(first) ? first : all;
  refuse_other_run(run, folder);
  phases.checkpoint_input_dir = folder.string();
  check_checkpoints(folder);
  command.table.find("checkpoint-input-dir", "").origin = {.place = "chosen by --run-dir"};
}

// What a checkpoint records of its run; nothing for a file of weights and for a damaged file, which
// validation reports.
std::optional<TrainingState> readable_state(const fs::path& file) {
  try {
    return load_training_state(file.string());
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The newest checkpoint to validate that records its run.
std::optional<TrainingState> newest_recorded_state(const TrainOptions& options) {
  if (!options.checkpoints.weights.empty()) return readable_state(options.checkpoints.weights);
  const fs::path folder = options.phases.checkpoint_input_dir;
  if (!is_folder(folder)) return std::nullopt;
  std::vector<CheckpointFile> files = checkpoints_in(folder);
  for (; !files.empty(); files.pop_back()) {
    if (auto state = readable_state(files.back().path)) return state;
  }
  return std::nullopt;
}

// A recorded option as it can be given: a file of --model is recorded by its content.
ConfigValue findable(const std::string& name, const ConfigValue& value,
                     const TrainingState& state) {
  const auto note = state.notes.find(kModelFileNote);
  if (name != "model" || note == state.notes.end()) return value;
  const fs::path kept = kept_model_file_around(state.weights.path);
  return ConfigValue::scalar(kept.empty() ? note->second : kept.string());
}

// Validates with the model, the data and the precision of training, which the checkpoint records,
// unless the user says otherwise: by flags, or by a configuration file if `file_is_users`.
void use_recorded_options(ValidateCommand& command, bool file_is_users) {
  const std::optional<TrainingState> state = newest_recorded_state(command.options);
  if (!state) return;
  const std::string& file = state->weights.path;
  const auto use = [&](const std::string& name, const ConfigValue& value) {
    const Option* known = command.table.find_exact(name);
    const Origin::Kind last = file_is_users ? Origin::Kind::built_in : Origin::Kind::file;
    if (known == nullptr || known->origin.kind > last) return;
    Option& option = command.table.find(name, "");
    if (to_yaml(option.show()) == to_yaml(value)) return;
    command.table.assign(option, value,
                         {.kind = Origin::Kind::file, .place = "recorded in " + file});
    if (name == "precision") command.options.precision_file = file;
  };
  const ConfigValue recorded = recorded_options(*state);
  for (size_t i = 0; i < recorded.keys.size(); ++i) {
    const Option* option = command.table.find_exact(recorded.keys[i]);
    const bool matters = option != nullptr &&
                         std::ranges::find(kRecordedGroups, option->group) != kRecordedGroups.end();
    if (matters) use(recorded.keys[i], findable(recorded.keys[i], recorded.items[i], *state));
  }
  const auto path = state->notes.find(kDatasetPathNote);
  if (path != state->notes.end() && path_exists(path->second)) {
    use("dataset-path", ConfigValue::scalar(path->second));
  }
}

}  // namespace

std::optional<TrainOptions> parse_validate_options(std::span<const std::string> args,
                                                   std::ostream& out) {
  const std::vector<std::string> all = with_config_of_run(args);
  ValidateCommand command;
  command.parse(all);
  if (command.common.help) {
    out << kValidateHelpHead << help_text(command.table);
    return std::nullopt;
  }
  switch_training_off(command);
  const bool finds_config = all.size() > args.size() && command.options.run_dir.empty();
  choose_checkpoints(command);
  use_recorded_options(command, !finds_config);
  return settle_train_options(command.table, command.common, command.options, out);
}

}  // namespace pando::app
