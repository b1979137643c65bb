// SPDX-License-Identifier: MIT
#include "pando/app/run/training_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/core.h>

#include "pando/app/job/agreed_signal.h"
#include "pando/app/job/exit_code.h"
#include "pando/app/record/log_line.h"
#include "pando/app/record/mlperf_log.h"
#include "pando/app/record/run_directory.h"
#include "pando/app/record/run_facts.h"
#include "pando/app/record/run_log.h"
#include "pando/app/report/curves.h"
#include "pando/app/run/announcement.h"
#include "pando/app/run/dry_run.h"
#include "pando/app/run/exchange_log.h"
#include "pando/app/run/fine_tuning.h"
#include "pando/app/run/memory_check.h"
#include "pando/app/run/output_places.h"
#include "pando/app/run/pipeline_text.h"
#include "pando/app/run/resume.h"
#include "pando/app/run/row_sinks.h"
#include "pando/app/run/run_identity.h"
#include "pando/app/run/run_outputs.h"
#include "pando/app/run/training_phase.h"
#include "pando/app/run/validation_phase.h"
#include "pando/app/run/validation_report.h"
#include "pando/base/clock.h"
#include "pando/base/error.h"
#include "pando/base/memory_limit.h"
#include "pando/base/strings.h"
#include "pando/comm/job.h"
#include "pando/train/keras_model.h"
#include "pando/train/stagnation.h"
#include "pando/zoo/head.h"

namespace pando::app {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kStopsBeginning =
    "\nstopping as soon as the run has begun; another signal, after a second, ends at once\n";

class TrainingRun {
 public:
  TrainingRun(const TrainOptions& options, std::ostream& out, const TrainingParts& parts)
      : options_(options),
        out_(out),
        parts_(parts),
        begin_ms_(wall_clock_ms()),
        setup_(options, out, parts) {}

  int run() {
    setup_.agree();
    // Prints warnings also with --quiet: a flag without effect changes the meaning of a result.
    for (const std::string& warning : setup_.warnings) out_ << "warning: " << warning << "\n";
    if (!options_.quiet) {
      out_ << setup_.model.summary() << setup_.chosen_splits << std::flush;
    }
    if (options_.phases.training) {
      const int code = prepare_training();
      if (options_.verify || options_.dry_run) return code;
    } else {
      prepare_validation();
    }
    if (options_.counterparts.compile_only) {
      out_ << "compiled; nothing is kept, so a later run compiles again\n";
      return kDone;
    }
    std::vector<std::string> told;  // before there is a log
    state_ = find_resume_state(setup_, [&](const std::string& line) { told.push_back(line); });
    places_.emplace(setup_, state_);
    const std::unique_ptr<RunDirectory> directory = places_->begin_run(resumed_step());
    RunLog log(*directory, out_, options_.quiet);
    for (const std::string& line : told) log.say_always(line);
    if (!directory->warning().empty()) log.say_always(directory->warning());
    announce(setup_, compile_seconds_.count(), log);
    load_ = begin_load(setup_, *directory);
    try {
      setup_.instances.together([&] { begin_facts(*directory); });
      begin_weights(log);
      setup_.instances.together([&] {
        write_class_names(setup_, log);
        keep_model(log);
        if (setup_.instances.is_first()) attach_sinks(log);
      });
      record_input(setup_, *directory);
      const int code = run_phases(log);
      if (setup_.instances.is_first()) {
        directory->attempt([&] { write_curves(directory->path()); });
      }
      end_load(setup_, load_.get());
      end_run(*directory, state_after(code), cause_);
      tell_unwritten(*directory, code);
      return code;
    } catch (const std::exception& error) {
      log_failure(*directory, error);
      throw;
    }
  }

 private:
  void begin_facts(const RunDirectory& directory) const {
    if (!setup_.instances.is_first()) return;
    RunFacts facts = run_facts_of(setup_);
    facts.compile_seconds = compile_seconds_.count();
    write_run_facts(directory.path(), facts);
  }

