// Estimator::train: continues from the newest checkpoint for the given number of steps.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/checked.h"
#include "pando/base/error.h"
#include "pando/comm/dist.h"
#include "pando/estimator/estimator_impl.h"
#include "pando/estimator/run_model.h"
#include "pando/estimator/run_observer.h"
#include "pando/train/profile_report.h"

namespace pando::estimator {

namespace {

void check(const EstimatorTrainOptions& options, const DeviceRunConfig& device) {
  if (options.steps && options.max_steps) {
    throw InvalidArgument("train: steps and max_steps are both given; remove one");
  }
  check_steps("train", options.steps, device);
  if (options.max_steps && *options.max_steps < 1) {
    throw InvalidArgument("train: max_steps: expected at least 1, got ", *options.max_steps);
  }
}

// One training, from the checkpoint to the last step.
class EstimatorTraining {
 public:
  EstimatorTraining(Estimator::Impl& impl, InputData data, const EstimatorTrainOptions& options)
      : impl_(impl), data_(std::move(data)), options_(options) {}

  void run() {
    const std::optional<Checkpoint> from = impl_.start("");
    first_ = shared(from ? from->global_step : 0);
    updates_before_ = shared(from ? from->state.iteration : 0);
    if (options_.max_steps && first_ >= *options_.max_steps) {
      impl_.tell(
          concat("no training: step ", first_, " is done, max_steps is ", *options_.max_steps));
      return;
    }
    const Description description = impl_.describe(RunMode::train, data_, first_, options_.hooks);
    Model model = make_model(description, {.mode = RunMode::train,
                                           .batch = data_.batch_size,
                                           .fields = data_.dataset.fields(),
                                           .config = &config(),
                                           .tell = impl_.teller()});
    begin_from(model, from);
    fit(model, description);
  }

 private:
  const RunConfig& config() const { return impl_.options.config; }

  void begin_from(Model& model, const std::optional<Checkpoint>& from) {
    if (from) {
      model.restore(from->state);
    } else if (impl_.options.warm_start_from && is_first_instance()) {
      warm_start(model, *impl_.options.warm_start_from, impl_.teller());
    }
  }

  // Steps of this call; nothing: until the data end.
  std::optional<int64_t> steps() const {
    if (options_.steps) return options_.steps;
    if (options_.max_steps) return *options_.max_steps - first_;
    return std::nullopt;
  }

  // Step s takes the s-th global batch of endless data: each epoch of the fit is one weight update,
  // and all epochs of this call are joined.
  void plan_endless(FitOptions& fit, int64_t accumulation) const {
    if (!steps()) {
      throw InvalidArgument("train: the data repeat without end; set steps or max_steps");
    }
    const int64_t updates = (*steps() - 1) / accumulation + 1;
    fit.carry_remainder = true;
    fit.updates_per_epoch = 1;
    fit.initial_epoch = updates_before_;
    fit.epochs = sum_of({updates_before_, updates}).value_or(updates);  // fit() refuses so many
    fit.joined_epochs = updates;
  }

  FitOptions fit_options(const std::shared_ptr<RunObserver>& run) const {
    return {.batch_size = data_.batch_size,
            .shuffle = false,
            .prefetch_depth = config().device.prefetch_depth,
            .data_workers = config().device.data_workers,
            .outfeed = run->want_all_values() ? OutfeedMode::all : OutfeedMode::last,
            .stop = options_.stop,
            .callbacks = {run},
            .verbose = 0};
  }

  std::shared_ptr<RunObserver> observer(const Model& model, const Description& description) const {
    return std::make_shared<RunObserver>(RunObserverOptions{.config = &config(),
                                                            .model_dir = impl_.model_dir,
                                                            .first_step = first_,
                                                            .total_replicas = model.replicas(),
                                                            .writes = is_first_instance(),
                                                            .names = value_names(description),
                                                            .hooks = description.hooks,
                                                            .host_call = description.host_call,
                                                            .listeners = options_.saving_listeners,
                                                            .tell = impl_.teller()});
  }

  void fit(Model& model, const Description& description) {
    const auto run = observer(model, description);
    FitOptions fit = fit_options(run);
    Dataset data = data_.dataset;
    if (data.size() == kEndless) {
      const int64_t accumulation =
          description.pipelining ? description.pipelining->gradient_accumulation_steps_per_replica
                                 : 1;
      plan_endless(fit, accumulation);
    } else if (steps()) {
      data = data.take(
          checked_product("train: steps", {*steps(), data_.batch_size, model.replicas()}));
    }
    std::optional<profile::Trace> trace;
    if (config().device.profiling) fit.trace = &trace.emplace(kProfileTrace);
    if (config().device.compile_summary && is_first_instance()) {
      run->summaries().write_text(first_, "compile_report",
                                  model.compile_report(data_.batch_size, data.fields()));
    }
    run_fit(model, data, fit, *run);
    run->save(model);
    if (!config().save_checkpoints && is_first_instance()) {
      impl_.unsaved = {
          .path = {}, .state = model.training_state(), .global_step = run->global_step()};
    }
    if (trace) write_report(model, *trace);
  }

  // Runs the fit. An error names the global step, since epochs and steps of the fit mean nothing to
  // the user.
  void run_fit(Model& model, const Dataset& data, const FitOptions& options,
               const RunObserver& run) const {
    try {
      model.fit(data, options);
    } catch (const NonFiniteLoss&) {
      throw NonFiniteLoss(concat("train: the loss is not finite in one of the ",
                                 config().device.iterations_per_loop, " steps after global step ",
                                 run.global_step(),
                                 "; its weight update was skipped. Try a smaller learning rate; "
                                 "earlier checkpoints are intact"));
    }
  }

  void write_report(Model& model, const profile::Trace& trace) const {
    if (!is_first_instance()) return;
    const ProfileFiles files = write_profile(model, impl_.model_dir, "train",
                                             {.mode = RunMode::train,
                                              .batch_size = data_.batch_size,
                                              .fields = data_.dataset.fields(),
                                              .trace = &trace});
    impl_.tell("Wrote profiling report to " + files.text);
  }

  Estimator::Impl& impl_;
  InputData data_;
  const EstimatorTrainOptions& options_;
  int64_t first_ = 0;           // the global step before this call
  int64_t updates_before_ = 0;  // weight updates
};

}  // namespace

void run_train(Estimator::Impl& impl, const InputFn& input_fn,
               const EstimatorTrainOptions& options) {
  check(options, impl.options.config.device);
  EstimatorTraining(impl, impl.input(input_fn, RunMode::train), options).run();
}

}  // namespace pando::estimator
