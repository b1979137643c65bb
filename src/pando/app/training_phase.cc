// SPDX-License-Identifier: MIT
#include "pando/app/training_phase.h"

#include <algorithm>

#include <fmt/format.h>

#include "pando/app/resume.h"
#include "pando/app/run_recorder.h"
#include "pando/profile/chrome_trace.h"
#include "pando/profile/trace_summary.h"

namespace pando::app {

namespace {

// The first events fit in memory; the rest is counted.
void finish_trace(RunLog& log, const std::string& path, const profile::Trace& trace) {
  profile::write_chrome_trace(trace, path);
  const profile::TraceSummary summary = profile::summarize(trace);
  log.say(fmt::format("trace of {} events written to {}", summary.events, path));
  if (summary.dropped > 0) {
    log.say(
        fmt::format("warning: {} later events did not fit in memory and are missing in the trace "
                    "and its summary",
                    summary.dropped));
  }
  log.show(profile::to_text(summary));
}

// Where the fit begins, and how many epochs it takes for one: executions may be longer than an
// epoch only when the whole run is one to the fit.
void set_range(FitOptions& fit, const TrainingSetup& setup, TrainingPosition position) {
  fit.epochs = setup.options.num_epochs;
  fit.updates_per_epoch = setup.updates;
  if (setup.spans_epochs()) {
    fit.joined_epochs = std::max<int64_t>(fit.epochs, 1);
    fit.initial_update = position.epoch * setup.updates + position.update;
  } else {
    fit.initial_epoch = position.epoch;
    fit.initial_update = position.update;
  }
}

std::string divergence_text(const NonFiniteLoss& error, const CheckpointStore& checkpoints) {
  if (checkpoints.last().empty()) return concat(error.what(), ". There is no checkpoint yet");
  return concat(error.what(), ". The last good checkpoint is ", checkpoints.last().string());
}

}  // namespace

TrainingResult train(const TrainingPhase& phase, const std::optional<TrainingState>& state) {
  TrainingSetup& setup = phase.setup;
  const TrainOptions& options = setup.options;
  const auto recorder = std::make_shared<RunRecorder>(
      phase.log, phase.signal, phase.checkpoints,
      RecorderOptions{.events = setup.events,
                      .updates_per_epoch = setup.updates,
                      .steps_per_update = setup.accumulation() * setup.batch.replicas,
                      .final_checkpoint = !options.checkpoints.are_off(),
                      .notes = run_notes(setup)});
  if (state) {
    setup.model.restore(*state);
    recorder->resume(*state, phase.log.directory().seconds_before());
    phase.checkpoints.begin_at(state->weights.path, state->position);
  }
  FitOptions fit = setup.fit_options();
  set_range(fit, setup, setup.model.position());
  if (fit.initial_epoch >= fit.epochs || fit.initial_update >= setup.updates * fit.epochs) {
    phase.log.say(fmt::format("the run is at its end: {} of {} epochs are done",
                              setup.model.position().epoch, options.num_epochs));
    return {};
  }
  std::optional<profile::Trace> trace;
  if (!options.trace.empty()) trace.emplace();
  fit.updates_per_execution = [&](TrainingPosition at) { return setup.next_execution(at); };
  fit.stop = &phase.signal.wanted();
  fit.trace = trace ? &*trace : nullptr;
  fit.callbacks = {recorder};
  fit.callbacks.insert(fit.callbacks.end(), phase.callbacks.begin(), phase.callbacks.end());
  fit.verbose = options.quiet ? 0 : 1;
  if (options.phases.during_training) fit.validation_data = setup.data.sets.test;
  TrainingResult result;
  try {
    result.history = setup.model.fit(setup.data.sets.train, fit);
  } catch (const NonFiniteLoss& error) {
    throw NonFiniteLoss(divergence_text(error, phase.checkpoints));
  }
  if (trace) finish_trace(phase.log, options.trace, *trace);
  result.stopped = recorder->stopped();
  return result;
}

}  // namespace pando::app
