// SPDX-License-Identifier: MIT
#include "pando/app/train_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "pando/app/exit_code.h"
#include "pando/app/run_directory.h"
#include "pando/app/stop_signal.h"
#include "pando/base/error.h"
#include "pando/data/sources/mnist.h"
#include "pando/train/model.h"
#include "pando/zoo/zoo.h"

namespace pando::app {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

TrainTest load_dataset(const TrainOptions& options) {
  if (options.dataset == DatasetKind::mnist) return load_mnist(options.dataset_path);
  return options.dataset_path.empty() ? load_fashion_mnist()
                                      : load_fashion_mnist(options.dataset_path);
}

Optimizer make_optimizer(const TrainOptions& options) {
  const OptimizerParams& given = options.optimizer_params;
  const double rate = options.effective_learning_rate(options.micro_batch_size);
  switch (options.optimizer) {
    case OptimizerKind::sgd:
      return SGD({.learning_rate = rate,
                  .momentum = given.momentum.value_or(0.9),
                  .nesterov = given.nesterov.value_or(false)});
    case OptimizerKind::adam:
      return Adam({.learning_rate = rate,
                   .beta_1 = given.beta_1.value_or(AdamOptions{}.beta_1),
                   .beta_2 = given.beta_2.value_or(AdamOptions{}.beta_2),
                   .epsilon = given.epsilon.value_or(AdamOptions{}.epsilon)});
    case OptimizerKind::adamw:
      return AdamW({.learning_rate = rate,
                    .weight_decay = given.weight_decay.value_or(AdamWOptions{}.weight_decay),
                    .beta_1 = given.beta_1.value_or(AdamWOptions{}.beta_1),
                    .beta_2 = given.beta_2.value_or(AdamWOptions{}.beta_2),
                    .epsilon = given.epsilon.value_or(AdamWOptions{}.epsilon)});
    case OptimizerKind::rmsprop:
      return RMSprop({.learning_rate = rate,
                      .rho = given.rho.value_or(RmspropOptions{}.rho),
                      .momentum = given.momentum.value_or(0.0),
                      .epsilon = given.epsilon.value_or(RmspropOptions{}.epsilon)});
    case OptimizerKind::adadelta:
      return Adadelta({.learning_rate = rate,
                       .rho = given.rho.value_or(AdadeltaOptions{}.rho),
                       .epsilon = given.epsilon.value_or(AdadeltaOptions{}.epsilon)});
  }
  throw InternalError("an optimizer without a case");
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

// "epoch_3.0.h5" after whole epochs, "epoch_2.9328.h5" within one.
std::string checkpoint_name(double epochs) {
  const bool whole = epochs == std::floor(epochs);
  return whole ? fmt::format("epoch_{:.1f}.h5", epochs) : fmt::format("epoch_{:.4f}.h5", epochs);
}

std::optional<double> find_log(const Logs& logs, std::string_view name) {
  const auto found = std::find_if(logs.begin(), logs.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found == logs.end()) return std::nullopt;
  return found->second;
}

// Keeps the run directory up to date while the model trains, and stops at a signal.
class RunRecorder : public Callback {
 public:
  RunRecorder(RunDirectory& run, const StopSignal& signal, double learning_rate)
      : run_(run), signal_(signal), learning_rate_(learning_rate), start_(Clock::now()) {}

  void on_execution_end(FitContext& context, const Logs&) override {
    epoch_samples_ += context.samples;
    stop_when_asked(context);
  }

  void on_epoch_begin(FitContext&) override { epoch_samples_ = 0; }

  void on_epoch_end(FitContext& context, const Logs& logs) override {
    const double epochs = static_cast<double>(context.epoch) +
                          static_cast<double>(context.step) / static_cast<double>(context.steps);
    const std::string checkpoint = (run_.checkpoints() / checkpoint_name(epochs)).string();
    context.model->save_weights(checkpoint);
    HistoryRow row{.epoch = epochs,
                   .step = context.epoch * context.steps + context.step,
                   .loss = find_log(logs, "loss"),
                   .accuracy = find_log(logs, "accuracy"),
                   .throughput = static_cast<double>(epoch_samples_) / context.seconds,
                   .learning_rate = learning_rate_,
                   .seconds = seconds_since(start_)};
    row.val_loss = find_log(logs, "val_loss");
    row.val_accuracy = find_log(logs, "val_accuracy");
    run_.append_history(row);
    run_.log(describe(row) + ", saved " + checkpoint);
    stop_when_asked(context);
  }

  // Whether a signal ended the fit before its last step.
  bool stopped() const { return stopped_; }

 private:
  static std::string describe(const HistoryRow& row) {
    std::string line =
        fmt::format("epoch {:g}: loss: {:.4f}, accuracy: {:.2f} %, throughput: {:.0f} samples/sec",
                    row.epoch, row.loss.value(), 100 * row.accuracy.value(), *row.throughput);
    if (row.val_loss && row.val_accuracy) {
      line += fmt::format(", val_loss: {:.4f}, val_accuracy: {:.2f} %", *row.val_loss,
                          100 * *row.val_accuracy);
    }
    return line;
  }

  // After the last step there is nothing left to stop: the run is whole.
  void stop_when_asked(FitContext& context) {
    const bool whole = context.epoch + 1 >= context.epochs && context.step >= context.steps;
    if (signal_.received() == 0 || whole) return;
    context.stop = true;
    stopped_ = true;
  }

  RunDirectory& run_;
  const StopSignal& signal_;
  double learning_rate_;
  Clock::time_point start_;
  int64_t epoch_samples_ = 0;
  bool stopped_ = false;
};

Network build_network(const ZooEntry& entry, const TrainTest& data) {
  const Shape& sample = data.train.fields()[0].shape;
  if (sample.rank() != entry.input_shape.rank()) {
    throw InvalidArgument("--model ", entry.name, " takes samples like ", entry.input_shape,
                          "; those of the data set are ", sample, ", and `pando train` reads no ",
                          entry.dataset, " data yet");
  }
  return entry.build(sample, data.classes);
}

class TrainingRun {
 public:
  TrainingRun(const TrainOptions& options, std::ostream& out)
      : options_(options),
        out_(out),
        entry_(zoo_entry(options.model)),
        data_(load_dataset(options)),
        model_(build_network(entry_, data_),
               {.name = options.model, .seed = static_cast<uint64_t>(options.seed)}) {
    CompileOptions compiling{
        .optimizer = make_optimizer(options), .loss = entry_.loss, .metrics = {"accuracy"}};
    compiling.execution.threads = options.threads;
    compiling.execution.slices = options.slices;
    compiling.execution.disabled_passes = {options.disable_pass.begin(),
                                           options.disable_pass.end()};
    if (!options.dump_ir.empty()) {
      compiling.execution.dump_ir = [this](const std::string& program, std::string_view pass,
                                           const std::string& text) {
        if (options_.dump_ir != "-") return write_ir(options_.dump_ir, program, pass, text);
        out_ << "# " << program << " after " << pass << "\n" << text;
      };
    }
    model_.compile(std::move(compiling));
  }

  int run() {
    if (!options_.quiet) out_ << model_.summary();
    // Compiling before the run directory is made: a wrong option leaves nothing behind.
    const std::string report =
        model_.compile_report(options_.micro_batch_size, data_.train.fields());
    if (options_.compile_report) out_ << report;
    if (options_.verify) {
      const Verification verification =
          model_.verify(options_.micro_batch_size, data_.train.fields());
      out_ << verification.table;
      return verification.ok ? kDone : kFailed;
    }
    if (options_.dry_run) return try_a_few_steps();
    RunDirectory directory(
        {.path = options_.run_dir, .model = options_.model, .config = options_.config_text});
    announce(directory);
    try {
      return train(directory);
    } catch (const std::exception& error) {
      log_failure(directory, error);
      throw;
    }
  }

 private:
  int train(RunDirectory& directory) {
    const StopSignal signal;
    const auto recorder = std::make_shared<RunRecorder>(directory, signal, model_.learning_rate());
    FitOptions fit{.epochs = options_.num_epochs,
                   .batch_size = options_.micro_batch_size,
                   .shuffle = options_.shuffle,
                   .carry_remainder = true,
                   .callbacks = {recorder},
                   .verbose = options_.quiet ? 0 : 1};
    if (options_.validation) fit.validation_data = data_.test;
    const History history = model_.fit(data_.train, fit);
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

  static void log_failure(RunDirectory& directory, const std::exception& error) {
    try {
      directory.log(concat("failed: ", error.what()));
    } catch (const IoError&) {
      // Likely the same full disk; the error that ended the run matters more.
    }
  }

  // Times a few steps, the first of which is not counted, and tells what an epoch would take.
  int try_a_few_steps() {
    const int64_t steps = 4;
    const Dataset few = data_.train.take(steps * options_.micro_batch_size);
    const FitOptions fit{.batch_size = options_.micro_batch_size, .verbose = 0};
    model_.fit(few.take(options_.micro_batch_size), fit);
    const Clock::time_point start = Clock::now();
    model_.fit(few, fit);
    const double sample_seconds = seconds_since(start) / static_cast<double>(few.size());
    out_ << fmt::format("one step takes about {:.1f} ms, an epoch of {} samples about {:.0f} s\n",
                        1e3 * sample_seconds * static_cast<double>(options_.micro_batch_size),
                        data_.train.size(),
                        sample_seconds * static_cast<double>(data_.train.size()));
    return kDone;
  }

  void say(RunDirectory& directory, const std::string& line) const {
    directory.log(line);
    if (!options_.quiet) out_ << line << std::endl;
  }

  void announce(RunDirectory& directory) const {
    if (!directory.previous().empty()) {
      say(directory, "files of an earlier run moved to " + directory.previous().string());
    }
    const std::string dataset =
        options_.dataset == DatasetKind::fashion_mnist ? "fashion_mnist" : "mnist";
    if (entry_.dataset != dataset) {
      say(directory, fmt::format("{} is made for {}; training it on {}", entry_.name,
                                 entry_.dataset, dataset));
    }
    say(directory,
        fmt::format("training {} on {}: {} samples, micro-batch {}, learning rate {:g}, seed {}, "
                    "run directory {}",
                    options_.model, dataset, data_.train.size(), options_.micro_batch_size,
                    model_.learning_rate(), options_.seed, directory.path().string()));
    const int64_t left_over = data_.train.size() % options_.micro_batch_size;
    if (left_over != 0 && left_over != data_.train.size()) {
      say(directory,
          fmt::format("{} updates per epoch; {} samples are left over and open the next one",
                      data_.train.size() / options_.micro_batch_size, left_over));
    }
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
  TrainTest data_;
  Model model_;
};

}  // namespace

int run_training(const TrainOptions& options, std::ostream& out) {
  return TrainingRun(options, out).run();
}

}  // namespace pando::app