  // In micro-batches, as the history counts them.
  std::optional<int64_t> resumed_step() const {
    if (!state_ || !is_of_this_run(*state_, options_)) return std::nullopt;
    return setup_.updates_before(state_->position) * setup_.accumulation() * setup_.batch.replicas;
  }

  // The first instance loads --weights; fit() broadcasts them.
  void begin_weights(RunLog& log) {
    const std::string& weights = options_.checkpoints.weights;
    if (state_) {
      log.say(describe_resumed(setup_, *state_));
      const bool is_own = setup_.instances.is_first() && places_->continues();
      const size_t later = is_own ? set_aside_after(state_->weights.path) : 0;
      if (later > 0) {
        log.say(fmt::format("renamed to *.old, because they are of later epochs: {}",
                            counted(static_cast<int64_t>(later), "checkpoint")));
      }
    } else if (!weights.empty() && options_.phases.training) {
      setup_.instances.together([&] {
        if (!setup_.instances.is_first()) return;
        const LoadReport report = load_initial_weights(
            setup_.model, options_, [&](const std::string& line) { log.say(line); });
        for (const std::string& line : report.out_of_range) log.say_always("warning: " + line);
        if (!report.average_decay.empty()) log.say(average_note(weights, report));
      });
      log.say("starting with the weights of " + weights);
    } else if (options_.model_file && options_.phases.training) {
      log.say(fmt::format("starting with the weights of {}{}", options_.model_file->path,
                          options_.tuning.replaces_head() ? ", with a new classifier" : ""));
      if (const std::string& note = setup_.pixel_note; !note.empty()) {
        note.starts_with("warning") ? log.say_always(note) : log.say(note);
      }
      if (has_optimizer(options_.model_file->path)) {
        log.say(
            "the file also has the state of its optimizer; training begins with a new one "
            "(restore_keras_optimizer() of the library continues with that of the file)");
      }
      if (replaces_sigmoid()) {
        log.say(
            "the file ends with sigmoid, for several classes at once; it is trained with softmax, "
            "for one class of every sample, as the data have it");
      }
    }
    if (options_.phases.training && setup_.frozen.size() > 0) {
      log.say(describe_frozen());
    }
  }

  static bool has_optimizer(const std::string& path) {
    const ModelFileKind* kind = find_model_file_kind(path);
    return kind != nullptr && kind->name == "h5" && has_keras_optimizer(path);
  }

  bool replaces_sigmoid() const {
    return !options_.tuning.replaces_head() &&
           zoo::last_op(options_.model_file->model.network()) == "sigmoid" &&
           zoo::last_op(setup_.model.network()) == "softmax";
  }

  std::string describe_frozen() const {
    if (!options_.tuning.freezes()) {
      return fmt::format("{} {} frozen by the file; --freeze none trains all layers",
                         counted(std::ssize(setup_.frozen), "layer"),
                         setup_.frozen.size() == 1 ? "is" : "are");
    }
    return fmt::format("frozen: {} of {} layers, up to '{}'{}", setup_.frozen.size(),
                       setup_.model.network().layers().size() - 1, setup_.frozen.back(),
                       describe_unfreezing());
  }

  std::string describe_unfreezing() const {
    const int64_t after = options_.tuning.unfreeze_after;
    if (after == 0) return "";
    if (after < options_.num_epochs) {
      return fmt::format("; all are trained after {}", counted(after, "epoch"));
    }
    return fmt::format("; --unfreeze-after {} does nothing in a run of {}", after,
                       counted(options_.num_epochs, "epoch"));
  }

  // The copy of the file of --model, for --resume and `pando validate`.
  void keep_model(RunLog& log) const {
    if (!options_.model_file || !options_.phases.training || !setup_.instances.is_first()) return;
    const std::string failure = keep_model_file(*options_.model_file, log.directory().path());
    if (failure.empty()) return;
    log.say(fmt::format(
        "no copy of {} is kept, because a copy alone cannot be read ({}); keep the files of the "
        "model where they are to resume the run",
        options_.model_file->path, failure));
  }

