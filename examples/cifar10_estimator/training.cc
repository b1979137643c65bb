// SPDX-License-Identifier: MIT
#include "training.h"

#include <algorithm>

#include <fmt/format.h>
#include <pando/app/job/exit_code.h>

namespace cifar10 {

using namespace pando;

namespace {

// Prints a line with the mean loss at the end of each epoch and at the end of training.
class EpochLines : public Hook {
 public:
  EpochLines(int64_t epochs, int64_t steps_per_epoch)
      : epochs_(epochs), steps_per_epoch_(steps_per_epoch) {}

  void begin(HookContext& context) override {
    told_epoch_ = context.global_step / steps_per_epoch_;
  }

  void after_execution(HookContext& context) override {
    if (context.steps == 0) return;  // stopped before its first step
    loss_sum_ += context.logs.front().second * static_cast<double>(context.steps);
    steps_ += context.steps;
    if (context.global_step / steps_per_epoch_ > told_epoch_) write(context);
  }

  void end(HookContext& context) override {
    if (steps_ > 0) write(context);
  }

 private:
  void write(HookContext& context) {
    const double epoch =
        static_cast<double>(context.global_step) / static_cast<double>(steps_per_epoch_);
    const double rate = static_cast<double>(steps_) / (context.seconds - told_seconds_);
    context.tell(fmt::format("epoch {:.6g} of {}, step {}: loss = {:.5g} ({:.4g} steps/s)", epoch,
                             epochs_, context.global_step, loss_sum_ / static_cast<double>(steps_),
                             rate));
    told_epoch_ = context.global_step / steps_per_epoch_;
    told_seconds_ = context.seconds;
    loss_sum_ = 0;
    steps_ = 0;
  }

  int64_t epochs_;
  int64_t steps_per_epoch_;
  int64_t told_epoch_ = 0;  // whole epochs at the last line
  double told_seconds_ = 0;
  double loss_sum_ = 0;  // of the steps since the last line
  int64_t steps_ = 0;
};

}  // namespace

void add_training_flags(OptionTable& table, TrainingOptions& options) {
  add_batch_size_flag(table, options.common);
  table
      .add("epochs", options.epochs,
           "passes over the training images, counted from step 0 of the model")
      .with_hint("N")
      .at_least(1);
  add_data_flags(table, options.common);
}

Steps count_steps(const TrainTest& data, int64_t batch_size, int64_t multiple) {
  const int64_t batches = data.test.size() / batch_size;
  const int64_t per_loop = batches - batches % multiple;
  if (per_loop == 0) {
    throw UsageError("--batch-size ", batch_size, ": the ", data.test.size(), " test images fill ",
                     batches,
                     " batches, but an execution has one step per batch and needs at least ",
                     multiple, multiple > 1 ? " (--gradient-accumulation-count)" : "",
                     "; use a smaller --batch-size or more --samples");
  }
  return {per_loop, per_loop * std::max<int64_t>(1, data.train.size() / data.test.size())};
}

RunConfig run_config(const Steps& steps) {
  RunConfig config;
  config.device.iterations_per_loop = steps.per_loop;
  config.log_step_count_steps = 0;  // EpochLines prints every epoch
  config.save_checkpoints_steps = steps.per_epoch;
  config.tell = say;
  return config;
}

void describe(std::span<const Layer> layers, const Steps& steps) {
  say(fmt::format("{} layers, {} parameters; {} steps per execution, {} per epoch", layers.size(),
                  with_thousands(parameters(layers)), steps.per_loop, steps.per_epoch));
}

int train_and_check(Estimator& estimator, const TrainTest& data, const TrainingOptions& options,
                    const Steps& steps) {
  const int64_t batch_size = options.common.batch_size;
  say("Training...");
  if (!train(estimator, train_input(data, batch_size), options.epochs * steps.per_epoch,
             {std::make_shared<EpochLines>(options.epochs, steps.per_epoch)})) {
    return app::kStopped;
  }
  say("Check the result...");
  const auto result = estimator.evaluate(test_input(data, batch_size));
  say(fmt::format("Validation accuracy: {:.2f}%", 100 * result.at("accuracy")));
  say(fmt::format("Validation loss: {:.6g}", result.at("loss")));
  return app::kDone;
}

}  // namespace cifar10
