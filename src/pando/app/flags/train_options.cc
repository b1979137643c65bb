// SPDX-License-Identifier: MIT
#include "pando/app/flags/train_options.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "pando/app/flags/find_dataset.h"
#include "pando/app/flags/job_settings.h"
#include "pando/app/flags/train_reference.h"
#include "pando/app/job/exit_code.h"
#include "pando/base/cpu.h"
#include "pando/base/paths.h"
#include "pando/compiler/pipeline.h"
#include "pando/datasets/all_datasets.h"
#include "pando/zoo/zoo.h"

namespace pando::app {
namespace {

constexpr const char* kTrainHelpHead = R"(usage: pando train [flags]

Trains a model, writes checkpoints and a history, and validates. Without flags: the tutorial's CNN
on Fashion-MNIST. A boolean flag needs no value; a flag may be abbreviated as long as it is
unambiguous; each flag is a key of the same name in YAML.

examples:
  pando train --num-epochs 5 --micro-batch-size 128
  pando train --config resnet8_test --dataset-path DIR
  pando train --optimizer adam --learning-rate 1e-3 --seed 1
  pando train --config-path runs/earlier/config.yml --no-shuffle
  pando train --num-replicas 2 --micro-batch-size 32 --gradient-accumulation-count 4
  pando train --pipeline-splits auto --gradient-accumulation-count 16 --trace pipeline.json

exit codes: 0 done, 1 failed, 2 wrong flag or configuration, 3 the loss is not a finite number,
75 stopped by a signal with the weights saved. Signals within one second are one request to stop; a
later one ends the program at once.

)";

void add_data_options(OptionTable& table, TrainOptions& options) {
  add_model_flags(table, options);
  table.begin_group("Data");
  add_data_flags(table, options.data);
  add_augmentation_flags(table, options.data.augmentation);
}

void add_training_options(OptionTable& table, TrainOptions& options) {
  table.begin_group("Training");
  table.add("micro-batch-size", options.micro_batch_size, "samples per step of one replica")
      .with_alias("batch-size")
      .with_hint("N")
      .at_least(1)
      .at_most(1 << 24);
  table.add("num-epochs", options.num_epochs, "passes over the training data")
      .has(Effect::none)
      .with_alias("epochs")
      .with_hint("N")
      .at_least(0);
  table
      .add("weight-updates-per-epoch", options.weight_updates_per_epoch,
           "end an epoch after N weight updates; -1: after the whole global batches of the data")
      .counts_as("updates per epoch")
      .with_hint("N")
      .at_least(-1);
  table
      .add("seed", options.seed,
           "for weights, shuffling and dropout; same seed and slices, same bits")
      .has(Effect::other_run)
      .with_hint("N")
      .at_least(0);
}

void add_execution_options(OptionTable& table, TrainOptions& options) {
  table.begin_group("Executions", Effect::none);
  table
      .add(
          "steps-per-execution", options.steps_per_execution,
          "steps of a replica without a return to the host, rounded up to whole weight updates; 0: "
          "up to the next log or checkpoint, or a twentieth of an epoch if --logs-per-epoch is not "
          "given")
      .with_hint("N")
      .at_least(0);
  table
      .add("logs-per-epoch", options.logs_per_epoch,
           "rows of the history and lines of the log, also as a fraction: 1/2 is every second "
           "epoch; 0: only at the end. A validated checkpoint has a row of its own")
      .with_hint("X")
      .at_least(0);
  table
      .add("prefetch-depth", options.prefetch_depth,
           "micro-batches that are prepared in advance for each replica")
      .with_hint("N")
      .at_least(1)
      .at_most(1 << 16);
}

void add_machine_options(OptionTable& table, TrainOptions& options) {
  table.begin_group("Machine and compiler");
  table
      .add("threads", options.threads,
           "workers of a run on one device; 0: one per core that this process may use")
      .has(Effect::none)
      .with_hint("N")
      .at_least(0)
      .at_most(4096);
  table
      .add("slices", options.slices,
           "parts of a micro-batch that are summed in a fixed order; 0: as many as cores of a "
           "device")
      .with_hint("N")
      .at_least(0)
      .at_most(4096);
  table.add_choice(
      "winograd", options.winograd,
      {{"off", WinogradTiles::off}, {"2", WinogradTiles::up_to_2}, {"4", WinogradTiles::up_to_4}},
      "the largest tiles of Winograd's 3x3 convolutions, 2x2 or 4x4 outputs: larger "
      "ones are faster and round a little more; off: none");
  table
      .add_choice(
          "tune", options.tune,
          {{"off", Tuning::off}, {"quick", Tuning::quick}, {"full", Tuning::full}},
          "time the kernels of every convolution and dense layer before training and use the "
          "fastest, also in later runs on this machine; quick: Pando's own kernels, full: those of "
          "oneDNN too, and longer. The choices decide bits; config.yml records them; off: a fixed "
          "table")
      .counts_as("kernel choices");
  table
      .add("kernel-choices", options.kernel_choices,
           "kernels of layers that differ from the table, as config.yml of a tuned run has them")
      .counts_as("kernel choices")
      .with_hint("LAYER=KERNEL");
  table.add("disable-pass", options.disable_pass, "compiler passes to leave out").with_hint("PASS");
  table
      .add("dump-ir", options.dump_ir,
           "write the graph after every pass that changes it into this folder, or to standard "
           "output (-)")
      .has(Effect::none)
      .with_hint("DIR");
  table.add("verify", options.verify, "compare the model with every pass off and on, then stop")
      .has(Effect::none)
      .only_for_training();
  table.add("compile-report", options.compile_report, "print kernels, layouts and memory per op")
      .has(Effect::none)
      .only_for_training();
}

void add_output_options(OptionTable& table, TrainOptions& options) {
  table.begin_group("Output", Effect::none);
  table
      .add("run-dir", options.run_dir,
           "the folder of this run; by default runs/<model>-<date>-<time>")
      .with_hint("DIR")
      .only_for_this_run();
  table
      .add("trace", options.trace,
           "write what every worker did and when to this file, for chrome://tracing and Perfetto, "
           "and print a summary, in which the pauses for validation are idle time")
      .with_hint("FILE")
      .only_for_this_run()
      .only_for_training();
  table
      .add("profile", options.profile,
           "write reports on the run into this folder: kernels, work and memory of every layer and "
           "op, where the time went, as text, as JSON and as a trace")
      .with_hint("DIR")
      .only_for_this_run()
      .only_for_training();
  table.add("quiet", options.quiet, "print only the result, no progress").only_for_this_run();
  table.add("verbose", options.verbose, "print more about what is done and about errors")
      .only_for_this_run();
  table
      .add("dry-run", options.dry_run,
           "build and compile the model, time a few steps, show memory and idle time, then stop")
      .command_line_only()
      .only_for_training();
}

// Checked before the run: an error after it would lose the trace.
void validate_trace(const std::string& path) {
  if (path.empty()) return;
  if (is_folder(path)) {
    throw UsageError("--trace: expected a file, got the folder '", path, "'");
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !is_folder(folder)) {
    throw UsageError("--trace: the folder of '", path, "' does not exist");
  }
}

void validate_profile(const std::string& folder) {
  if (path_exists(folder) && !is_folder(folder)) {
    throw UsageError("--profile: expected a folder, got the file '", folder, "'");
  }
}

void validate_kernel_choices(const std::vector<std::string>& texts) {
  try {
    parse_kernel_choices(texts);
  } catch (const InvalidArgument& error) {
    throw UsageError("--kernel-choices: ", error.what());
  }
}

void validate_passes(const std::vector<std::string>& disabled) {
  try {
    compiler::default_pipeline().check_disabled({disabled.begin(), disabled.end()});
  } catch (const InvalidArgument& error) {
    throw UsageError("--disable-pass: ", error.what());
  }
}

// Without training, flags for training would be ignored silently.
void validate_phases(const TrainOptions& options) {
  if (options.phases.training) return;
  const std::vector<std::pair<const char*, bool>> flags = {
      {"--trace", !options.trace.empty()},
      {"--profile", !options.profile.empty()},
      {"--verify", options.verify},
      {"--dry-run", options.dry_run},
      {"--resume", !options.checkpoints.resume.empty()}};
  for (const auto& [name, given] : flags) {
    if (given) throw UsageError(name, ": requires training; remove --training false");
  }
}

// The best is chosen by validation, among the checkpoints that training wrote.
void validate_keep_best(const TrainOptions& options) {
  if (!options.checkpoints.keep_best) return;
  const ValidationFlags& phases = options.phases;
  if (!phases.training || !phases.validates()) {
    throw UsageError(
        "--keep-best: validation finds the best checkpoint of training; expected a run that trains "
        "and validates");
  }
  if (options.checkpoints.are_off()) {
    throw UsageError("--keep-best: --ckpts-per-epoch 0 writes no checkpoint; remove one of them");
  }
  if (!phases.checkpoint_input_dir.empty()) {
    throw UsageError(
        "--keep-best: --checkpoint-input-dir names other checkpoints than those of training; "
        "remove one of them");
  }
}

// A resumed run may have lost the file that it began with; its directory has a copy.
void find_model_file(TrainOptions& options) {
  if (!names_model_file(options.model)) return;
  if (!is_plain_file(options.model) && !options.checkpoints.resume.empty()) {
    const std::string& resumed = options.checkpoints.resume;
    const bool is_auto = resumed == CheckpointFlags::kAuto;
    const std::filesystem::path kept = kept_model_file_around(is_auto ? options.run_dir : resumed);
    if (!kept.empty()) options.model = kept.string();
  }
  options.model_file = read_model_file(options.model, options.data.image_size);
}

// Runs before the options are checked, because a cosine schedule ends with the run.
void choose_decay(OptionTable& table, TrainOptions& options) {
  std::optional<double>& decay = options.schedule.params.epochs_to_total_decay;
  if (options.schedule.kind != ScheduleKind::cosine || decay || options.num_epochs < 1) return;
  decay = static_cast<double>(options.num_epochs);
  Option& option = table.find("lr-schedule-params", "");
  if (option.origin.kind == Origin::Kind::built_in) {
    option.origin = {.place = "chosen by --num-epochs"};
  }
}

// Runs before the options are checked, because the data set decides which options are missing.
void choose_dataset(OptionTable& table, TrainOptions& options) {
  Option& option = table.find("dataset", "");
  if (option.origin.kind != Origin::Kind::built_in) return;
  std::optional<std::string> own = dataset_of_model(options.model);
  if (options.model_file) own = options.model_file->entry.dataset;
  if (!own) return;
  options.data.dataset = *own;
  option.origin = {.place = "chosen by the model"};
}

// Shows values in effect where nothing was given. A configuration file does not need them: they
// follow from the options that decide them.
void show_defaults(OptionTable& table, TrainOptions& options) {
  const auto follows = [&](const char* name, const char* place) {
    Option& option = table.find(name, "");
    const bool is_open = option.origin.kind == Origin::Kind::built_in;
    if (is_open) option.origin = {.place = place, .follows = true};
    return is_open;
  };
  fill_in(options);
  follows("optimizer-params", "chosen by --optimizer");
  if (options.loss.auto_loss_scaling) {
    follows("auto-loss-scaling-params", "chosen by --auto-loss-scaling");
  }
  if (options.data.image_size > 0) follows("image-size", "chosen by the model");
  if (!options.devices.global_batch_size &&
      follows("gradient-accumulation-count", "without --global-batch-size")) {
    options.devices.gradient_accumulation_count = 1;
  }
  if (follows("validation-micro-batch-size", "that of training")) {
    options.phases.validation_micro_batch_size = options.micro_batch_size;
  }
}

// Results depend on these options. Choosing their values here puts them into the run directory, so
// that the run can be repeated, also on a machine with other cores.
void choose_unset_options(OptionTable& table, TrainOptions& options) {
  if (!options.schedule.has_rate()) {
    const int64_t global_batch = options.devices.batch(options.micro_batch_size).global_batch_size;
    options.schedule.learning_rate = default_rate(options.optimizer, global_batch);
    table.find("learning-rate", "").origin = {.place =
                                                  "chosen by the optimizer and the batch size"};
  }
  const auto choose_by_precision = [&](const char* name, auto& field, auto value) {
    Option& option = table.find(name, "");
    if (option.origin.kind != Origin::Kind::built_in) return;
    field = value;
    option.origin = {.place = "chosen by --precision", .follows = true};
  };
  if (options.precision.half()) {
    choose_by_precision("gradient-reduction", options.devices.gradient_reduction,
                        GradientReduction::running_mean);
    const bool is_f16 = options.precision.compute == DType::f16;
    choose_by_precision("exchange-format", options.devices.exchange_format,
                        is_f16 ? comm::WireFormat::f16 : comm::WireFormat::bf16);
  }
  const int cores = options.devices.cores_of_a_device(options.threads);  // checks them too
  if (options.slices == 0) {
    options.slices = cores;
    options.slices_are_chosen = true;
    table.find("slices", "").origin = {.place = "chosen by the cores of a device"};
  }
}

// No option sets this value, but the bits of a result depend on it.
std::string with_instruction_set(const std::string& config) {
  return concat("# instruction set of the kernels: ", isa_name(),
                " (the best of the processor, or PANDO_ISA)\n\n", config);
}

// Turns off what the flags cannot have, and warns about it.
void settle_flags(OptionTable& table, TrainOptions& options) {
  for (const std::vector<std::string>& more :
       {warnings_of(table, options), settle(table, options.counterparts, options.devices),
        ignored_warnings(table)}) {
    options.warnings.insert(options.warnings.end(), more.begin(), more.end());
  }
  if (options.fp_exceptions && options.checkpoints.on_nan == OnNan::rollback &&
      options.phases.training) {
    options.warnings.emplace_back(
        "--fp-exceptions: the run ends at the first exception; --on-nan rollback does not apply to "
        "it");
  }
  if (options.tune != Tuning::off && !options.kernel_choices.empty()) {
    options.kernel_choices.clear();
    table.find("kernel-choices", "").origin = {.place = "replaced by --tune"};
    options.warnings.push_back(
        "--tune times all layers again, so --kernel-choices has no effect; leave one of them out");
  }
  if (!options.counterparts.deterministic || !options.data.shuffle) return;
  options.data.shuffle = false;
  table.find("shuffle", "").origin = {.place = "off by --deterministic"};
  options.warnings.emplace_back(
      "--deterministic turns --shuffle off; runs are deterministic with shuffling too, so you need "
      "neither flag");
}

// The original validates its own checkpoints only if both flags name the same folder. We do so
// without any flag. Two different folders are rarely what the user means.
void settle_input_dir(OptionTable& table, TrainOptions& options) {
  std::string& input = options.phases.checkpoint_input_dir;
  if (input.empty() || !options.phases.training) return;
  const auto normal = [](const std::string& path) {
    return (std::filesystem::path(path) / "").lexically_normal();
  };
  std::error_code unknown;
  const std::string& output = options.checkpoints.output_dir;
  if (!output.empty() &&
      (normal(input) == normal(output) || std::filesystem::equivalent(input, output, unknown))) {
    input.clear();
    table.find("checkpoint-input-dir", "").origin = {.place = "as --checkpoint-output-dir"};
    return;
  }
  options.warnings.push_back(concat("--checkpoint-input-dir: validates the checkpoints in ", input,
                                    " and not those that this run writes; remove the flag to "
                                    "validate the training"));
}

}  // namespace

