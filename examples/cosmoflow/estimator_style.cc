// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/format.h>

#include "pando/app/job/agreed_signal.h"
#include "pando/app/job/exit_code.h"
#include "pando/base/clock.h"
#include "run.h"

namespace cosmo {

using namespace pando;

namespace {

ModelFn make_model_fn(const Run& run) {
  return [&config = run.config, flags = train_options(run).optimizer](const ModelInput& input) {
    EstimatorSpec spec;
    spec.output = make_network(config)(input.features);
    spec.loss = Loss(config.loss);
    spec.train_metrics = {"mae"};
    spec.eval_metric_ops = {"mae"};
    const Optimizer optimizer =
        app::make_optimizer(flags, config.learning_rate(), config.samples_per_step());
    spec.train_op =
        config.replicas > 1 ? TrainOp(CrossReplicaOptimizer(optimizer)) : TrainOp(optimizer);
    return spec;
  };
}

EstimatorOptions make_options(const Run& run) {
  const Config& config = run.config;
  EstimatorOptions options;
  options.model_dir = run.path("model");
  options.config.device = {.iterations_per_loop = config.iterations_per_loop,
                           .num_replicas = config.local_replicas,
                           .prefetch_depth = config.prefetch};
  options.config.device.devices = {{.devices = config.local_replicas}};
  options.config.random_seed = static_cast<uint64_t>(config.seed);
  options.config.log_step_count_steps = 0;  // LoopHook prints every loop
  options.config.tell = [&run](std::string_view line) { run.tell(line); };
  return options;
}

// Prints every loop and records its duration.
class LoopHook : public Hook {
 public:
  LoopHook(const Run& run, Results& results) : run_(run), results_(results) {}

  void before_execution(HookContext& /*context*/) override { start_ = Clock::now(); }

  void after_execution(HookContext& context) override {
    results_.add_loop(context.steps * run_.config.samples_per_step(), seconds_since(start_),
                      context.logs);
  }

 private:
  using Clock = std::chrono::steady_clock;

  const Run& run_;
  Results& results_;
  Clock::time_point start_;
};

Logs evaluate(const Run& run, Estimator& estimator) {
  const auto found = estimator.evaluate([&](const InputContext&) {
    return InputData(*run.data.validation, run.config.micro_batch_size);
  });
  return {{"loss", found.at("loss")}, {"mae", found.at("mae")}};
}

// The global step that training has reached; the folder of the first instance decides.
int64_t global_step(const Run& run, const Estimator& estimator) {
  const int64_t own = run.instances.is_first() ? estimator.global_step() : 0;
  return static_cast<int64_t>(run.instances.share(static_cast<double>(own)));
}

// Steps are counted from the start of the model, so the same command continues with the rest. The
// warm-up is one loop and counts as the first of training, like in the original.
void train(const Run& run, Estimator& estimator, Results& results,
           pando::app::AgreedSignal& signal) {
  const InputFn input_fn = [&](const InputContext&) {
    return InputData(run.data.stream(run.config), run.config.micro_batch_size);
  };
  const int64_t loop = run.config.iterations_per_loop;
  const int64_t last = loop + make_plan(run.config).steps;
  const int64_t first = global_step(run, estimator);
  if (first >= last) {
    return run.tell(
        fmt::format("No training: global step {} of {} is done; use more --n-epochs to continue, "
                    "or another --output-dir to start again",
                    first, last));
  }
  if (first > 0) {
    run.tell(fmt::format("Continuing from global step {} of {} in {}", first, last,
                         estimator.model_dir()));
  }
  run.tell("Compiling and Warmup...");
  const auto start = std::chrono::steady_clock::now();
  const int64_t warm = std::min(first + loop, last);
  estimator.train(input_fn, {.max_steps = warm, .stop = &signal.wanted()});
  run.tell(fmt::format("Duration: {:.3f} seconds", seconds_since(start)));
  if (signal.ask() != 0 || warm >= last) return;
  run.tell("Executing...");
  estimator.train(input_fn, {.max_steps = last,
                             .hooks = {std::make_shared<LoopHook>(run, results)},
                             .stop = &signal.wanted()});
}

}  // namespace

int run_estimator(const Run& run) {
  pando::app::AgreedSignal signal(run.instances);
  Estimator estimator(make_model_fn(run), make_options(run));
  Results results(run);
  try {
    train(run, estimator, results, signal);
  } catch (const IoError&) {
    results.tell();  // if a checkpoint cannot be written, the results so far are still printed
    throw;
  }
  const bool stopped = signal.ask() != 0;
  if (run.data.validation && !stopped) results.validation = evaluate(run, estimator);
  results.tell();
  if (!results.empty()) run.write("estimator_throughput.txt", results.table());
  const int64_t step = global_step(run, estimator);
  run.tell(fmt::format("Global step {}, checkpoints in {}", step, estimator.model_dir()));
  if (!stopped) {
    run.tell("All done!");
    return app::kDone;
  }
  const std::string cause = signal.text();
  run.tell(fmt::format(
      "Stopped by {} before the end; the same command continues from global step {}", cause, step));
  return app::kStopped;
}

}  // namespace cosmo
