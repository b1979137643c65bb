// SPDX-License-Identifier: MIT
#include "session.h"

#include <algorithm>

#include <fmt/format.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/clock.h"
#include "throughput.h"

namespace cosmo {

using namespace pando;

namespace {

constexpr int64_t kWarmUpSteps = 10;
constexpr const char* kWeights = "weights.h5";

FitOptions fit_options(const Run& run) {
  return {.batch_size = run.config.data.micro_batch_size,
          .shuffle = false,  // the data already have an order
          .carry_remainder = true,
          .prefetch_depth = run.config.data.prefetch,
          .stop = &run.signal.wanted(),
          .verbose = 0};
}

// Compiles the program and runs some steps, which are then undone: they do not affect what the
// loops train.
void warm_up(const Run& run, Model& model, const Data& data) {
  run.tell("Compiling and Warmup...");
  const auto start = Clock::now();
  const TrainingState initial = model.training_state();
  FitOptions options = fit_options(run);
  options.updates_per_epoch = std::min(kWarmUpSteps, run.config.device.iterations_per_loop);
  model.fit(data.train, options);
  model.restore(initial);
  run.tell(fmt::format("Duration: {:.3f} seconds", seconds_since(start)));
}

// The validation results without fit's prefix "val_"; nothing if there was no validation.
std::optional<Logs> validation_of(const Logs& logs) {
  Logs found;
  for (const auto& [name, value] : logs) {
    if (name.starts_with("val_")) found.emplace_back(name.substr(4), value);
  }
  return found.empty() ? std::nullopt : std::optional(found);
}

// Prints every loop and records its duration.
class LoopWatch : public Callback {
 public:
  LoopWatch(const Run& run, Results& results, bool tells_epochs)
      : run_(run), results_(results), tells_epochs_(tells_epochs) {}

  void on_execution_begin(FitContext& /*context*/) override { start_ = Clock::now(); }

  void on_execution_end(FitContext& context, const Logs& /*epoch*/) override {
    const double seconds = seconds_since(start_);
    if (context.sums.samples == 0) return;  // stopped before its first step
    results_.throughput.add({context.sums.samples, seconds});
    run_.tell(fmt::format("{:.4f} sec/itr. ({})", seconds, text_of(context.execution)));
  }

  void on_epoch_end(FitContext& context, const Logs& logs) override {
    results_.validation = validation_of(logs);
    if (!tells_epochs_ || !results_.validation) return;
    run_.tell(
        fmt::format("Epoch {}: validation {}", context.epoch + 1, text_of(*results_.validation)));
  }

 private:
  const Run& run_;
  Results& results_;
  bool tells_epochs_;
  Clock::time_point start_;
};

void train(const Run& run, Model& model, const Data& data, Results& results) {
  const Plan plan = make_plan(run.config);
  const int64_t loop = run.config.device.iterations_per_loop;
  const bool by_epochs = plan.loops_per_epoch > 0;
  FitOptions options = fit_options(run);
  options.epochs = by_epochs ? run.config.data.n_epochs : 1;
  options.updates_per_epoch = loop * (by_epochs ? plan.loops_per_epoch : plan.loops);
  options.validation_data = data.validation;
  options.callbacks = {std::make_shared<LoopWatch>(run, results, by_epochs)};
  if (const int64_t left = plan.steps % loop; left > 0) {
    run.tell(fmt::format("note: the epochs have {} steps, {} loops of {}; the last {} are skipped",
                         plan.steps, plan.loops, loop, left));
  }
  run.tell("Executing...");
  model.fit(data.train, options);
}

}  // namespace

int run_session(const Run& run, const Data& data) {
  const Config& config = run.config;
  const DeviceStrategy strategy({.devices = config.local_replicas});
  const auto scope = strategy.scope();
  Model model(make_network(config),
              {.name = config.model.name, .seed = static_cast<uint64_t>(config.seed)});
  model.compile({.optimizer = make_optimizer(config),
                 .loss = config.train.loss,
                 .metrics = make_metrics(config),
                 .steps_per_execution = config.device.iterations_per_loop});
  if (config.verbose) run.tell(model.summary());
  warm_up(run, model, data);
  Results results{Throughput(config.samples_per_step()), std::nullopt};
  if (run.signal.ask() == 0) train(run, model, data, results);

  tell_results(run, data, results);  // before writing: a full disk must not lose the results
  run.instances.from_first([&] {
    model.save_weights(run.path(kWeights));
    return std::string();
  });
  run.tell("Weights: " + run.path(kWeights));
  if (run.signal.ask() != 0) {
    const std::string cause = run.signal.text();
    run.tell("Stopped by " + cause + " before the end");
    return app::kStopped;
  }
  run.tell("All done!");
  return app::kDone;
}

}  // namespace cosmo
