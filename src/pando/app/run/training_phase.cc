// SPDX-License-Identifier: MIT
#include "pando/app/run/training_phase.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>

#include <fmt/core.h>

#include "pando/app/job/shared_state.h"
#include "pando/app/record/run_recorder.h"
#include "pando/app/report/class_report.h"
#include "pando/app/run/feature_cache.h"
#include "pando/app/run/output_places.h"
#include "pando/app/run/resume.h"
#include "pando/app/run/run_identity.h"
#include "pando/app/run/run_outputs.h"
#include "pando/app/run/validation_report.h"
#include "pando/base/clock.h"
#include "pando/profile/chrome_trace.h"
#include "pando/profile/trace_summary.h"
#include "pando/train/profile_report.h"

namespace pando::app {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Only the first events fit in memory; the others are counted.
void finish_trace(RunLog& log, const TrainingSetup& setup, const profile::Trace& trace) {
  const std::string path = trace_path(setup.options, setup.instances);
  profile::ChromeTraceOptions options;
  if (setup.instances.count() > 1) options.instance = setup.instances.index();
  options.run = mark_in(log.directory().path()).id;
  profile::write_chrome_trace(trace, path, options);
  const profile::TraceSummary summary = profile::summarize(trace);
  log.say(fmt::format("trace of {} events written to {}", summary.events, path));
  if (summary.dropped > 0) {
    log.say_always(
        fmt::format("warning: {} later events did not fit in memory and are missing in the trace "
                    "and its summary",
                    summary.dropped));
  }
  log.show(profile::to_text(summary));
}

// Only the first instance writes a report: the others do the same work.
void finish_profile(RunLog& log, TrainingSetup& setup, const profile::Trace& trace) {
  if (!setup.instances.is_first()) return;
  const RunMark run = mark_in(log.directory().path());
  claim_profile(setup.options.profile, run);
  const ProfileFiles files = write_profile(setup.model, setup.options.profile, "train",
                                           {.batch_size = setup.options.micro_batch_size,
                                            .fields = setup.data.sets.train.fields(),
                                            .trace = &trace,
                                            .run = run.id});
  write_schedule(setup, trace);
  log.say(fmt::format("reports written to {} and {}, trace to {}", files.text, files.json,
                      files.trace));
}

void finish_recording(RunLog& log, TrainingSetup& setup, const profile::Trace& trace) {
  RunDirectory& directory = log.directory();
  if (!setup.options.trace.empty()) directory.attempt([&] { finish_trace(log, setup, trace); });
  if (!setup.options.profile.empty()) directory.attempt([&] { finish_profile(log, setup, trace); });
}

// Sets where the fit begins and how many epochs it treats as one: executions may be longer than an
// epoch only if the whole run is one epoch for the fit.
void set_range(FitOptions& fit, const TrainingSetup& setup, TrainingPosition position) {
  fit.epochs = setup.options.num_epochs;
  fit.updates_per_epoch = setup.updates;
  if (setup.spans_epochs()) {
    fit.joined_epochs = std::max<int64_t>(fit.epochs, 1);
    fit.initial_update = setup.updates_before(position);
  } else {
    fit.initial_epoch = position.epoch;
    fit.initial_update = position.update;
  }
}

// The approximate number of batches, of the size of training, in the validation after training.
int64_t validation_steps_after(const TrainingSetup& setup) {
  const TrainOptions& options = setup.options;
  if (options.phases.validation != ValidationTime::after) return 0;
  const HostEvents& events = setup.events;
  int64_t checkpoints = 1;
  if (events.checkpoint_period > 0 && events.total > events.first_checkpoint) {
    checkpoints += (events.total - events.first_checkpoint) / events.checkpoint_period;
  }
  const int kept = options.checkpoints.keep_last;
  if (kept > 0) checkpoints = std::min<int64_t>(checkpoints, kept);
  return checkpoints * (setup.data.sets.test.size() / options.micro_batch_size + 1);
}

std::string divergence_text(const NonFiniteLoss& error, const CheckpointStore& checkpoints) {
  if (checkpoints.last().empty()) return concat(error.what(), ". There is no checkpoint yet");
  return concat(error.what(), ". The last good checkpoint is ", checkpoints.last().string());
}

// A note in a checkpoint: the factor on the learning rate after going back.
constexpr const char* kRateFactor = "learning_rate_factor";
constexpr int kMostRollbacks = 3;

double rate_factor_in(const TrainingState& state) {
  const auto found = state.notes.find(kRateFactor);
  const auto factor = found == state.notes.end() ? std::nullopt : parse_double(found->second);
  return factor.value_or(1);
}

// Whether a run with --validation during validates there: where a checkpoint is written, at the end
// of the run, and after every epoch that early stopping monitors.
bool validates_at(const TrainingSetup& setup, TrainingPosition position) {
  const int64_t done = setup.updates_before(position);
  const bool stops_early = setup.options.early_stopping.monitors_validation();
  return (stops_early && position.update == 0) || setup.events.checkpoints_at(done) ||
         (done == setup.events.total && !setup.options.checkpoints.are_off());
}

// Records a validation within training.
void note(const TrainingPhase& phase, const HistoryRow& row) {
  const ValidatedCheckpoint found{row.epoch, row.val_loss.value_or(kUnknown),
                                  row.val_metric.value_or(kUnknown)};
  std::erase_if(*phase.validated,  // after going back to an earlier checkpoint
                [&](const ValidatedCheckpoint& one) { return one.epoch >= found.epoch; });
  phase.validated->push_back(found);
  if (phase.mlperf != nullptr) tell_validation(*phase.mlperf, found, phase.setup.task());
  // The page also shows what a run that ends early got wrong.
  if (phase.setup.options.logging.report) keep_report(phase.setup, phase.log, phase.signal);
}

std::optional<double> best_figure(const TrainingPhase& phase) {
  if (phase.validated == nullptr || phase.validated->empty()) return std::nullopt;
  return best_of(*phase.validated, phase.setup.task()).figure;
}

std::shared_ptr<RunRecorder> make_recorder(const TrainingPhase& phase, double rate_factor) {
  const TrainingSetup& setup = phase.setup;
  std::map<std::string, std::string> notes = run_notes(setup);
  if (!setup.data.class_names.empty()) {
    notes[kClassNamesNote] = class_names_text(setup.data.class_names);
  }
  if (rate_factor != 1) notes[kRateFactor] = fmt::format("{}", rate_factor);
  return std::make_shared<RunRecorder>(
      phase.log, phase.signal, phase.checkpoints,
      RecorderOptions{.events = setup.events,
                      .updates_per_epoch = setup.updates,
                      .steps_per_update = setup.accumulation() * setup.batch.replicas,
                      .keep_best = setup.options.checkpoints.keep_best,
                      .task = setup.task(),
                      .best = best_figure(phase),
                      .final_checkpoint = !setup.options.checkpoints.are_off(),
                      .notes = std::move(notes),
                      .validated = [&phase](const HistoryRow& row) { note(phase, row); }});
}

// The first instance reads the file and shares its state.
TrainingState load_for_all(const Instances& instances, const std::string& path) {
  std::optional<TrainingState> state;
  instances.from_first([&] {
    state = load_training_state(path);
    return "";
  });
  share_state(instances, state);
  return std::move(*state);
}

// Presents two fits to the callbacks as one: hides the end of the first and the beginning of the
// second, unless the first stops the run.
class JoinedFits : public Callback {
 public:
  explicit JoinedFits(std::vector<std::shared_ptr<Callback>> all) : all_(std::move(all)) {}

