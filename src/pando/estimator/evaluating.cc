// Estimator::evaluate: the metrics of a checkpoint.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "pando/base/error.h"
#include "pando/comm/dist.h"
#include "pando/estimator/estimator_impl.h"
#include "pando/estimator/run_model.h"
#include "pando/estimator/summaries.h"
#include "pando/estimator/train_run.h"
#include "pando/train/profile_report.h"

namespace pando::estimator {

namespace {

// Collects the labels of batches as they pass.
class Labels {
 public:
  Labels(const Field& field, int64_t samples) : labels_(tensor_of(field, samples)) {}

  void add(const Batch& batch) {
    const Tensor& from = batch.fields.at(1);
    const size_t row = labels_.bytes() / static_cast<size_t>(labels_.shape()[0]);
    const size_t bytes = row * static_cast<size_t>(batch.valid);
    std::memcpy(labels_.data() + filled_, from.data(), bytes);
    filled_ += bytes;
  }
  const Tensor& tensor() const { return labels_; }

 private:
  static Tensor tensor_of(const Field& field, int64_t samples) {
    std::vector<int64_t> dims = {samples};
    dims.insert(dims.end(), field.shape.begin(), field.shape.end());
    return {field.dtype, Shape(dims)};
  }

  Tensor labels_;
  size_t filled_ = 0;
};

Logs host_metrics(Model& model, const HostMetrics& metrics, const Dataset& data, int64_t batch) {
  Labels labels(data.fields().at(1), data.size());
  const Tensor outputs = model.predict(
      data, {.batch_size = batch, .observe = [&](const Batch& passing) { labels.add(passing); }});
  return metrics(outputs, labels.tensor());
}

Dataset evaluated(const InputData& data, std::optional<int64_t> steps,
                  const DeviceRunConfig& device) {
  const int64_t step = data.batch_size * device.num_replicas * dist::num_instances();
  if (steps) return data.dataset.take(*steps * step);
  if (data.dataset.size() == kEndless) {
    throw InvalidArgument("evaluate: the data are repeated without end; give steps");
  }
  return data.dataset;
}

}  // namespace

std::map<std::string, double> run_evaluate(Estimator::Impl& impl, const InputFn& input_fn,
                                           const EstimatorEvaluateOptions& options) {
  const RunConfig& config = impl.options.config;
  check_steps("evaluate", options.steps, config.device);
  const InputData input = impl.input(input_fn, RunMode::evaluate);
  const Dataset data = evaluated(input, options.steps, config.device);
  const std::optional<Checkpoint> from = impl.start(options.checkpoint_path);
  const int64_t step = shared(from ? from->global_step : 0);
  const Description description = impl.describe(RunMode::evaluate, input, step, options.hooks);
  Model model = impl.inference_model(description, RunMode::evaluate, input, from);

  const auto tell = [&](std::string_view line) { impl.tell(line); };
  HookCalls hooks(RunMode::evaluate, step, value_names(description), description.hooks, tell);
  hooks.begin();
  hooks.before_execution();
  const int64_t replicas = int64_t{config.device.num_replicas} * dist::num_instances();
  int64_t before = 0;
  EvaluateOptions how{.batch_size = input.batch_size,
                      .steps_per_execution = config.device.iterations_per_loop,
                      .data_workers = config.device.data_workers};
  how.on_execution_end = [&](int64_t done, const Logs& logs) {
    const int64_t steps_done = (done + replicas - 1) / replicas;
    hooks.after_execution(
        {.global_step = step, .steps = steps_done - before, .logs = logs, .values = nullptr});
    before = steps_done;
    hooks.before_execution();
  };
  std::optional<profile::Trace> trace;
  if (config.device.profiling) how.trace = &trace.emplace(kProfileTrace);
  Logs logs = model.evaluate(data, how);
  if (description.host_metrics) {
    const Logs more = host_metrics(model, description.host_metrics, data, input.batch_size);
    logs.insert(logs.end(), more.begin(), more.end());
  }
  hooks.end();
  std::map<std::string, double> results(logs.begin(), logs.end());
  results["global_step"] = static_cast<double>(step);
  if (!is_first_instance()) return results;
  const std::string folder = options.name.empty() ? "eval" : "eval_" + options.name;
  Summaries(std::filesystem::path(impl.model_dir) / folder, 0).write(step, logs);
  if (trace) {
    const ProfileFiles files = write_profile(model, impl.model_dir, "eval",
                                             {.program = ProfiledProgram::evaluation,
                                              .batch_size = input.batch_size,
                                              .fields = data.fields(),
                                              .trace = &*trace});
    impl.tell("Wrote profiling report to " + files.text);
  }
  return results;
}

}  // namespace pando::estimator