  // Compiles before the run directory is made, so that a wrong option leaves nothing behind.
  std::string count_memory() {
    std::string memory;
    // Layers that are trained later need their memory then.
    if (options_.tuning.unfreeze_after > 0) setup_.set_frozen(false);
    setup_.instances.together([&] { memory = check_memory(setup_); });
    setup_.set_frozen(true);
    return memory;
  }

  // Other kernels give other bits than those of the run that recorded the choices.
  void warn_of_unused_kernels() {
    if (options_.kernel_choices.empty()) return;
    const std::vector<std::string> unused = setup_.model.unused_kernel_choices();
    if (unused.empty()) return;
    setup_.warnings.push_back(
        concat("--kernel-choices: ", counted(static_cast<int64_t>(unused.size()), "choice"),
               " without effect, so results differ in their last bits from those of the run that "
               "recorded them; the first: ",
               unused.front()));
    out_ << "warning: " << setup_.warnings.back() << "\n";
  }

  int prepare_training() {
    const std::vector<Field>& fields = setup_.data.sets.train.fields();
    const Clock::time_point start = Clock::now();
    std::string memory = count_memory();
    if (options_.tune != Tuning::off) {  // only for a run that fits
      setup_.tune_kernels();
      if (!options_.quiet) out_ << setup_.tuned_kernels << std::flush;
      memory = count_memory();
    }
    // All later needs are counted: a validation after hours must not be refused.
    set_memory_limit(std::numeric_limits<int64_t>::max());
    setup_.instances.together(
        [&] { setup_.model.prepare(RunMode::train, options_.micro_batch_size, fields); });
    warn_of_unused_kernels();
    compile_seconds_ = Clock::now() - start;
    if (options_.compile_report || options_.dry_run) out_ << memory;
    if (options_.compile_report) {
      out_ << setup_.model.compile_report(options_.micro_batch_size, fields);
    }
    if (options_.compile_report && !options_.dry_run && setup_.stages() > 1) {
      out_ << timeline_of(setup_.shape()) << expected_idle(setup_.shape(), {});
    }
    if (options_.verify) {
      const Verification verification = setup_.model.verify(options_.micro_batch_size, fields);
      out_ << verification.table;
      return verification.ok ? kDone : kFailed;
    }
    return options_.dry_run ? try_a_few_updates(setup_) : kDone;
  }

  void prepare_validation() {
    setup_.instances.together([&] {
      check_memory(setup_);
      setup_.model.prepare(RunMode::evaluate,
                           options_.phases.micro_batch_size(options_.micro_batch_size),
                           setup_.data.sets.test.fields());
    });
  }

  int run_phases(RunLog& log) {
    const ValidationFlags& phases = options_.phases;
    MlperfLog mlperf(nullptr);
    if (phases.mlperf_logging) {
      mlperf = MlperfLog([&log](const std::string& line) { log.say_always(line); });
    }
    begin_mlperf(mlperf);
    const int64_t warm_up_updates = mlperf.on() ? setup_.updates : parts_.warm_up_updates;
    if (phases.training && warm_up_updates > 0 && !warm_up(log, warm_up_updates)) return kStopped;
    mlperf.stop("init");
    mlperf.start("run");
    start_ = Clock::now();
    if (!phases.training) log.directory().defer_failures();
    int code = phases.training ? train(log, mlperf) : kDone;
    if (code == kDone && phases.validates()) code = validate(log, mlperf);
    mlperf.stop("run", {{"status", std::string(reached_target_ ? "success" : "aborted")}});
    if (code == kDone && phases.training && phases.validates()) {
      log.say("time to train = " + duration_text(seconds_since(start_)));
    }
    return code;
  }