  void begin_second() { is_second_ = true; }
  bool has_ended() const { return has_ended_; }

  void on_train_begin(FitContext& context) override {
    if (!is_second_) call([&](Callback& one) { one.on_train_begin(context); });
  }
  void on_train_end(FitContext& context) override {
    has_ended_ = is_second_ || context.stop;
    if (has_ended_) call([&](Callback& one) { one.on_train_end(context); });
  }
  void on_epoch_begin(FitContext& context) override {
    call([&](Callback& one) { one.on_epoch_begin(context); });
  }
  void on_epoch_end(FitContext& context, const Logs& logs) override {
    call([&](Callback& one) { one.on_epoch_end(context, logs); });
  }
  void on_execution_begin(FitContext& context) override {
    call([&](Callback& one) { one.on_execution_begin(context); });
  }
  void on_execution_end(FitContext& context, const Logs& logs) override {
    call([&](Callback& one) { one.on_execution_end(context, logs); });
  }
  void on_step_end(FitContext& context, const Logs& logs) override {
    call([&](Callback& one) { one.on_step_end(context, logs); });
  }

 private:
  template <typename Function>
  void call(Function function) {
    for (const auto& one : all_) function(*one);
  }

  std::vector<std::shared_ptr<Callback>> all_;
  bool is_second_ = false;
  bool has_ended_ = false;
};

// A fit on samples or on features that are computed once.
void fit_part(const TrainingPhase& phase, FitOptions& fit) {
  TrainingSetup& setup = phase.setup;
  const int64_t epoch = setup.model.position().epoch;
  setup.set_frozen(setup.is_frozen_at(epoch));
  if (!setup.is_frozen_at(epoch)) setup.drop_features();
  if (setup.is_frozen_at(epoch) && setup.features.layer.empty()) {
    const std::string line = keep_features(setup, fit.epochs - epoch, phase.log.directory().path());
    if (!line.empty()) phase.log.say(line);
  }
  if (phase.validated != nullptr) fit.validation_data = setup.test_set();
  setup.model.fit(setup.train_set(), fit);
}

// With --unfreeze-after, more layers are trained in the second fit.
void fit_parts(const TrainingPhase& phase, FitOptions& fit) {
  TrainingSetup& setup = phase.setup;
  const int64_t epochs = fit.epochs;
  const int64_t change = setup.unfreezes_at();
  if (change >= epochs || !setup.is_frozen_at(fit.initial_epoch)) return fit_part(phase, fit);
  const auto joined = std::make_shared<JoinedFits>(std::move(fit.callbacks));
  fit.callbacks = {joined};
  fit.epochs = change;
  fit_part(phase, fit);
  if (joined->has_ended()) return;
  phase.log.say("all layers are trained from now on");
  joined->begin_second();
  fit.epochs = epochs;
  fit.initial_epoch = change;
  fit.initial_update = 0;
  fit_part(phase, fit);
}

// Trains from the position of the model. Throws NonFiniteLoss.
TrainingResult train_on(const TrainingPhase& phase, const std::shared_ptr<RunRecorder>& recorder,
                        profile::Trace* trace) {
  TrainingSetup& setup = phase.setup;
  const TrainOptions& options = setup.options;
  FitOptions fit = setup.fit_options();
  set_range(fit, setup, setup.model.position());
  if (fit.initial_epoch >= fit.epochs || fit.initial_update >= setup.updates * fit.epochs) {
    phase.log.say(fmt::format(
        "nothing to train: {} of {} epochs are done; use a larger --num-epochs to continue",
        setup.model.position().epoch, options.num_epochs));
    return {};
  }
  fit.updates_per_execution = [&](TrainingPosition at) { return setup.next_execution(at); };
  fit.stop = &phase.signal.wanted();
  fit.trace = trace;
  if (phase.mlperf != nullptr && phase.mlperf->on()) {  // an epoch ends before its validation
    fit.callbacks.push_back(std::make_shared<MlperfEpochs>(*phase.mlperf));
  }
  fit.callbacks.push_back(recorder);
  fit.callbacks.insert(fit.callbacks.end(), phase.callbacks.begin(), phase.callbacks.end());
  fit.verbose = options.quiet ? 0 : 1;
  fit.validation_steps_to_follow = validation_steps_after(setup);
  if (phase.validated != nullptr) {
    fit.validate_at = [&](TrainingPosition at) { return validates_at(setup, at); };
  }
  fit.validation_batch_size = options.phases.micro_batch_size(options.micro_batch_size);
  fit_parts(phase, fit);
  return {.stopped = recorder->stopped()};
}

}  // namespace

