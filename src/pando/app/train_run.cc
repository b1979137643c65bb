// SPDX-License-Identifier: MIT
#include "pando/app/train_run.h"

#include <optional>

#include <fmt/format.h>

#include "pando/app/dry_run.h"
#include "pando/app/exit_code.h"
#include "pando/app/pipeline_text.h"
#include "pando/app/run_directory.h"
#include "pando/app/run_log.h"
#include "pando/app/run_recorder.h"
#include "pando/app/stop_signal.h"
#include "pando/app/training_setup.h"
#include "pando/base/error.h"
#include "pando/profile/chrome_trace.h"
#include "pando/profile/trace_summary.h"

namespace pando::app {

namespace {

std::string batch_line(const TrainingSetup& setup) {
  const BatchConfiguration& batch = setup.batch;
  std::string line =
      fmt::format("global batch {} = micro-batch {} x {} x accumulation {}, {}, {} per epoch",
                  batch.global_batch_size, batch.micro_batch_size,
                  counted(batch.replicas, "replica"), batch.gradient_accumulation_count,
                  counted(setup.stages(), "stage"), counted(setup.updates, "weight update"));
  const int64_t left_over = setup.data.sets.train.size() - setup.updates * batch.global_batch_size;
  if (left_over > 0) {
    line += fmt::format("; {} are left over and open the next one", counted(left_over, "sample"));
  }
  return line;
}

class TrainingRun {
 public:
  TrainingRun(const TrainOptions& options, std::ostream& out)
      : options_(options), out_(out), setup_(options, out) {}

  int run() {
    if (!options_.quiet) {
      for (const std::string& warning : setup_.warnings) out_ << "warning: " << warning << "\n";
      out_ << setup_.model.summary() << setup_.chosen_splits << std::flush;
    }
    // Compiling before the run directory is made: a wrong option leaves nothing behind.
    const std::vector<Field>& fields = setup_.data.sets.train.fields();
    const std::string report = setup_.model.compile_report(options_.micro_batch_size, fields);
    if (options_.compile_report) out_ << report;
    if (options_.compile_report && !options_.dry_run && setup_.stages() > 1) {
      out_ << timeline_of(setup_.shape()) << expected_idle(setup_.shape(), {});
    }
    if (options_.verify) {
      const Verification verification = setup_.model.verify(options_.micro_batch_size, fields);
      out_ << verification.table;
      return verification.ok ? kDone : kFailed;
    }
    if (options_.dry_run) return try_a_few_updates(setup_);
    RunDirectory directory(
        {.path = options_.run_dir, .model = options_.model, .config = setup_.config_text});
    RunLog log(directory, out_, options_.quiet);
    announce(log);
    try {
      return train(log);
    } catch (const std::exception& error) {
      log_failure(directory, error);
      throw;
    }
  }

 private:
  int train(RunLog& log) {
    RunDirectory& directory = log.directory();
    const StopSignal signal;
    const auto recorder = std::make_shared<RunRecorder>(directory, signal, setup_.events);
    std::optional<profile::Trace> trace;
    if (!options_.trace.empty()) trace.emplace();
    FitOptions fit = setup_.fit_options();
    fit.epochs = options_.num_epochs;
    fit.updates_per_epoch = setup_.updates;
    fit.stop = &signal.wanted();
    fit.trace = trace ? &*trace : nullptr;
    fit.callbacks = {recorder};
    fit.verbose = options_.quiet ? 0 : 1;
    if (options_.validation) fit.validation_data = setup_.data.sets.test;
    const History history = setup_.model.fit(setup_.data.sets.train, fit);
    if (trace) finish_trace(log, *trace);
    tell_skipped(directory);
    if (recorder->stopped()) {
      log.say_always(fmt::format("stopped by signal {}; the weights are saved in {}",
                                 signal.received(), directory.checkpoints().string()));
      return kStopped;
    }
    finish(log, history);
    return kDone;
  }

  // The first events fit in memory; the rest is counted.
  void finish_trace(RunLog& log, const profile::Trace& trace) const {
    profile::write_chrome_trace(trace, options_.trace);
    const profile::TraceSummary summary = profile::summarize(trace);
    log.say(fmt::format("trace of {} events written to {}", summary.events, options_.trace));
    if (summary.dropped > 0) {
      log.say(
          fmt::format("warning: {} later events did not fit in memory and are missing in the trace "
                      "and its summary",
                      summary.dropped));
    }
    log.show(profile::to_text(summary));
  }

  static void log_failure(RunDirectory& directory, const std::exception& error) {
    try {
      directory.log(concat("failed: ", error.what()));
    } catch (const IoError&) {
      // Likely the same full disk; the error that ended the run matters more.
    }
  }

  void announce(RunLog& log) const {
    RunDirectory& directory = log.directory();
    for (const std::string& warning : setup_.warnings) directory.log("warning: " + warning);
    if (!setup_.chosen_splits.empty()) directory.log(trim(setup_.chosen_splits));
    if (!directory.previous().empty()) {
      log.say("files of an earlier run moved to " + directory.previous().string());
    }
    const ZooEntry& entry = setup_.entry;
    const std::string& dataset = to_string(options_.data.dataset);
    if (entry.dataset != dataset) {
      log.say(
          fmt::format("{} is made for {}; training it on {}", entry.name, entry.dataset, dataset));
    }
    log.say(fmt::format(
        "training {} on {}{}: {} samples, learning rate {:g}, seed {}, run directory {}",
        options_.model,
        options_.data.synthetic_data == SyntheticData::none ? "" : "images made up for ", dataset,
        setup_.data.sets.train.size(), setup_.model.learning_rate(), options_.seed,
        directory.path().string()));
    log.say(batch_line(setup_));
  }

  // Also with --quiet: data that were left out are part of the result.
  void tell_skipped(RunDirectory& directory) const {
    const std::vector<BadRecord>& skipped = setup_.data.skipped;
    if (skipped.empty()) return;
    directory.log(to_string(skipped, skipped.size()));
    out_ << to_string(skipped) << std::endl;
  }

  void finish(RunLog& log, const History& history) const {
    if (!options_.validation || history.epoch.empty()) return;
    log.say_always(fmt::format("test loss: {:.4f}, test accuracy: {:.2f} %",
                               history["val_loss"].back(), 100 * history["val_accuracy"].back()));
  }

  const TrainOptions& options_;
  std::ostream& out_;
  TrainingSetup setup_;
};

}  // namespace

int run_training(const TrainOptions& options, std::ostream& out) {
  return TrainingRun(options, out).run();
}

}  // namespace pando::app