  void begin_mlperf(MlperfLog& mlperf) const {
    mlperf.started_at(begin_ms_, "init");
    mlperf.event("submission_benchmark", options_.model);
    mlperf.event("seed", options_.seed);
    mlperf.event("global_batch_size", setup_.batch.global_batch_size);
    mlperf.event("gradient_accumulation_steps", setup_.batch.gradient_accumulation_count);
    mlperf.event("train_samples", setup_.data.sets.train.size());
    mlperf.event("eval_samples", setup_.data.sets.test.size());
  }

  // Trains for a while before time is measured, then restores the model. Returns false if a signal
  // arrived.
  bool warm_up(RunLog& log, int64_t updates) {
    AgreedSignal signal(setup_.instances,
                        "\nstopping the warm-up; another signal, after a second, ends at once\n");
    log.say(fmt::format("a warm-up of {} begins", counted(updates, "weight update")));
    const Clock::time_point begin = Clock::now();
    const TrainingState before = setup_.model.training_state();
    FitOptions fit = setup_.fit_options();
    fit.updates_per_epoch = updates;
    fit.stop = &signal.wanted();
    setup_.model.fit(setup_.data.sets.train, fit);
    setup_.model.restore(before);
    if (signal.ask() != 0) {
      tell_stopped(signal.text());
      log.say_always(
          fmt::format("stopped by {} in the warm-up; there is nothing to save", signal.text()));
      return false;
    }
    log.say(fmt::format("the warm-up took {:.1f} s; weights and optimizer are as before it",
                        seconds_since(begin)));
    return true;
  }

  int train(RunLog& log, MlperfLog& mlperf) {
    CheckpointStore& checkpoints = places_->checkpoints();
    AgreedSignal signal(setup_.instances);
    TrainingPhase phase{.setup = setup_,
                        .log = log,
                        .signal = signal,
                        .checkpoints = checkpoints,
                        .mlperf = &mlperf};
    if (options_.phases.validates_during()) {
      validated_ = validations_in_history(setup_.instances, log.directory().path());
      phase.validated = &validated_;
    }
    if (options_.data.synthetic_data == SyntheticData::none) {  // nothing can be learned from noise
      phase.callbacks.push_back(std::make_shared<StagnationWatch>(
          [&log](const std::string& line) { log.say_always(line); }));
    }
    if (histograms_) phase.callbacks.push_back(histograms_);
    if (setup_.instances.count() > 1) phase.callbacks.push_back(exchange_log(log));
    const auto early_stopping = early_stopping_callback(
        options_.early_stopping, {.instances = setup_.instances,
                                  .directory = log.directory().path(),
                                  .tell = [&](const std::string& line) { tell_early(log, line); },
                                  .restored = [this](int64_t epoch) { restored_ = epoch; }});
    if (early_stopping) phase.callbacks.push_back(early_stopping);
    phase.callbacks.insert(phase.callbacks.end(), parts_.callbacks.begin(), parts_.callbacks.end());
    const TrainingResult result = app::train(phase, state_);
    tell_skipped(log.directory());
    // A signal after the last weight update stops the validation.
    if (result.stopped || (options_.phases.validates() && signal.ask() != 0)) {
      const std::string cause = signal.text();
      tell_stopped(cause);
      log.say_always(stopped_line(cause, log, checkpoints));
      return kStopped;
    }
    epochs_ = static_cast<double>(setup_.model.position().epoch);
    return kDone;
  }

  static RunState state_after(int code) {
    return code == kDone ? RunState::done : code == kStopped ? RunState::stopped : RunState::failed;
  }

  void tell_stopped(const std::string& signal) {
    cause_ = "stopped by " + signal;
    if (parts_.stopped) parts_.stopped(signal);
  }

  void tell_early(RunLog& log, const std::string& line) {
    log.say(line);
    if (line.starts_with("early stopping")) cause_ = line;
  }

  static std::string stopped_line(const std::string& signal, RunLog& log,
                                  const CheckpointStore& checkpoints) {
    if (checkpoints.last().empty()) {
      return fmt::format("stopped by {}; there is no checkpoint to continue from", signal);
    }
    return fmt::format(
        "stopped by {}; saved {}; to continue, use the same command with --run-dir {} --resume "
        "auto",
        signal, checkpoints.last().string(), log.directory().path().string());
  }

