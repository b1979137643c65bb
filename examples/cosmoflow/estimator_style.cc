// SPDX-License-Identifier: MIT
#include "estimator_style.h"

#include <algorithm>

#include <fmt/format.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/clock.h"
#include "throughput.h"

namespace cosmo {

using namespace pando;

namespace {

ModelFn make_model_fn(const Config& config) {
  return [&config](const ModelInput& input) {
    EstimatorSpec spec;
    spec.output = make_network(config)(input.features);
    spec.loss = Loss(config.train.loss);
    spec.train_metrics = make_metrics(config);
    spec.eval_metric_ops = make_metrics(config);
    const Optimizer optimizer = make_optimizer(config);
    spec.train_op =
        config.replicas > 1 ? TrainOp(CrossReplicaOptimizer(optimizer)) : TrainOp(optimizer);
    return spec;
  };
}

EstimatorOptions make_options(const Run& run) {
  const Config& config = run.config;
  EstimatorOptions options;
  options.model_dir = run.path("model");
  options.config.device = {.iterations_per_loop = config.device.iterations_per_loop,
                           .num_replicas = config.local_replicas,
                           .prefetch_depth = config.data.prefetch};
  options.config.device.devices = {{.devices = config.local_replicas}};
  options.config.random_seed = static_cast<uint64_t>(config.seed);
  options.config.log_step_count_steps = 0;  // LoopHook prints every loop
  options.config.tell = [&run](std::string_view line) { run.tell(line); };
  return options;
}

// Prints every loop and records its duration.
class LoopHook : public Hook {
 public:
  LoopHook(const Run& run, Throughput& throughput) : run_(run), throughput_(throughput) {}

  void before_execution(HookContext& /*context*/) override { start_ = Clock::now(); }

  void after_execution(HookContext& context) override {
    const double seconds = seconds_since(start_);
    if (context.steps == 0) return;  // stopped before its first step
    throughput_.add({context.steps * run_.config.samples_per_step(), seconds});
    run_.tell(fmt::format("{:.4f} sec/itr. ({})", seconds, text_of(context.logs)));
  }

 private:
  const Run& run_;
  Throughput& throughput_;
  Clock::time_point start_;
};

// Loss and metrics in the same order as a Model's.
Logs evaluate(const Run& run, const Data& data, Estimator& estimator) {
  const auto found = estimator.evaluate([&](const InputContext&) {
    return InputData(*data.validation, run.config.data.micro_batch_size);
  });
  Logs logs = {{"loss", found.at("loss")}};
  for (const Metric& metric : make_metrics(run.config)) {
    logs.emplace_back(metric.name(), found.at(metric.name()));
  }
  return logs;
}

// The global step that training has reached; the folder of the first instance decides.
int64_t global_step(const Run& run, const Estimator& estimator) {
  const int64_t own = run.instances.is_first() ? estimator.global_step() : 0;
  return static_cast<int64_t>(run.instances.share(static_cast<double>(own)));
}

// Trains one loop. As in the original, it counts as the first loop of training.
void warm_up(const Run& run, const InputFn& input_fn, Estimator& estimator, int64_t max_steps) {
  run.tell("Compiling and Warmup...");
  const auto start = Clock::now();
  estimator.train(input_fn, {.max_steps = max_steps, .stop = &run.signal.wanted()});
  run.tell(fmt::format("Duration: {:.3f} seconds", seconds_since(start)));
}

void train_loops(const Run& run, const InputFn& input_fn, Estimator& estimator, int64_t max_steps,
                 Throughput& throughput) {
  run.tell("Executing...");
  try {
    estimator.train(input_fn, {.max_steps = max_steps,
                               .hooks = {std::make_shared<LoopHook>(run, throughput)},
                               .stop = &run.signal.wanted()});
  } catch (const IoError&) {
    // If a checkpoint cannot be written, the results so far are still printed.
    if (!throughput.empty()) tell_throughput(run, throughput);
    throw;
  }
}

// Steps are counted from the start of the model, so the same command continues with the rest.
void train(const Run& run, const InputFn& input_fn, Estimator& estimator, Throughput& throughput) {
  const int64_t loop = run.config.device.iterations_per_loop;
  const int64_t last = loop + make_plan(run.config).steps;
  const int64_t first = global_step(run, estimator);
  if (first >= last) {
    run.tell(
        fmt::format("No training: global step {} of {} is done; use more --n-epochs to continue, "
                    "or another --output-dir to start again",
                    first, last));
    return;
  }
  if (first > 0) {
    run.tell(fmt::format("Continuing from global step {} of {} in {}", first, last,
                         estimator.model_dir()));
  }
  warm_up(run, input_fn, estimator, std::min(first + loop, last));
  if (run.signal.ask() != 0 || first + loop >= last) return;
  train_loops(run, input_fn, estimator, last, throughput);
}

}  // namespace

int run_estimator(const Run& run, const Data& data) {
  const Config& config = run.config;
  Estimator estimator(make_model_fn(config), make_options(run));
  const InputFn input_fn = [&](const InputContext&) {
    return InputData(data.train, config.data.micro_batch_size);
  };
  if (config.verbose) run.tell(make_network(config).summary(config.model.name));
  Results results{Throughput(config.samples_per_step()), std::nullopt};
  train(run, input_fn, estimator, results.throughput);
  const bool stopped = run.signal.ask() != 0;
  if (data.validation && !stopped) results.validation = evaluate(run, data, estimator);
  tell_results(run, data, results);
  if (!results.throughput.empty()) {
    run.write("estimator_throughput.txt", results.throughput.table());
  }
  const int64_t step = global_step(run, estimator);
  run.tell(fmt::format("Global step {}, checkpoints in {}", step, estimator.model_dir()));
  if (stopped) {
    const std::string cause = run.signal.text();
    run.tell(
        fmt::format("Stopped by {} before the end; the same command continues from global step {}",
                    cause, step));
    return app::kStopped;
  }
  run.tell("All done!");
  return app::kDone;
}

}  // namespace cosmo
