// SPDX-License-Identifier: MIT
#include "pando/app/train_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "pando/app/exit_code.h"
#include "pando/app/run_directory.h"
#include "pando/app/stop_signal.h"
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

// Writes the graph after every pass that changed it: to standard output, or one file per pass.
void dump_ir(const std::string& where, const std::string& program, std::string_view pass,
             const std::string& text) {
  if (where == "-") {
    std::cout << "# " << program << " after " << pass << "\n" << text;
    return;
  }
  std::filesystem::create_directories(where);
  const std::filesystem::path path =
      std::filesystem::path(where) / fmt::format("{}.{}.ir", program, pass);
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw IoError("cannot write ", path.string());
}

double find_log(const Logs& logs, std::string_view name) {
  const auto found = std::find_if(logs.begin(), logs.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == logs.end() ? 0.0 : found->second;
}

// Keeps the run directory up to date while the model trains, and stops at a signal.
class RunRecorder : public Callback {
 public:
  RunRecorder(RunDirectory& run, const StopSignal& signal, double learning_rate)
      : run_(run), signal_(signal), learning_rate_(learning_rate), start_(Clock::now()) {}

  void on_execution_end(FitContext& context, const Logs&) override {
    epoch_samples_ += context.samples;
    if (signal_.received() != 0) context.stop = true;
  }

  void on_epoch_begin(FitContext&) override { epoch_samples_ = 0; }

  void on_epoch_end(FitContext& context, const Logs& logs) override {
    const double epochs = static_cast<double>(context.epoch) +
                          static_cast<double>(context.step) / static_cast<double>(context.steps);
    const std::string checkpoint =
        (run_.checkpoints() /
         fmt::format("epoch_{}{}.h5", epochs,
                     epochs == static_cast<double>(static_cast<int64_t>(epochs)) ? ".0" : ""))
            .string();
    context.model->save_weights(checkpoint);
    HistoryRow row{.epoch = epochs,
                   .step = context.epoch * context.steps + context.step,
                   .loss = find_log(logs, "loss"),
                   .accuracy = find_log(logs, "accuracy"),
                   .throughput = static_cast<double>(epoch_samples_) / context.seconds,
                   .learning_rate = learning_rate_,
                   .seconds = seconds_since(start_)};
    std::string line =
        fmt::format("epoch {:g}: loss: {:.4f}, accuracy: {:.2f} %, throughput: {:.0f} samples/sec",
                    epochs, *row.loss, 100 * *row.accuracy, *row.throughput);
    if (logs.size() > 2) {
      row.val_loss = find_log(logs, "val_loss");
      row.val_accuracy = find_log(logs, "val_accuracy");
      line += fmt::format(", val_loss: {:.4f}, val_accuracy: {:.2f} %", *row.val_loss,
                          100 * *row.val_accuracy);
    }
    run_.append_history(row);
    run_.log(line + ", saved " + checkpoint);
  }

 private:
  RunDirectory& run_;
  const StopSignal& signal_;
  double learning_rate_;
  Clock::time_point start_;
  int64_t epoch_samples_ = 0;
};

class TrainingRun {
 public:
  explicit TrainingRun(const TrainOptions& options)
      : options_(options),
        entry_(zoo_entry(options.model)),
        data_(load_dataset(options)),
        model_(entry_.build(data_.train.fields()[0].shape, data_.classes),
               {.name = options.model, .seed = static_cast<uint64_t>(options.seed.value_or(0))}) {
    CompileOptions compiling{
        .optimizer = make_optimizer(options), .loss = entry_.loss, .metrics = {"accuracy"}};
    compiling.execution.threads = options.threads;
    compiling.execution.slices = options.slices;
    compiling.execution.disabled_passes = {options.disable_pass.begin(),
                                           options.disable_pass.end()};
    if (!options.dump_ir.empty()) {
      compiling.execution.dump_ir = [&where = options_.dump_ir](const std::string& program,
                                                                std::string_view pass,
                                                                const std::string& text) {
        dump_ir(where, program, pass, text);
      };
    }
    model_.compile(std::move(compiling));
  }

  int run() {
    if (!options_.quiet) std::cout << model_.summary();
    // Compiling before the run directory is made: a wrong option leaves nothing behind.
    const std::string report =
        model_.compile_report(options_.micro_batch_size, data_.train.fields());
    if (options_.compile_report) std::cout << report;
    if (options_.verify) {
      const Verification verification =
          model_.verify(options_.micro_batch_size, data_.train.fields());
      std::cout << verification.table;
      return verification.ok ? kDone : kFailed;
    }
    if (options_.dry_run) return try_a_few_steps();
    RunDirectory directory(
        {.path = options_.run_dir, .model = options_.model, .config = options_.config_text});
    announce(directory);
    const StopSignal signal;
    FitOptions fit{
        .epochs = options_.num_epochs,
        .batch_size = options_.micro_batch_size,
        .shuffle = options_.shuffle,
        .carry_remainder = data_.train.size() >= options_.micro_batch_size,
        .callbacks = {std::make_shared<RunRecorder>(directory, signal, model_.learning_rate())},
        .verbose = options_.quiet ? 0 : 1};
    if (options_.validation) fit.validation_data = data_.test;
    const History history = model_.fit(data_.train, fit);
    if (signal.received() != 0) {
      say(directory, fmt::format("stopped by signal {}; the weights are saved in {}",
                                 signal.received(), directory.checkpoints().string()));
      return kStopped;
    }
    finish(directory, history);
    return kDone;
  }

 private:
  // Times a few steps, the first of which is not counted, and tells what an epoch would take.
  int try_a_few_steps() {
    const int64_t steps = 4;
    const Dataset few = data_.train.take(steps * options_.micro_batch_size);
    const FitOptions fit{.batch_size = options_.micro_batch_size, .verbose = 0};
    model_.fit(few.take(options_.micro_batch_size), fit);
    const Clock::time_point start = Clock::now();
    model_.fit(few, fit);
    const double sample_seconds = seconds_since(start) / static_cast<double>(few.size());
    std::cout << fmt::format(
        "one step takes about {:.1f} ms, an epoch of {} samples about {:.0f} s\n",
        1e3 * sample_seconds * static_cast<double>(options_.micro_batch_size), data_.train.size(),
        sample_seconds * static_cast<double>(data_.train.size()));
    return kDone;
  }

  void say(RunDirectory& directory, const std::string& line) const {
    directory.log(line);
    if (!options_.quiet) std::cout << line << std::endl;
  }

  void announce(RunDirectory& directory) const {
    if (!directory.previous().empty()) {
      say(directory, "files of an earlier run moved to " + directory.previous().string());
    }
    const bool fashion = options_.dataset == DatasetKind::fashion_mnist;
    say(directory,
        fmt::format("training {} on {}: {} samples, micro-batch {}, learning rate {:g}, seed {}, "
                    "run directory {}",
                    options_.model, fashion ? "fashion_mnist" : "mnist", data_.train.size(),
                    options_.micro_batch_size, model_.learning_rate(), options_.seed.value_or(0),
                    directory.path().string()));
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
    std::cout << result << std::endl;  // also with --quiet
  }

  const TrainOptions& options_;
  const ZooEntry& entry_;
  TrainTest data_;
  Model model_;
};

}  // namespace

int run_training(const TrainOptions& options) { return TrainingRun(options).run(); }

}  // namespace pando::app