TrainingResult train(const TrainingPhase& phase, const std::optional<TrainingState>& state) {
  TrainingSetup& setup = phase.setup;
  std::optional<profile::Trace> trace;
  if (setup.options.records()) {
    trace.emplace(setup.options.trace.empty() ? kProfileTrace : profile::TraceOptions{});
  }
  TrainingState begin = state ? *state : setup.model.training_state();
  if (state) phase.checkpoints.go_on_from(state->weights.path, state->position);
  double rate_factor = rate_factor_in(begin);
  setup.model.scale_learning_rate(rate_factor);
  const auto start = std::chrono::steady_clock::now();
  for (int rollbacks = 0;; ++rollbacks) {
    const std::shared_ptr<RunRecorder> recorder = make_recorder(phase, rate_factor);
    setup.model.restore(begin);
    recorder->resume(begin, phase.log.directory().seconds_before() + seconds_since(start));
    try {
      TrainingResult result = train_on(phase, recorder, trace ? &*trace : nullptr);
      phase.log.directory().defer_failures();
      if (trace) finish_recording(phase.log, setup, *trace);
      return result;
    } catch (const NonFiniteLoss& error) {
      const bool goes_back = setup.options.checkpoints.on_nan == OnNan::rollback;
      if (!goes_back || rollbacks == kMostRollbacks) {
        throw NonFiniteLoss(divergence_text(error, phase.checkpoints));
      }
      const std::filesystem::path& last = phase.checkpoints.last();
      if (!last.empty()) begin = load_for_all(setup.instances, last.string());
      rate_factor *= 0.5;
      setup.model.scale_learning_rate(0.5);
      phase.log.say_always(
          fmt::format("warning: {}. Going back to {} and continuing with {:g} of the learning rate",
                      error.what(), last.empty() ? "the beginning" : last.string(), rate_factor));
    }
  }
}

}  // namespace pando::app
