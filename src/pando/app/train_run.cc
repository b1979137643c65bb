// SPDX-License-Identifier: MIT
#include "pando/app/train_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "pando/app/exit_code.h"
#include "pando/app/host_events.h"
#include "pando/app/optimizer_choice.h"
#include "pando/app/pipeline_text.h"
#include "pando/app/run_directory.h"
#include "pando/app/run_recorder.h"
#include "pando/app/stop_signal.h"
#include "pando/app/training_data.h"
#include "pando/base/error.h"
#include "pando/profile/chrome_trace.h"
#include "pando/profile/trace_summary.h"
#include "pando/runtime/topology.h"
#include "pando/train/model.h"
#include "pando/zoo/zoo.h"

namespace pando::app {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Writes the graph after a pass into a file of its own.
void write_ir(const std::string& where, const std::string& program, std::string_view pass,
              const std::string& text) {
  std::error_code failure;
  std::filesystem::create_directories(where, failure);
  if (failure) throw IoError("--dump-ir: cannot make ", where, ": ", failure.message());
  const std::filesystem::path path =
      std::filesystem::path(where) / fmt::format("{}.{}.ir", program, pass);
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw IoError("cannot write ", path.string());
}

Network build_network(const ZooEntry& entry, const TrainingData& data) {
  const Shape& sample = data.sets.train.fields()[0].shape;
  if (sample.rank() != entry.input_shape.rank()) {
    throw InvalidArgument("--model ", entry.name, " takes samples like ", entry.input_shape,
                          "; those of the data set are ", sample, ", and `pando train` reads no ",
                          entry.dataset, " data yet");
  }
  if (!data.front) return entry.build(sample, data.sets.classes);
  return with_preprocessing(entry.build(sample, data.sets.classes), *data.front);
}

TrainingData load_data(const TrainOptions& options, const ZooEntry& entry, std::ostream& out) {
  return load_training_data({.flags = options.data,
                             .seed = static_cast<uint64_t>(options.seed),
                             .model_input = entry.input_shape,
                             .workers = runtime::query_topology().usable_cores(),
                             .synthetic = options.micro_batch_size,
                             .out = &out,
                             .quiet = options.quiet});
}

Model make_model(const TrainOptions& options, Network network) {
  const DeviceStrategy strategy(options.devices.strategy(options.threads));
  const DeviceStrategy::Scope scope = strategy.scope();
  return Model(std::move(network),
               {.name = options.model, .seed = static_cast<uint64_t>(options.seed)});
}

std::string counted(int64_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

class TrainingRun {
 public:
  TrainingRun(const TrainOptions& options, std::ostream& out)
      : options_(options),
        out_(out),
        entry_(zoo_entry(options.model)),
        data_(load_data(options, entry_, out)),
        batch_(options.devices.batch(options.micro_batch_size)),
        updates_(updates_per_epoch(data_.sets.train.size(), batch_.global_batch_size,
                                   options.weight_updates_per_epoch)),
        events_(plan_host_events({.updates_per_epoch = updates_,
                                  .epochs = options.num_epochs,
                                  .logs_per_epoch = options.logs_per_epoch,
                                  .checkpoint = std::nullopt})),
        config_text_(options.config_text),
        model_(make_model(options, build_network(entry_, data_))) {
    collect_warnings();
    compile();
    spread();
  }

  int run() {
    for (const std::string& warning : warnings_) tell("warning: " + warning);
    if (!options_.quiet) out_ << model_.summary() << chosen_splits_;
    // Compiling before the run directory is made: a wrong option leaves nothing behind.
    const std::string report =
        model_.compile_report(options_.micro_batch_size, data_.sets.train.fields());
    if (options_.compile_report) out_ << report;
    if (options_.compile_report && !options_.dry_run && stages() > 1) {
      out_ << timeline_of(shape()) << expected_idle(shape(), {});
    }
    if (options_.verify) {
      const Verification verification =
          model_.verify(options_.micro_batch_size, data_.sets.train.fields());
      out_ << verification.table;
      return verification.ok ? kDone : kFailed;
    }
    if (options_.dry_run) return try_a_few_steps();
    RunDirectory directory(
        {.path = options_.run_dir, .model = options_.model, .config = config_text_});
    announce(directory);
    try {
      return train(directory);
    } catch (const std::exception& error) {
      log_failure(directory, error);
      throw;
    }
  }

 private:
  int stages() const { return options_.devices.stages(); }
  int accumulation() const { return static_cast<int>(batch_.gradient_accumulation_count); }

  runtime::PipelineShape shape() const {
    return {.schedule = options_.devices.pipeline_schedule,
            .stages = stages(),
            .micro_batches = accumulation(),
            .device_of_stage = options_.devices.device_mapping};
  }

  void collect_warnings() {
    if (batch_.warning) warnings_.push_back(*batch_.warning);
    warnings_.insert(warnings_.end(), events_.warnings.begin(), events_.warnings.end());
    if (options_.devices.pipeline_validation_model && stages() == 1) {
      warnings_.push_back("--pipeline-validation-model has no effect without --pipeline-splits");
    }
  }

  // In steps of a replica. Epochs stay true epochs: an execution ends with its epoch at the latest,
  // so a log event that comes every second epoch ends every second one of them.
  int64_t steps_per_execution() const {
    if (options_.steps_per_execution > 0) return options_.steps_per_execution;
    if (options_.logs_per_epoch == Fraction(1)) return 0;  // the progress bar moves
    return std::gcd(events_.execution, updates_) * accumulation();
  }

  void compile() {
    CompileOptions compiling{.optimizer = make_optimizer(options_, batch_.global_batch_size),
                             .loss = entry_.loss,
                             .metrics = {"accuracy"},
                             .steps_per_execution = steps_per_execution()};
    compiling.execution.slices = options_.slices;
    compiling.execution.disabled_passes = {options_.disable_pass.begin(),
                                           options_.disable_pass.end()};
    if (!options_.dump_ir.empty()) {
      compiling.execution.dump_ir = [this](const std::string& program, std::string_view pass,
                                           const std::string& text) {
        if (options_.dump_ir != "-") return write_ir(options_.dump_ir, program, pass, text);
        out_ << "# " << program << " after " << pass << "\n" << text;
      };
    }
    model_.compile(std::move(compiling));
  }

  // Over the devices.
  void spread() {
    if (stages() > 1) {
      try {
        const bool measured = options_.devices.splits_are_measured();
        model_.set_pipeline_splits(measured ? measure_splits() : options_.devices.pipeline_splits);
      } catch (const InvalidArgument& error) {
        throw UsageError("--pipeline-splits: ", error.what());
      }
      model_.set_pipelining_options(options_.devices.pipelining(accumulation()));
    } else {
      model_.set_gradient_accumulation_options(
          {.steps_per_replica = accumulation(), .reduction = options_.devices.gradient_reduction});
    }
    model_.set_replication_options({.statistics_group = options_.devices.dbn_replica_group_size});
  }

  // Times differ from run to run, and bits depend on the splits: a repeated run has them by name.
  std::vector<std::string> measure_splits() {
    MeasuredSplits measured =
        model_.measure_pipeline_splits(stages(), data_.sets.train, options_.micro_batch_size);
    chosen_splits_ =
        fmt::format("--pipeline-splits auto: {}; one device took for a micro-batch of {}\n",
                    join(measured.splits, " "), options_.micro_batch_size) +
        stage_table(measured.seconds) + expected_idle(shape(), measured.seconds);
    const std::string origin = "chosen by the times of the layers";
    config_text_ =
        with_setting(config_text_, "pipeline-splits",
                     OptionType<std::vector<std::string>>::show(measured.splits), origin);
    config_text_ = with_setting(config_text_, "pipeline-stages", ConfigValue::scalar("0"), origin);
    return std::move(measured.splits);
  }

  // How data come to the devices, in training and when it is only tried.
  FitOptions fit_options() const {
    return {.batch_size = options_.micro_batch_size,
            .shuffle = options_.data.shuffle && !data_.in_order,
            .carry_remainder = true,
            .prefetch_depth = options_.prefetch_depth,
            .data_workers = options_.data.pipeline_num_parallel,
            .same_batch = options_.data.synthetic_data == SyntheticData::device,
            .verbose = 0};
  }

  int train(RunDirectory& directory) {
    const StopSignal signal;
    const auto recorder = std::make_shared<RunRecorder>(directory, signal, events_);
    std::optional<profile::Trace> trace;
    if (!options_.trace.empty()) trace.emplace();
    FitOptions fit = fit_options();
    fit.epochs = options_.num_epochs;
    fit.updates_per_epoch = updates_;
    fit.stop = &signal.wanted();
    fit.trace = trace ? &*trace : nullptr;
    fit.callbacks = {recorder};
    fit.verbose = options_.quiet ? 0 : 1;
    if (options_.validation) fit.validation_data = data_.sets.test;
    const History history = model_.fit(data_.sets.train, fit);
    if (trace) finish_trace(directory, *trace);
    tell_skipped(directory);
    if (recorder->stopped()) {
      const std::string line = fmt::format("stopped by signal {}; the weights are saved in {}",
                                           signal.received(), directory.checkpoints().string());
      directory.log(line);
      out_ << line << std::endl;  // also with --quiet
      return kStopped;
    }
    finish(directory, history);
    return kDone;
  }

  // The first events fit in memory; the rest is counted.
  void finish_trace(RunDirectory& directory, const profile::Trace& trace) const {
    profile::write_chrome_trace(trace, options_.trace);
    const profile::TraceSummary summary = profile::summarize(trace);
    say(directory, fmt::format("trace of {} events written to {}", summary.events, options_.trace));
    if (summary.dropped > 0) {
      say(directory, fmt::format("warning: {} later events did not fit in memory and are missing "
                                 "in the trace and its summary",
                                 summary.dropped));
    }
    if (!options_.quiet) out_ << profile::to_text(summary);
  }

  static void log_failure(RunDirectory& directory, const std::exception& error) {
    try {
      directory.log(concat("failed: ", error.what()));
    } catch (const IoError&) {
      // Likely the same full disk; the error that ended the run matters more.
    }
  }

  // Times a few weight updates, the first of which is not counted, and tells what an epoch would
  // take.
  int try_a_few_steps() {
    const int64_t global_batch = batch_.global_batch_size;
    const int64_t updates = std::min<int64_t>(4, data_.sets.train.size() / global_batch);
    const Dataset few = data_.sets.train.take(updates * global_batch);
    profile::Trace trace({.ops = false});
    FitOptions fit = fit_options();
    model_.fit(few.take(global_batch), fit);
    fit.trace = stages() > 1 ? &trace : nullptr;
    const Clock::time_point start = Clock::now();
    model_.fit(few, fit);
    const double sample_seconds = seconds_since(start) / static_cast<double>(few.size());
    if (!options_.compile_report) {
      out_ << model_.memory_report(options_.micro_batch_size, data_.sets.train.fields());
    }
    if (stages() > 1) describe_pipeline(trace, updates);
    const bool all = options_.weight_updates_per_epoch == -1;
    const int64_t samples = all ? data_.sets.train.size() : updates_ * global_batch;
    out_ << fmt::format(
        "one weight update of {} takes about {:.1f} ms, an epoch of {} samples about {:.0f} s\n",
        counted(global_batch, "sample"), 1e3 * sample_seconds * static_cast<double>(global_batch),
        samples, sample_seconds * static_cast<double>(samples));
    return kDone;
  }

  void describe_pipeline(const profile::Trace& trace, int64_t updates) {
    const profile::TraceSummary summary = profile::summarize(trace);
    const std::vector<runtime::StageSeconds> seconds =
        stage_seconds(summary, {.stages = stages(),
                                .workers = options_.devices.cores_of_a_device(options_.threads),
                                .micro_batches = updates * accumulation() * batch_.replicas});
    out_ << timeline_of(shape()) << stage_table(seconds) << expected_idle(shape(), seconds)
         << fmt::format("measured idle share of the devices: {:.1f} %\n", 100 * summary.idle_share);
  }

  void tell(const std::string& line) const {
    if (!options_.quiet) out_ << line << std::endl;
  }

  void say(RunDirectory& directory, const std::string& line) const {
    directory.log(line);
    tell(line);
  }

  void announce(RunDirectory& directory) const {
    for (const std::string& warning : warnings_) directory.log("warning: " + warning);
    if (!chosen_splits_.empty()) directory.log(trim(chosen_splits_));
    if (!directory.previous().empty()) {
      say(directory, "files of an earlier run moved to " + directory.previous().string());
    }
    const std::string& dataset = to_string(options_.data.dataset);
    if (entry_.dataset != dataset) {
      say(directory, fmt::format("{} is made for {}; training it on {}", entry_.name,
                                 entry_.dataset, dataset));
    }
    say(directory,
        fmt::format(
            "training {} on {}{}: {} samples, learning rate {:g}, seed {}, run directory {}",
            options_.model,
            options_.data.synthetic_data == SyntheticData::none ? "" : "images made up for ",
            dataset, data_.sets.train.size(), model_.learning_rate(), options_.seed,
            directory.path().string()));
    say(directory, batch_line());
  }

  std::string batch_line() const {
    std::string line =
        fmt::format("global batch {} = micro-batch {} x {} x accumulation {}, {}, {} per epoch",
                    batch_.global_batch_size, batch_.micro_batch_size,
                    counted(batch_.replicas, "replica"), batch_.gradient_accumulation_count,
                    counted(stages(), "stage"), counted(updates_, "weight update"));
    const int64_t left_over = data_.sets.train.size() - updates_ * batch_.global_batch_size;
    if (left_over > 0) {
      line += fmt::format("; {} are left over and open the next one", counted(left_over, "sample"));
    }
    return line;
  }

  // Also with --quiet: data that were left out are part of the result.
  void tell_skipped(RunDirectory& directory) const {
    if (data_.skipped.empty()) return;
    directory.log(to_string(data_.skipped, data_.skipped.size()));
    out_ << to_string(data_.skipped) << std::endl;
  }

  void finish(RunDirectory& directory, const History& history) const {
    if (!options_.validation || history.epoch.empty()) return;
    const std::string result =
        fmt::format("test loss: {:.4f}, test accuracy: {:.2f} %", history["val_loss"].back(),
                    100 * history["val_accuracy"].back());
    directory.log(result);
    out_ << result << std::endl;  // also with --quiet
  }

  const TrainOptions& options_;
  std::ostream& out_;
  const ZooEntry& entry_;
  TrainingData data_;
  BatchConfiguration batch_;
  int64_t updates_;  // per epoch
  HostEvents events_;
  std::vector<std::string> warnings_;
  std::string chosen_splits_;  // what the measurement found, for users
  std::string config_text_;
  Model model_;
};

}  // namespace

int run_training(const TrainOptions& options, std::ostream& out) {
  return TrainingRun(options, out).run();
}

}  // namespace pando::app
