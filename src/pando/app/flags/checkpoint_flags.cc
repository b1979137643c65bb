// SPDX-License-Identifier: MIT
#include "pando/app/flags/checkpoint_flags.h"

#include "pando/app/job/exit_code.h"

namespace pando::app {

namespace {

namespace fs = std::filesystem;

void add_writing_flags(OptionTable& table, CheckpointFlags& flags) {
  table
      .add("ckpts-per-epoch", flags.per_epoch,
           "checkpoints, also as a fraction: 1/2 is one every second epoch; 0: none. By default 1, "
           "or as rarely as --logs-per-epoch when that is below 1. The end of the run has one too")
      .with_hint("X")
      .at_least(0);
  table
      .add("first-ckpt-epoch", flags.first_epoch,
           "the epoch of the first checkpoint, from which the others count; 0: one period into the "
           "run")
      .with_hint("X")
      .at_least(0);
  table
      .add("checkpoint-output-dir", flags.output_dir,
           "where checkpoints go; by default checkpoints/ in the run directory")
      .with_alias("checkpoint-dir")
      .with_hint("DIR");
  table
      .add("keep-last", flags.keep_last,
           "keep only so many checkpoints, the newest ones; 0: all of them")
      .with_hint("N")
      .at_least(0);
  table.add("keep-best", flags.keep_best,
            "keep a copy of the checkpoint with the best validation accuracy as best.h5");
}

}  // namespace

CheckpointRequest CheckpointFlags::request(const Fraction& logs_per_epoch) const {
  const bool is_rare = logs_per_epoch.numerator() < logs_per_epoch.denominator();
  return {.per_epoch = per_epoch.value_or(is_rare ? logs_per_epoch : Fraction(1)),
          .first_epoch = first_epoch};
}

fs::path CheckpointFlags::folder(const fs::path& run_dir) const {
  const fs::path all = output_dir.empty() ? run_dir / "checkpoints" : fs::path(output_dir);
  return own_folder.empty() ? all : all / own_folder;
}

void add_checkpoint_flags(OptionTable& table, CheckpointFlags& flags) {
  table.begin_group("Checkpoints");
  add_writing_flags(table, flags);
  table
      .add("resume", flags.resume,
           "go on from a checkpoint, bit for bit: a file, a folder (its newest good one), or auto: "
           "the newest good one of --run-dir or --checkpoint-output-dir, and a new run when there "
           "is none, so that a batch system can repeat the command")
      .with_hint("auto|PATH")
      .command_line_only();
  table
      .add("weights", flags.weights,
           "begin with the weights of this file instead of random ones; Keras' .h5 or a checkpoint")
      .with_hint("FILE");
  table.add_choice("on-nan", flags.on_nan, {{"stop", OnNan::stop}, {"rollback", OnNan::rollback}},
                   "when a loss is not a finite number: end the run, or go back to the last "
                   "checkpoint and on with half the learning rate, three times at most");
}

void validate(const CheckpointFlags& flags, const std::string& run_dir) {
  if (flags.resume == CheckpointFlags::kAuto && run_dir.empty() && flags.output_dir.empty()) {
    throw UsageError(
        "--resume auto looks for checkpoints in --run-dir or --checkpoint-output-dir; give one of "
        "them, or a path in place of auto");
  }
  if (!flags.resume.empty() && flags.resume != CheckpointFlags::kAuto &&
      !fs::exists(flags.resume)) {
    throw UsageError("--resume: '", flags.resume,
                     "' does not exist, wanted auto, a checkpoint or a folder of checkpoints");
  }
  if (!flags.weights.empty() && !fs::is_regular_file(flags.weights)) {
    throw UsageError("--weights: '", flags.weights, "' is no file, wanted weights (.h5)");
  }
  if (!flags.weights.empty() && !flags.resume.empty() && flags.resume != CheckpointFlags::kAuto) {
    throw UsageError("--weights and --resume both say which weights to begin with; give one");
  }
  if (flags.are_off() && flags.first_epoch.numerator() > 0) {
    throw UsageError("--first-ckpt-epoch ", to_string(flags.first_epoch),
                     ": --ckpts-per-epoch 0 writes no checkpoint");
  }
}

}  // namespace pando::app
