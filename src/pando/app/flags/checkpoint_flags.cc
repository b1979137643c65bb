// SPDX-License-Identifier: MIT
#include "pando/app/flags/checkpoint_flags.h"

#include "pando/app/job/exit_code.h"
#include "pando/base/paths.h"

namespace pando::app {

namespace {

namespace fs = std::filesystem;

void add_writing_flags(OptionTable& table, CheckpointFlags& flags) {
  table
      .add("ckpts-per-epoch", flags.per_epoch,
           "number of checkpoints per epoch; a fraction like 1/2 writes one every second epoch; 0: "
           "none. Default: 1, or the value of --logs-per-epoch if that is below 1. The end of the "
           "run always writes one, unless the value is 0")
      .with_hint("X")
      .at_least(0);
  table
      .add("first-ckpt-epoch", flags.first_epoch,
           "the epoch of the first checkpoint; the interval to the others is counted from it. 0: "
           "the first checkpoint comes after one interval")
      .with_hint("X")
      .at_least(0);
  table
      .add(
          "checkpoint-output-dir", flags.output_dir,
          "the folder where checkpoints are written; default: checkpoints/ in the run directory. A "
          "folder with checkpoints of another run is refused")
      .with_alias("checkpoint-dir")
      .with_hint("DIR");
  table
      .add("keep-last", flags.keep_last,
           "keep only the newest N checkpoints and delete older ones; 0: keep all")
      .with_hint("N")
      .at_least(0);
  table
      .add("keep-best", flags.keep_best,
           "keep a copy of the checkpoint with the best validation accuracy as best.h5")
      .only_for_training();
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
  table.begin_group("Checkpoints", Effect::none);
  add_writing_flags(table, flags);
  table
      .add("resume", flags.resume,
           "continue a run from a checkpoint, with results identical to an uninterrupted run: a "
           "file, a folder (its newest undamaged checkpoint), or auto: the newest undamaged "
           "checkpoint of --run-dir or --checkpoint-output-dir, or a new run if there is none, so "
           "that a batch system can repeat the same command")
      .with_hint("auto|PATH")
      .command_line_only()
      .only_for_training();
  table
      .add("weights", flags.weights,
           "start with the weights of this file (Keras .h5, a checkpoint, .safetensors or a model "
           "file such as .onnx) instead of random ones")
      .with_hint("FILE");
  table.add("by-name", flags.by_name,
            "take from --weights the layers that have the names of layers of the model, and say "
            "which were not taken; without it, the layers must be the same in the same order");
  table.add("skip-mismatch", flags.skip_mismatch,
            "with --by-name: leave out layers whose weights have other shapes");
  table.add_choice("on-nan", flags.on_nan, {{"stop", OnNan::stop}, {"rollback", OnNan::rollback}},
                   "what to do when a loss is not a finite number: stop the run, or go back to the "
                   "last checkpoint and continue with half the learning rate, at most three times");
}

void validate(const CheckpointFlags& flags, const std::string& run_dir) {
  if (flags.resume == CheckpointFlags::kAuto && run_dir.empty() && flags.output_dir.empty()) {
    throw UsageError(
        "--resume auto: looks for checkpoints in --run-dir or --checkpoint-output-dir; give one of "
        "them, or use a path instead of auto");
  }
  if (!flags.resume.empty() && flags.resume != CheckpointFlags::kAuto &&
      !path_exists(flags.resume)) {
    throw UsageError("--resume: expected auto, a checkpoint or a folder of checkpoints, but '",
                     flags.resume, "' does not exist");
  }
  if (!flags.weights.empty() && !is_plain_file(flags.weights)) {
    throw UsageError("--weights: expected a file with weights (.h5), but '", flags.weights,
                     "' is not a file");
  }
  if (flags.by_name && flags.weights.empty()) {
    throw UsageError("--by-name: chooses layers of --weights; add --weights FILE");
  }
  if (flags.skip_mismatch && !flags.by_name) {
    throw UsageError("--skip-mismatch: requires --by-name; add it");
  }
  if (!flags.weights.empty() && !flags.resume.empty() && flags.resume != CheckpointFlags::kAuto) {
    throw UsageError("--weights and --resume both choose the initial weights; remove one of them");
  }
  if (flags.are_off() && flags.first_epoch.numerator() > 0) {
    throw UsageError("--first-ckpt-epoch ", to_string(flags.first_epoch),
                     ": --ckpts-per-epoch 0 writes no checkpoints; remove one of the two");
  }
}

}  // namespace pando::app