  std::filesystem::path checkpoint_folder(RunLog& log) const {
    return options_.checkpoints.folder(log.directory().path());
  }

  // Validates the checkpoints of the training, unless the user names other ones.
  ValidationRequest validation_request(RunLog& log) const {
    const ValidationFlags& flags = options_.phases;
    ValidationRequest request{.folder = flags.checkpoint_input_dir,
                              .validated = validated_,
                              .trained = epochs_ > 0,
                              .epoch = epochs_,
                              .start = start_,
                              .seconds_before = log.directory().seconds_before()};
    if (!flags.training) request.file = options_.checkpoints.weights;
    if (flags.training && request.folder.empty()) {
      request.folder = checkpoint_folder(log);
      if (restored_) {
        request.restored = CheckpointFile{log.directory().path() / kBestEpochFile,
                                          static_cast<double>(*restored_)};
      }
    }
    return request;
  }

  int validate(RunLog& log, MlperfLog& mlperf) {
    AgreedSignal signal(
        setup_.instances,
        "\nstopping the validation; another signal, after a second, ends at once\n");
    RunDirectory& directory = log.directory();
    ValidationRequest request = validation_request(log);
    request.stop = [&signal] { return signal.ask() != 0; };
    request.record = [&](const HistoryRow& row) { directory.append_history(row); };
    request.mlperf = &mlperf;
    const ValidationResult result = validate_checkpoints(setup_, log, request);
    directory.summarize(result.figures(options_.phases, setup_.task()));
    reached_target_ =
        epoch_to_target(result.checkpoints, options_.phases.target_accuracy, setup_.task())
            .has_value();
    if (!options_.phases.training) tell_skipped(directory);
    if (result.stopped) {
      const std::string cause = signal.text();
      tell_stopped(cause);
      log.say_always(fmt::format("stopped by {} in the validation, after {}", cause,
                                 counted(std::ssize(result.checkpoints), "checkpoint")));
      return kStopped;
    }
    if (!result.damaged.empty()) {
      cause_ = "damaged and not validated: " + join(result.damaged, ", ");
      log.say_always(cause_);
      return kFailed;
    }
    if (!setup_.instances.is_first()) return kDone;
    if (options_.checkpoints.keep_best) keep_best(log, result);
    if (options_.phases.clean_dir) clean(log, result);
    return kDone;
  }

  // --clean-dir removes what training wrote, not what the user had before.
  void clean(RunLog& log, const ValidationResult& result) {
    if (!options_.phases.checkpoint_input_dir.empty()) {
      log.say_always(
          "warning: --clean-dir: checkpoints of --checkpoint-input-dir are never removed");
      return;
    }
    places_->checkpoints().clean(result.files);
    log.say(
        fmt::format("--clean-dir: {} removed", counted(std::ssize(result.files), "checkpoint")));
  }

  void keep_best(RunLog& log, const ValidationResult& result) const {
    if (result.checkpoints.empty() || !options_.phases.training) return;
    const ValidatedCheckpoint& best = best_of(result.checkpoints, setup_.task());
    // Validation during training has already kept the best checkpoint, unless it was measured only
    // now.
    if (std::ranges::find(validated_, best.epoch, &ValidatedCheckpoint::epoch) != validated_.end())
      return;
    if (std::ranges::find(result.files, best.epoch, &CheckpointFile::epoch) == result.files.end()) {
      log.say(fmt::format("the best weights, of epoch {}, are in {}", epoch_text(best.epoch),
                          (log.directory().path() / kBestEpochFile).string()));
      return;
    }
    log.say(fmt::format("the best checkpoint, of epoch {}, is kept as {}", epoch_text(best.epoch),
                        keep_as_best(checkpoint_folder(log), best.epoch).string()));
  }

