// SPDX-License-Identifier: MIT
#include "pando/estimator/estimator.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/comm/dist.h"
#include "pando/estimator/estimator_impl.h"
#include "pando/estimator/run_model.h"

namespace pando {

namespace fs = std::filesystem;

namespace {

void check_params(const EstimatorOptions& options) {
  if (options.params.contains("input_fn")) {
    throw InvalidArgument("Estimator: the parameter name 'input_fn' is reserved; rename it");
  }
  const std::array<std::pair<const char*, std::optional<int64_t>>, 3> sizes = {
      {{"train_batch_size", options.train_batch_size},
       {"eval_batch_size", options.eval_batch_size},
       {"predict_batch_size", options.predict_batch_size}}};
  const int64_t replicas = int64_t{dist::num_instances()} * options.config.device.num_replicas;
  for (const auto& size : sizes) {
    if (!size.second) continue;
    if (options.params.contains("batch_size")) {
      throw InvalidArgument("Estimator: the parameter 'batch_size' and ", size.first,
                            " are both given; remove one of them");
    }
    if (*size.second < 1 || *size.second % replicas != 0) {
      throw InvalidArgument("Estimator: ", size.first,
                            ": expected a positive multiple of the replicas of all instances, ",
                            dist::num_instances(), " x ", options.config.device.num_replicas,
                            ", got ", *size.second);
    }
  }
}

std::string temporary_folder() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string name = (parent / "pando-estimator-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr) {
    throw IoError("Estimator: cannot create the temporary folder ", name, "; set model_dir");
  }
  return name;
}

// The first instance chooses the folder for all instances.
std::string model_dir_of(const EstimatorOptions& options) {
  const std::string& own = options.model_dir;
  const std::string& configured = options.config.model_dir;
  if (!own.empty() && !configured.empty() && own != configured) {
    throw InvalidArgument("Estimator: model_dir is '", own, "', but config.model_dir is '",
                          configured, "'; remove one of them");
  }
  if (!own.empty() || !configured.empty()) return own.empty() ? configured : own;
  const std::string made = estimator::is_first_instance() ? temporary_folder() : "";
  return dist::is_distributed() ? dist::broadcast(made) : made;
}

}  // namespace

namespace estimator {

bool is_first_instance() { return dist::instance_index() == 0; }

int64_t shared(int64_t number) {
  if (!dist::is_distributed()) return number;
  std::array<int64_t, 1> numbers = {number};
  dist::broadcast(numbers);
  return numbers[0];
}

std::vector<std::string> value_names(const Description& description) {
  std::vector<std::string> names = {"loss"};
  for (const Metric& metric : description.metrics) names.push_back(metric.name());
  return names;
}

void check_steps(const char* method, std::optional<int64_t> steps, const DeviceRunConfig& device) {
  if (!steps) return;
  if (*steps < 1) throw InvalidArgument(method, ": steps: expected at least 1, got ", *steps);
  if (*steps % device.iterations_per_loop == 0) return;
  throw InvalidArgument(method, ": steps: expected a multiple of iterations_per_loop ",
                        device.iterations_per_loop, ", got ", *steps);
}

}  // namespace estimator

Estimator::Impl::Impl(estimator::Describe describe_in, EstimatorOptions options_in)
    : describe_with(std::move(describe_in)), options(std::move(options_in)) {
  validate(options.config);
  check_params(options);
  model_dir = model_dir_of(options);
  if (options.model_dir.empty() && options.config.model_dir.empty()) {
    tell(concat("model_dir is not set; writing files to ", model_dir));
  }
  options.config.model_dir = model_dir;
}

estimator::Tell Estimator::Impl::teller() const {
  if (!estimator::is_first_instance()) return [](std::string_view) {};
  if (options.config.tell) return options.config.tell;
  return [](std::string_view line) { std::cerr << line << std::endl; };
}