void add_train_options(OptionTable& table, TrainOptions& options) {
  add_data_options(table, options);
  add_training_options(table, options);
  add_optimizer_flags(table, options.optimizer);
  add_schedule_flags(table, options.schedule);
  add_loss_flags(table, options.loss);
  add_tuning_flags(table, options.tuning);
  add_execution_options(table, options);
  add_validation_flags(table, options.phases);
  add_checkpoint_flags(table, options.checkpoints);
  add_device_flags(table, options.devices);
  add_machine_options(table, options);
  add_precision_flags(table, options);
  add_early_stopping_flags(table, options.early_stopping);
  add_logging_flags(table, options.logging);
  add_output_options(table, options);
  add_counterpart_flags(table, options.counterparts);
  add_ignored_flags(table, options.ignored);
}

void validate(const TrainOptions& options) {
  validate(static_cast<const ModelFlags&>(options));
  if (options.quiet && options.verbose) {
    throw UsageError("--quiet and --verbose exclude each other");
  }
  validate(options.logging);
  validate(options.early_stopping, options.phases);
  validate(options.data);
  validate_mixing(options.data.augmentation, options.model, options.entry().task);
  validate(options.checkpoints, options.run_dir);
  if (!options.dump_ir.empty() && options.dump_ir != "-" && path_exists(options.dump_ir) &&
      !is_folder(options.dump_ir)) {
    throw UsageError("--dump-ir: expected a folder, got the file '", options.dump_ir, "'");
  }
  validate_trace(options.trace);
  validate_profile(options.profile);
  if (options.records() && (options.dry_run || options.verify)) {
    throw UsageError(options.trace.empty() ? "--profile" : "--trace", " records a training run; ",
                     options.dry_run ? "--dry-run" : "--verify", " makes none");
  }
  if (options.steps_per_execution > 0 && !(options.logs_per_epoch == Fraction(1))) {
    throw UsageError(
        "--steps-per-execution and --logs-per-epoch both decide the length of an execution; remove "
        "one of them");
  }
  validate(options.schedule);
  validate(options.loss);
  if (options.tuning.preprocessing && !options.model_file) {
    throw UsageError(
        "--preprocessing: says what the network of a file expects; give the file with "
        "--model FILE, or remove the flag");
  }
  const std::string& resumed = options.checkpoints.resume;
  const bool resumes = !resumed.empty() && resumed != CheckpointFlags::kAuto;
  validate(options.tuning, options.model_file != nullptr || !options.checkpoints.weights.empty() ||
                               resumes || !options.phases.training);
  if (options.weight_updates_per_epoch == 0) {
    throw UsageError(
        "--weight-updates-per-epoch: expected at least 1, or -1 for all whole global batches of "
        "the "
        "data set, got 0");
  }
  validate_passes(options.disable_pass);
  validate_kernel_choices(options.kernel_choices);
  validate(options.devices, options.threads);
  validate(options.counterparts, options.devices);
  validate(options.phases, options.devices);
  validate_phases(options);
  validate_keep_best(options);
  if (!options.checkpoints.own_folder.empty() && options.checkpoints.are_off()) {
    throw UsageError(
        "--ckpt-all-instances: --ckpts-per-epoch 0 writes no checkpoint; remove one of them");
  }
  validate(options.optimizer, options.devices.batch(options.micro_batch_size).global_batch_size);
}

