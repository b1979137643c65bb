// A simple network that an Estimator trains and tests: summaries, a line with the mean loss every
// few seconds, and reports of compilation and execution.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <pando/app/job/exit_code.h>

#include "cifar10.h"

using namespace pando;
using namespace cifar10;

namespace {

struct Settings {
  Options common = {.batch_size = 32};
  int64_t batches_per_step = 100;  // steps per execution
  double epochs = 100;
  double learning_rate = 0.01;
  bool test_only = false;
  bool train_only = false;
  double log_interval = 3;  // seconds
  int64_t summary_interval = 1;
  bool profile = false;
  bool generated_data = false;
};

void add_flags(OptionTable& table, Settings& settings) {
  add_batch_size_flag(table, settings.common);
  table.add("batches-per-step", settings.batches_per_step, "batches per execution")
      .with_hint("N")
      .at_least(1);
  table
      .add("epochs", settings.epochs,
           "passes over the training images, counted from step 0 of the model; may be a fraction")
      .with_hint("X")
      .above(0);
  table.add("learning-rate", settings.learning_rate, "learning rate of stochastic gradient descent")
      .with_hint("X")
      .above(0);
  table.add("test-only", settings.test_only, "only test the newest checkpoint of --model-dir");
  table.add("train-only", settings.train_only, "only train");
  table.add("log-interval", settings.log_interval, "seconds between lines with the loss")
      .with_hint("X")
      .at_least(0);
  table
      .add("summary-interval", settings.summary_interval,
           "steps between loss entries for TensorBoard; 0: none")
      .with_hint("N")
      .at_least(0);
  table.add("profile", settings.profile,
            "write reports of compilation and execution into --model-dir");
  table.add("generated-data", settings.generated_data, "use images of zeros instead of CIFAR-10");
  add_data_flags(table, settings.common);
}

// Checks combinations of flags.
void validate(const Settings& settings) {
  if (settings.test_only && settings.train_only) {
    throw UsageError("--test-only and --train-only: use at most one of them, not both");
  }
  if (settings.generated_data && !settings.common.data.empty()) {
    throw UsageError("--data ", settings.common.data,
                     " and --generated-data: use one of them, not both");
  }
  if (!settings.test_only) return;
  const std::string& folder = settings.common.model_dir;
  if (folder.empty()) {
    throw UsageError("--test-only: name the folder with the checkpoint to test with --model-dir");
  }
  if (!latest_checkpoint(folder)) {
    throw UsageError("--test-only: --model-dir '", folder,
                     "' has no checkpoint (model.ckpt-<step>.h5); train first, without "
                     "--test-only");
  }
}

// Keeps the global step for the lines of another hook, which is called after it.
class StepWatch : public Hook {
 public:
  void after_execution(HookContext& context) override { step_ = context.global_step; }
  int64_t step() const { return step_; }

 private:
  int64_t step_ = 0;
};

EstimatorSpec model_fn(const ModelInput& input) {
  const auto watch = std::make_shared<StepWatch>();
  const auto line_of = [watch](const Logs& logs) {
    return fmt::format("step {}: loss = {:.6g}", watch->step(), logs.front().second);
  };
  const auto hook = make_logging_hook({.every_n_secs = input.params.get_double("log_interval"),
                                       .at_end = true,
                                       .mode = LoggingMode::all,
                                       .formatter = line_of});
  hook->log({"loss"});
  return {.output = apply_layers(network_layers(false), input.features),
          .loss = SparseCategoricalCrossentropy({.from_logits = true}),
          .train_op = SGD({.learning_rate = input.params.get_double("learning_rate")}),
          .eval_metric_ops = {"accuracy"},
          .training_hooks = {watch, hook}};
}

EstimatorOptions estimator_options(const Settings& settings) {
  RunConfig config;
  config.device.iterations_per_loop = settings.batches_per_step;
  config.device.profiling = settings.profile;
  config.save_summary_steps = settings.summary_interval;
  config.log_step_count_steps = 0;
  config.tell = say;
  return {.model_dir = settings.common.model_dir,
          .config = config,
          .params = {{"log_interval", settings.log_interval},
                     {"learning_rate", settings.learning_rate}}};
}

// The steps of the whole executions that cover at least this number of epochs. Prints them.
int64_t training_steps(const Settings& settings, int64_t samples) {
  const double per_epoch =
      static_cast<double>(samples) / static_cast<double>(settings.common.batch_size);
  const double batches = std::floor(settings.epochs * per_epoch);
  const double loops = std::ceil(batches / static_cast<double>(settings.batches_per_step));
  const int64_t steps = std::max<int64_t>(1, std::llround(loops)) * settings.batches_per_step;
  const double epochs = static_cast<double>(steps) / per_epoch;
  say(fmt::format("{} steps in all, {} per execution: {:.4g} epoch{} of {} images", steps,
                  settings.batches_per_step, epochs, epochs == 1 ? "" : "s", samples));
  if (epochs > 2 * settings.epochs) {
    say(
        fmt::format("note: this is {:.4g} times --epochs {:g}, because only whole executions run; "
                    "use a smaller --batches-per-step to come closer",
                    epochs / settings.epochs, settings.epochs));
  }
  return steps;
}

class Stopwatch {
 public:
  void say_time() const {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start_;
    say(fmt::format("Took {:.2f} seconds to compile and run", took.count()));
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void test(Estimator& estimator, const TrainTest& data, int64_t batch_size) {
  say("Testing...");
  say(fmt::format("Evaluating on {} examples", data.test.size()));
  const Stopwatch stopwatch;
  const auto result = estimator.evaluate(test_input(data, batch_size));
  stopwatch.say_time();
  say(fmt::format("Test loss: {:.6g}", result.at("loss")));
  say(fmt::format("Test accuracy: {:.2f}%", 100 * result.at("accuracy")));
}

int run(const Settings& settings) {
  validate(settings);
  const TrainTest data =
      settings.generated_data ? generated_data(settings.common) : load_data(settings.common);
  const int64_t batch_size = settings.common.batch_size;
  Estimator estimator(model_fn, estimator_options(settings));
  if (!settings.test_only) {
    say("Training...");
    const Stopwatch stopwatch;
    const int64_t steps = training_steps(settings, data.train.size());
    const bool finished = train(estimator, train_input(data, batch_size), steps);
    stopwatch.say_time();
    if (!finished) return app::kStopped;
  }
  if (!settings.train_only) test(estimator, data, batch_size);
  return app::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  return run_program({.about = "Trains and tests a simple network on CIFAR-10 with an estimator.",
                      .add_flags = [&](OptionTable& table) { add_flags(table, settings); },
                      .run = [&] { return run(settings); }},
                     argc, argv);
}