Params Estimator::Impl::params_for(RunMode mode) const {
  const std::optional<int64_t> global = mode == RunMode::train      ? options.train_batch_size
                                        : mode == RunMode::evaluate ? options.eval_batch_size
                                                                    : options.predict_batch_size;
  Params params = options.params;
  if (global) {
    params.set("batch_size",
               *global / (dist::num_instances() * options.config.device.num_replicas));
  }
  return params;
}

InputData Estimator::Impl::input(const InputFn& input_fn, RunMode mode) const {
  if (!input_fn) throw InvalidArgument(to_string(mode), ": the input function is empty");
  const Params params = params_for(mode);
  InputData data = input_fn({.mode = mode,
                             .params = params,
                             .config = options.config,
                             .num_instances = dist::num_instances(),
                             .instance_index = dist::instance_index()});
  if (data.dataset.size() == 0) {
    throw InvalidArgument(to_string(mode), ": the input function returned no samples");
  }
  const int64_t own = params.contains("batch_size") ? params.get_int("batch_size") : 0;
  if (data.batch_size == 0) data.batch_size = own;
  if (own > 0 && data.batch_size != own) {
    throw InvalidArgument(to_string(mode), ": the input function sets a batch size of ",
                          data.batch_size, ", but the options of the estimator set ", own,
                          " for each replica; remove one of them");
  }
  if (data.batch_size < 1) {
    throw InvalidArgument(to_string(mode), ": expected a batch size of at least 1, got ",
                          data.batch_size,
                          "; return {dataset, batch_size} from the input function, or set it in "
                          "the options of the estimator");
  }
  return data;
}

estimator::Description Estimator::Impl::describe(
    RunMode mode, const InputData& data, int64_t global_step,
    const std::vector<std::shared_ptr<Hook>>& hooks) const {
  estimator::Description description = describe_with({.mode = mode,
                                                      .fields = data.dataset.fields(),
                                                      .params = params_for(mode),
                                                      .config = options.config,
                                                      .global_step = global_step});
  description.hooks.insert(description.hooks.begin(), hooks.begin(), hooks.end());
  for (const auto& hook : description.hooks) {
    if (hook == nullptr) throw InvalidArgument("a hook of mode ", to_string(mode), " is null");
  }
  return description;
}

std::optional<estimator::Checkpoint> Estimator::Impl::start(const std::string& path) const {
  if (!estimator::is_first_instance()) return std::nullopt;
  if (!path.empty()) return estimator::read_checkpoint(path);
  if (unsaved) return unsaved;
  return estimator::newest_checkpoint(model_dir, teller());
}

Model Estimator::Impl::inference_model(const estimator::Description& description, RunMode mode,
                                       const InputData& data,
                                       const std::optional<estimator::Checkpoint>& from) const {
  Model model = estimator::make_model(description, {.mode = mode,
                                                    .batch = data.batch_size,
                                                    .fields = data.dataset.fields(),
                                                    .config = &options.config});
  if (from) estimator::assign_weights(model, from->state.weights);
  if (!from && options.warm_start_from && estimator::is_first_instance()) {
    estimator::warm_start(model, *options.warm_start_from, teller());
  }
  estimator::share_weights(model);
  return model;
}

Estimator::Estimator(ModelFn model_fn, EstimatorOptions options)
    : impl_(std::make_unique<Impl>(estimator::describe_with(std::move(model_fn)),
                                   std::move(options))) {}
Estimator::Estimator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Estimator::~Estimator() = default;

PipelineEstimator::PipelineEstimator(PipelineModelFn model_fn, EstimatorOptions options)
    : Estimator(std::make_unique<Impl>(estimator::describe_with(std::move(model_fn)),
                                       std::move(options))) {}

Estimator& Estimator::train(const InputFn& input_fn, const EstimatorTrainOptions& options) {
  estimator::run_train(*impl_, input_fn, options);
  return *this;
}

