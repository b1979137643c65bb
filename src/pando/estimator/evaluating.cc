// Estimator::evaluate: computes the metrics of a checkpoint.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "pando/base/checked.h"
#include "pando/base/error.h"
#include "pando/comm/dist.h"
#include "pando/data/sources/arrays.h"
#include "pando/estimator/estimator_impl.h"
#include "pando/estimator/hook_calls.h"
#include "pando/estimator/summaries.h"
#include "pando/train/profile_report.h"
#include "pando/train/programs.h"

namespace pando::estimator {

namespace {

// Collects the labels of all batches, and which rows are samples: rows of weight 0 are padding.
class Labels {
 public:
  // `weights` is the field with the weights of samples, -1 if all are 1.
  Labels(const Field& field, int64_t samples, int weights)
      : labels_(tensor_of(field, samples)), weights_(weights) {}

  void add(const Batch& batch) {
    const Tensor& from = batch.fields.at(1);
    const size_t row = labels_.bytes() / static_cast<size_t>(labels_.shape()[0]);
    const size_t bytes = row * static_cast<size_t>(batch.valid);
    std::memcpy(labels_.data() + filled_, from.data(), bytes);
    filled_ += bytes;
    for (size_t i = 0; weights_ >= 0 && i < static_cast<size_t>(batch.valid); ++i) {
      const float weight = batch.fields[static_cast<size_t>(weights_)].f32()[i];
      samples_.push_back(weight == 0 ? -1 : 0);
    }
  }
  const Tensor& tensor() const { return labels_; }
  // The rows of a tensor that are samples.
  Tensor samples_of(const Tensor& rows) const {
    return weights_ < 0 ? rows : data::rows_with_label(rows, samples_);
  }

 private:
  static Tensor tensor_of(const Field& field, int64_t samples) {
    std::vector<int64_t> dims = {samples};
    dims.insert(dims.end(), field.shape.begin(), field.shape.end());
    return {field.dtype, Shape(dims)};
  }

  Tensor labels_;
  int weights_;
  std::vector<int32_t> samples_;  // -1: padding
  size_t filled_ = 0;
};

Logs host_metrics(Model& model, const HostMetrics& metrics, const Dataset& data, int64_t batch) {
  Labels labels(data.fields().at(1), data.size(),
                train::wire(model.network(), data.fields()).outputs[0].weights);
  const Tensor outputs = model.predict(
      data, {.batch_size = batch, .observe = [&](const Batch& passing) { labels.add(passing); }});
  return metrics(labels.samples_of(outputs), labels.samples_of(labels.tensor()));
}

// One evaluation of a checkpoint.
class Evaluation {
 public:
  Evaluation(Estimator::Impl& impl, InputData input, const EstimatorEvaluateOptions& options)
      : impl_(impl),
        input_(std::move(input)),
        options_(options),
        replicas_(int64_t{device().num_replicas} * dist::num_instances()) {}

  std::map<std::string, double> run() {
    const Dataset data = evaluated();
    const std::optional<Checkpoint> from = impl_.start(options_.checkpoint_path);
    step_ = shared(from ? from->global_step : 0);
    const Description description =
        impl_.describe(RunMode::evaluate, input_, step_, options_.hooks);
    Model model = impl_.inference_model(description, RunMode::evaluate, input_, from);
    std::optional<profile::Trace> trace;
    if (device().profiling) trace.emplace(kProfileTrace);
    HookCalls hooks(RunMode::evaluate, step_, value_names(description), description.hooks,
                    impl_.teller());
    hooks.begin();
    Logs logs = measure(model, data, hooks, trace ? &*trace : nullptr);
    if (description.host_metrics) {
      const Logs more = host_metrics(model, description.host_metrics, data, input_.batch_size);
      logs.insert(logs.end(), more.begin(), more.end());
    }
    hooks.end();
    if (is_first_instance()) write(model, logs, trace ? &*trace : nullptr);
    std::map<std::string, double> results(logs.begin(), logs.end());
    results["global_step"] = static_cast<double>(step_);
    return results;
  }

 private:
  const DeviceRunConfig& device() const { return impl_.options.config.device; }

  Dataset evaluated() const {
    if (options_.steps) {
      return input_.dataset.take(
          checked_product("evaluate: steps", {*options_.steps, input_.batch_size, replicas_}));
    }
    if (input_.dataset.size() != kEndless) return input_.dataset;
    throw InvalidArgument("evaluate: the data repeat without end; set steps");
  }

  Logs measure(Model& model, const Dataset& data, HookCalls& hooks, profile::Trace* trace) {
    int64_t before = 0;
    hooks.before_execution();
    EvaluateOptions how{.batch_size = input_.batch_size,
                        .steps_per_execution = device().iterations_per_loop,
                        .data_workers = device().data_workers,
                        .trace = trace};
    how.on_execution_end = [&](int64_t done, const Logs& logs) {
      const int64_t steps = (done + replicas_ - 1) / replicas_;
      hooks.after_execution(
          {.global_step = step_, .steps = steps - before, .logs = logs, .values = nullptr});
      before = steps;
      if (done * input_.batch_size < data.size()) hooks.before_execution();
    };
    return model.evaluate(data, how);
  }

  void write(Model& model, const Logs& logs, const profile::Trace* trace) const {
    const std::string folder = options_.name.empty() ? "eval" : "eval_" + options_.name;
    try {
      Summaries(std::filesystem::path(impl_.model_dir) / folder, 0).write(step_, logs);
    } catch (const IoError& error) {
      impl_.tell(concat("warning: cannot write the summary of this evaluation: ", error.what()));
    }
    if (trace == nullptr) return;
    const ProfileFiles files = write_profile(model, impl_.model_dir, "eval",
                                             {.mode = RunMode::evaluate,
                                              .batch_size = input_.batch_size,
                                              .fields = input_.dataset.fields(),
                                              .trace = trace});
    impl_.tell("Wrote profiling report to " + files.text);
  }

  Estimator::Impl& impl_;
  InputData input_;
  const EstimatorEvaluateOptions& options_;
  int64_t replicas_;  // of all instances
  int64_t step_ = 0;
};

}  // namespace

std::map<std::string, double> run_evaluate(Estimator::Impl& impl, const InputFn& input_fn,
                                           const EstimatorEvaluateOptions& options) {
  check_steps("evaluate", options.steps, impl.options.config.device);
  return Evaluation(impl, impl.input(input_fn, RunMode::evaluate), options).run();
}

}  // namespace pando::estimator
