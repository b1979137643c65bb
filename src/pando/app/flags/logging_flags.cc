// SPDX-License-Identifier: MIT
#include "pando/app/flags/logging_flags.h"

#include "pando/app/job/exit_code.h"

namespace pando::app {

void add_logging_flags(OptionTable& table, LoggingFlags& flags) {
  table.begin_group("Records", Effect::none);
  table.add("tensorboard", flags.tensorboard,
            "write event files for TensorBoard into the run directory");
  table
      .add(
          "histograms-per-epoch", flags.histograms_per_epoch,
          "how often per epoch histograms of all weights are written to the event files, always at "
          "the end of an execution; may be a fraction; 0: never")
      .with_hint("X")
      .at_least(0);
  table.add("wandb", flags.wandb,
            "write the configuration, the rows of the history and a summary as JSON lines to "
            "wandb.jsonl in the run directory; nothing is sent to any service");
  table
      .add("wandb-run-name", flags.wandb_run_name,
           "the name of the run in wandb.jsonl; default: <model>-<dataset>-<time>")
      .with_hint("NAME");
  table.add("wandb-tags", flags.wandb_tags, "tags of the run in wandb.jsonl").with_hint("TAG");
  table.add("report", flags.report,
            "write report.html into the run directory, however the run ends: the page of `pando "
            "report` with results, curves, mistakes and, with --profile, time and memory");
}

void validate(const LoggingFlags& flags) {
  if (!flags.tensorboard && flags.histograms_per_epoch.numerator() > 0) {
    throw UsageError(
        "--histograms-per-epoch ", to_string(flags.histograms_per_epoch),
        ": histograms are written to event files, which --tensorboard false turns off; "
        "remove one of the two flags");
  }
}

std::vector<std::string> warnings_of(const LoggingFlags& flags) {
  std::vector<std::string> warnings;
  if (flags.wandb) return warnings;
  if (!flags.wandb_run_name.empty()) {
    warnings.push_back("--wandb-run-name has no effect without --wandb");
  }
  if (!flags.wandb_tags.empty()) {
    warnings.push_back("--wandb-tags has no effect without --wandb");
  }
  return warnings;
}

}  // namespace pando::app