std::map<std::string, double> Estimator::evaluate(const InputFn& input_fn,
                                                  const EstimatorEvaluateOptions& options) {
  return estimator::run_evaluate(*impl_, input_fn, options);
}

PredictionStream Estimator::predict(const InputFn& input_fn,
                                    const EstimatorPredictOptions& options) {
  return estimator::run_predict(*impl_, input_fn, options);
}

const std::string& Estimator::model_dir() const { return impl_->model_dir; }
const RunConfig& Estimator::config() const { return impl_->options.config; }
const Params& Estimator::params() const { return impl_->options.params; }

std::optional<std::string> Estimator::latest_checkpoint() const {
  return pando::latest_checkpoint(impl_->model_dir);
}

int64_t Estimator::global_step() const {
  const auto from = impl_->start("");
  return from ? from->global_step : 0;
}

namespace {

std::map<std::string, Tensor> variables_of(const std::optional<estimator::Checkpoint>& from) {
  std::map<std::string, Tensor> variables;
  if (!from) return variables;
  for (const store::LayerWeights& layer : from->state.weights.layers) {
    for (const store::NamedWeight& weight : layer.weights) {
      variables.emplace(layer.layer + "/" + weight.name, weight.value);
    }
  }
  return variables;
}

}  // namespace

std::vector<std::string> Estimator::variable_names() const {
  std::vector<std::string> names;
  for (const auto& entry : variables_of(impl_->start(""))) names.push_back(entry.first);
  return names;
}

Tensor Estimator::variable_value(const std::string& name) const {
  const auto variables = variables_of(impl_->start(""));
  if (variables.empty()) {
    throw InvalidArgument("variable '", name, "': ", impl_->model_dir,
                          " has no checkpoint yet; train first");
  }
  if (const auto found = variables.find(name); found != variables.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& entry : variables) known.push_back(entry.first);
  throw InvalidArgument(unknown_name_message("variable", name, known));
}

std::optional<std::string> latest_checkpoint(const std::string& model_dir) {
  const auto newest = estimator::newest_checkpoint(model_dir, {});
  if (!newest) return std::nullopt;
  return newest->path.string();
}

namespace {

// Every turn is a separate training, which starts with the first sample of finite data: later
// samples would never be used.
InputFn endless_only(const InputFn& input_fn) {
  if (!input_fn) return {};
  return [input_fn](const InputContext& context) {
    InputData data = input_fn(context);
    if (data.dataset.size() == kEndless) return data;
    throw InvalidArgument("train_and_evaluate: every_n_steps needs endless training data, got ",
                          data.dataset.size(),
                          " samples, and every turn would start with the first; use repeat()");
  };
}

}  // namespace

std::map<std::string, double> train_and_evaluate(Estimator& estimator, const TrainSpec& train,
                                                 const EvalSpec& eval) {
  if (train.max_steps < 1 || eval.every_n_steps < 0) {
    throw InvalidArgument(
        "train_and_evaluate: expected max_steps of at least 1 and every_n_steps of at least 0, "
        "got ",
        train.max_steps, " and ", eval.every_n_steps);
  }
  const EstimatorEvaluateOptions how{.steps = eval.steps, .name = eval.name};
  const InputFn input_fn = eval.every_n_steps == 0 ? train.input_fn : endless_only(train.input_fn);
  std::map<std::string, double> results;
  int64_t step = estimator::shared(estimator.global_step());
  do {
    const bool to_the_end = eval.every_n_steps == 0 || eval.every_n_steps >= train.max_steps - step;
    const int64_t next = to_the_end ? train.max_steps : step + eval.every_n_steps;
    estimator.train(input_fn, {.max_steps = next, .hooks = train.hooks});
    results = estimator.evaluate(eval.input_fn, how);
    step = static_cast<int64_t>(results.at("global_step"));
    if (step < next) break;  // the data ended, or a hook ended the training
  } while (step < train.max_steps);
  return results;
}

}  // namespace pando
