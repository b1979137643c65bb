// SPDX-License-Identifier: MIT
#include "pando/app/run/announcement.h"

#include <fmt/core.h>

#include "pando/app/record/log_line.h"
#include "pando/base/strings.h"

namespace pando::app {

namespace {

std::string batch_line(const TrainingSetup& setup) {
  const BatchConfiguration& batch = setup.batch;
  std::string line =
      fmt::format("global batch {} = micro-batch {} x {} x accumulation {}, {}, {} per epoch",
                  batch.global_batch_size, batch.micro_batch_size, replicas_text(setup),
                  batch.gradient_accumulation_count, counted(setup.stages(), "stage"),
                  counted(setup.updates, "weight update"));
  const int64_t left_over = setup.data.sets.train.size() - setup.updates * batch.global_batch_size;
  if (left_over > 0) {
    line += fmt::format("; {} left over for the next epoch", counted(left_over, "sample"));
  }
  return line;
}

}  // namespace

std::string replicas_text(const TrainingSetup& setup) {
  std::string replicas = counted(setup.batch.replicas, "replica");
  if (setup.instances.count() == 1) return replicas;
  return fmt::format("{} on {}", replicas, counted(setup.instances.count(), "instance"));
}

void announce(const TrainingSetup& setup, double compile_seconds, RunLog& log) {
  const TrainOptions& options = setup.options;
  RunDirectory& directory = log.directory();
  for (const std::string& warning : setup.warnings) directory.log("warning: " + warning);
  if (!setup.chosen_splits.empty()) directory.log(trim(setup.chosen_splits));
  if (!setup.tuned_kernels.empty()) directory.log(trim(setup.tuned_kernels));
  if (!directory.previous().empty()) {
    log.say("files of an earlier run moved to " + directory.previous().string());
  }
  const std::string line = hyper_parameters_line(setup.config_text);
  directory.log(line);
  if (options.verbose) log.show(line + "\n");
  const ZooEntry& entry = setup.entry;
  const std::string& dataset = options.data.dataset;
  const char* made_up =
      options.data.synthetic_data == SyntheticData::none ? "" : "synthetic images for ";
  const char* doing = options.phases.training ? "training" : "validating";
  if (!options.model_file && entry.dataset != dataset) {
    log.say(
        fmt::format("{} is made for {}; {} it on {}", entry.name, entry.dataset, doing, dataset));
  }
  if (!options.phases.training) {
    log.say(fmt::format("validating {} on {}{}: {}, run directory {}", options.model, made_up,
                        dataset, counted(setup.data.sets.test.size(), "sample"),
                        directory.path().string()));
    log.say(concat("precision ", to_string(options.precision),
                   options.precision_file.empty() ? "" : ", as in " + options.precision_file));
    return;
  }
  log.say(fmt::format(
      "training {} on {}{}: {} samples, learning rate {}, seed {}, run directory {}", options.model,
      made_up, dataset, setup.data.sets.train.size(),
      describe(options.schedule, setup.schedule_base()), options.seed, directory.path().string()));
  if (options.data.validation_split > 0) {
    log.say(fmt::format("validation on {} cut out of the training data (--validation-split {})",
                        counted(setup.data.sets.test.size(), "sample"),
                        options.data.validation_split));
  }
  log.say(batch_line(setup));
  log.say(concat("precision ", describe_precision(options)));
  const std::string scaling = options.loss.describe_scaling(setup.batch.replicas);
  if (!scaling.empty()) log.say(scaling);
  log.say(fmt::format("compilation time: {:.2f} s", compile_seconds));
}

}  // namespace pando::app