  // Adds event files and records of experiments beside the history.
  void attach_sinks(RunLog& log) {
    const LoggingFlags& flags = options_.logging;
    RowSinks sinks = make_row_sinks(flags, {.folder = log.directory().path(),
                                            .model = options_.model,
                                            .dataset = options_.data.dataset,
                                            .config_text = setup_.config_text,
                                            .resumed_step = resumed_step()});
    for (const std::string& note : sinks.notes) log.say(note);
    if (flags.histograms_per_epoch.numerator() > 0) {
      histograms_ = histogram_callback(
          *sinks.tensorboard, {.per_epoch = flags.histograms_per_epoch,
                               .updates_per_epoch = setup_.updates,
                               .steps_per_update = setup_.accumulation() * setup_.batch.replicas});
    }
    for (auto& sink : sinks.all) log.directory().add_sink(std::move(sink));
  }

  void end_run(RunDirectory& directory, RunState state, const std::string& cause) {
    load_.reset();
    directory.end(state, cause);
    write_report_page(setup_, directory);
  }

  void log_failure(RunDirectory& directory, const std::exception& error) {
    // Defers further errors: the error that ended the run, for example a full disk, is the one to
    // report.
    directory.defer_failures();
    directory.log(concat("failed: ", error.what()));
    end_run(directory, state_after(exit_code_of(error)), error.what());
  }

  // A run that could not write all its files has failed even if its results are complete: a script
  // may need the files.
  void tell_unwritten(const RunDirectory& directory, int code) {
    const std::string failures = join(directory.failures(), "; ");
    if (code != kDone && !failures.empty()) out_ << "warning: " << failures << std::endl;
    setup_.instances.together([&] {
      if (code == kDone && !failures.empty()) throw IoError("the run is complete, but ", failures);
    });
  }

  // Lists skipped records, also with --quiet, because a result depends on the data that were left
  // out.
  void tell_skipped(RunDirectory& directory) const {
    const std::vector<BadRecord>& skipped = setup_.data.skipped;
    if (skipped.empty()) return;
    directory.log(to_string(skipped, skipped.size()));
    out_ << to_string(skipped) << std::endl;
  }

  const TrainOptions& options_;
  std::ostream& out_;
  const TrainingParts& parts_;
  int64_t begin_ms_;
  TrainingSetup setup_;
  std::optional<TrainingState> state_;  // the state that training continues from
  std::optional<OutputPlaces> places_;
  Clock::time_point start_;                     // of the phases
  double epochs_ = 0;                           // epochs that the weights were trained for
  std::vector<ValidatedCheckpoint> validated_;  // during training
  std::optional<int64_t> restored_;             // the epoch whose weights --restore-best restored
  bool reached_target_ = false;
  std::chrono::duration<double> compile_seconds_{};
  std::shared_ptr<Callback> histograms_;  // may be null
  std::unique_ptr<LoadRecorder> load_;    // may be null
  std::string cause_;                     // why the run ends, unless it has done all its work
};

}  // namespace

int run_training(const TrainOptions& options, std::ostream& out, const TrainingParts& parts) {
  const Instances instances;
  // A signal before training waits for it: the first thing it does then is to save and stop.
  std::optional<StopSignal> early;
  const bool is_trial = options.verify || options.dry_run || options.counterparts.compile_only;
  if (!is_trial) early.emplace(instances.is_first() ? kStopsBeginning : "");
  std::unique_ptr<TrainingRun> run;
  set_memory_limit(options.devices.memory_limit.bytes);
  // One instance of each machine fetches missing data.
  if (instances.count() > 1) {
    instances.together([&] {
      if (comm::current_job().local_index != 0) return;
      fetch_training_data({.flags = options.data, .out = &out, .quiet = options.quiet});
    });
  }
  instances.together([&] { run = std::make_unique<TrainingRun>(options, out, parts); });
  try {
    return run->run();
  } catch (const NonFiniteLoss& error) {
    if (instances.count() == 1) throw;
    throw AgreedFailure(kNonFiniteLoss, error.what(), instances.is_first());
  }
}

}  // namespace pando::app