void fill_in(TrainOptions& options) {
  fill_in(options.optimizer);
  fill_in(options.norm_layer);
  fill_in(options.loss);
  const auto known = std::ranges::find(model_zoo(), options.model, &ZooEntry::name);
  const bool has_entry = options.model_file || known != model_zoo().end();
  if (has_entry && dataset_record(options.data.dataset).has_views()) {
    options.data.image_size = view_side(options.data, options.entry().input_shape);
  }
}

std::optional<TrainOptions> parse_train_options(std::span<const std::string> args,
                                                std::ostream& out) {
  if (std::find(args.begin(), args.end(), "--help-markdown") != args.end()) {
    out << train_reference();
    return std::nullopt;
  }
  TrainOptions options;
  CommonOptions common;
  OptionTable table;
  add_train_options(table, options);
  add_common_options(table, common);
  parse_command_line(table, common, args);
  if (common.help) {
    out << kTrainHelpHead << help_text(table);
    return std::nullopt;
  }
  return settle_train_options(table, common, options, out);
}

std::optional<TrainOptions> settle_train_options(OptionTable& table, const CommonOptions& common,
                                                 TrainOptions& options, std::ostream& out) {
  find_model_file(options);
  choose_dataset(table, options);
  choose_decay(table, options);
  options.logs_are_given =
      table.find_exact("logs-per-epoch")->origin.kind != Origin::Kind::built_in;
  let_later_rate_win(table, options.schedule);
  options.warnings = settle_job(table, options);
  settle_validation(table, options.phases);
  settle_input_dir(table, options);
  validate(options);
  check_devices_per_replica(options.devices);
  settle_flags(table, options);
  choose_unset_options(table, options);
  show_defaults(table, options);
  if (common.print_config) {
    out << config_text(table);
    return std::nullopt;
  }
  find_dataset(options.data);
  options.config_text = with_instruction_set(config_text(table, ConfigUse::repeat));
  return options;
}

}  // namespace pando::app
