// SPDX-License-Identifier: MIT
#include "pando/train/model.h"

#include <algorithm>
#include <iostream>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "pando/base/error.h"
#include "pando/comm/session.h"
#include "pando/store/safetensors.h"
#include "pando/train/evaluation.h"
#include "pando/train/features.h"
#include "pando/train/fit_loop.h"
#include "pando/train/load_model.h"
#include "pando/train/model_impl.h"
#include "pando/train/safetensors_weights.h"

namespace pando {

namespace {

void replace_network(Model::Impl& impl, Network network) {
  const Model::Impl::Use use(impl);
  impl.network = std::move(network);
  impl.drop_all();
}

// Freezes the layers of `model` that are frozen in the model that it was made from.
void take_frozen(const std::set<std::string>& frozen, const std::string& except, Model& model) {
  for (const LayerInfo& layer : model.network().layers()) {
    if (layer.name != except && frozen.contains(layer.name)) model.set_trainable(layer.name, false);
  }
}

// Warns once in a process if it is not connected to the other processes that were started with it.
void warn_when_apart() {
  static std::once_flag once;
  std::call_once(once, [] {
    const std::string apart = comm::process_session().apart();
    if (!apart.empty()) std::cerr << "warning: " << apart << std::endl;
  });
}

}  // namespace

Model::Model(Network network, ModelOptions options)
    : impl_(std::make_shared<Impl>(std::move(network), std::move(options))) {}

Model::Model(const SymbolicTensor& input, const SymbolicTensor& output, ModelOptions options)
    : Model(Network(input, output), std::move(options)) {}

Model::Model(std::vector<SymbolicTensor> inputs, const std::vector<SymbolicTensor>& outputs,
             ModelOptions options)
    : Model(Network(std::move(inputs), outputs), std::move(options)) {}

Model::Model(Network network, ModelOptions options, std::map<std::string, Tensor>& weights)
    : impl_(std::make_shared<Impl>(std::move(network), std::move(options), &weights)) {}

const std::string& Model::name() const { return impl_->options.name; }
const Network& Model::network() const { return impl_->network; }
const ModelFacts& Model::facts() const { return impl_->facts; }
void Model::set_facts(ModelFacts facts) { impl_->facts = std::move(facts); }
const OpenSizes& Model::open_sizes() const { return impl_->other_sizes.open(); }
void Model::set_open_sizes(OpenSizes sizes) {
  const Impl::Use use(*impl_);
  impl_->other_sizes.set(std::move(sizes));
  impl_->drop_programs(RunMode::predict);
}
std::string Model::summary() const {
  const auto& options = impl_->compile_options;
  return impl_->network.summary(name(), impl_->frozen,
                                options ? options->precision.update : DType::f32);
}

void Model::set_trainable(const std::string& layer, bool trainable) {
  const Impl::Use use(*impl_);
  impl_->network.layer(layer);
  const bool changed =
      trainable ? impl_->frozen.erase(layer) > 0 : impl_->frozen.insert(layer).second;
  if (changed) impl_->drop_programs(RunMode::train);
}

bool Model::trainable(const std::string& layer) const {
  impl_->network.layer(layer);
  return !impl_->frozen.contains(layer);
}

std::vector<StageAssignment> Model::get_pipeline_stage_assignment() const {
  return impl_->network.stage_assignment();
}

void Model::set_pipeline_stage_assignment(const std::vector<StageAssignment>& assignment) {
  replace_network(*impl_, impl_->network.with_stages(assignment));
}

void Model::set_pipeline_stage_assignment(const std::vector<int>& stages) {
  replace_network(*impl_, impl_->network.with_stages(stages));
}

void Model::reset_pipeline_stage_assignment() {
  replace_network(*impl_, impl_->network.without_stages());
}

void Model::set_pipeline_splits(const std::vector<std::string>& layer_names) {
  replace_network(*impl_, impl_->network.with_splits(layer_names));
}

MeasuredSplits Model::measure_pipeline_splits(int stages, const Dataset& data,
                                              int64_t batch_size) const {
  const Impl::Use use(*impl_);
  return impl_->measure_splits(stages, data, batch_size);
}

void Model::print_pipeline_stage_assignment_summary(std::ostream& out, int line_length) const {
  out << "Model: \"" << name() << "\"\n" << impl_->network.stage_summary(line_length);
}

void Model::compile(CompileOptions options) {
  const Impl::Use use(*impl_);
  impl_->compile(std::move(options));
}

void Model::set_gradient_accumulation_options(const GradientAccumulationOptions& options) {
  const Impl::Use use(*impl_);
  impl_->set_accumulation(options);
}
void Model::set_pipelining_options(const PipeliningOptions& options) {
  const Impl::Use use(*impl_);
  impl_->set_pipelining(options);
}
void Model::set_replication_options(const ReplicationOptions& options) {
  const Impl::Use use(*impl_);
  impl_->set_replication(options);
}
int Model::replicas() const { return impl_->placement(RunMode::train).total_replicas(); }

History Model::fit(const Dataset& train, const FitOptions& options) {
  const Impl::Use use(*impl_);
  if (impl_->job.communicator == nullptr) warn_when_apart();
  return train::run_fit(*this, *impl_, train, options);
}

History Model::fit(Tensor x, Tensor y, const FitOptions& options) {
  return fit(Dataset::from_tensors(std::move(x), std::move(y)), options);
}

History Model::fit(Tensor x, Tensor y, Tensor sample_weight, const FitOptions& options) {
  return fit(Dataset::from_tensors(std::move(x), std::move(y), std::move(sample_weight)), options);
}

Logs Model::evaluate(const Dataset& dataset, const EvaluateOptions& options) {
  const Impl::Use use(*impl_);
  return train::run_evaluate(*impl_, dataset, options);
}

Logs Model::evaluate(Tensor x, Tensor y, const EvaluateOptions& options) {
  return evaluate(Dataset::from_tensors(std::move(x), std::move(y)), options);
}

Logs Model::evaluate(Tensor x, Tensor y, Tensor sample_weight, const EvaluateOptions& options) {
  return evaluate(Dataset::from_tensors(std::move(x), std::move(y), std::move(sample_weight)),
                  options);
}

Tensor Model::predict(const Tensor& x, int64_t batch_size) {
  return predict(Dataset::from_tensors(x), {.batch_size = batch_size});
}

Tensor Model::predict(const Dataset& dataset, const PredictOptions& options) {
  if (const size_t outputs = network().outputs().size(); outputs > 1) {
    throw InvalidArgument("predict: expected a network with one output, got ", outputs,
                          "; call predict_all()");
  }
  return predict_all(dataset, options).front();
}

std::vector<Tensor> Model::predict_all(const Dataset& dataset, const PredictOptions& options) {
  const Impl::Use use(*impl_);
  return train::run_predict(*impl_, dataset, options);
}

std::vector<std::string> Model::weight_names() const {
  std::vector<std::string> names;
  const runtime::VariableStore& variables = impl_->variables;
  for (const runtime::Variable& variable : variables.all()) names.push_back(variable.name);
  return names;
}

std::vector<Tensor> Model::get_weights() const {
  std::vector<Tensor> weights;
  const runtime::VariableStore& variables = impl_->variables;
  for (const runtime::Variable& variable : variables.all()) {
    weights.push_back(variables.shown(variable).reshaped(impl_->file_shape(variable.name)));
  }
  return weights;
}

Tensor Model::get_weight(const std::string& name) const {
  const std::vector<std::string> names = weight_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw InvalidArgument(unknown_name_message("weight", name, names));
  }
  const runtime::VariableStore& variables = impl_->variables;
  return variables.shown(variables.get(name)).reshaped(impl_->file_shape(name));
}

LoadReport Model::set_weights(const std::vector<Tensor>& weights) {
  const Impl::Use use(*impl_);
  auto& variables = impl_->variables.all();
  if (weights.size() != variables.size()) {
    throw InvalidArgument("set_weights: expected ", variables.size(), " tensors, got ",
                          weights.size());
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    const Tensor& value = variables[i].value;
    const DType type = weights[i].dtype();
    const Shape shape = impl_->file_shape(variables[i].name);
    if (type == DType::u8 || type == DType::i32 || weights[i].shape() != shape) {
      throw InvalidArgument("set_weights: '", variables[i].name, "': expected ",
                            to_string(value.dtype()), shape, ", got ", to_string(type),
                            weights[i].shape());
    }
  }
  LoadReport report;
  for (size_t i = 0; i < weights.size(); ++i) {
    impl_->assign(variables[i], weights[i].reshaped(variables[i].value.shape()), report);
  }
  return report;
}

Model Model::until(const std::string& layer) const {
  Model part(network().until(layer), impl_->options);
  part.copy_weights(*this, {.by_name = true});
  part.set_facts(facts());
  part.impl_->facts.labels.clear();  // of the classes that the cut removed
  take_frozen(impl_->frozen, "", part);
  return part;
}

Model Model::with_head(const zoo::HeadOptions& options) const {
  Model other(zoo::with_head(network(), options), impl_->options);
  const std::string classifier = zoo::find_head(network()).classifier;
  other.copy_weights(*this, {.by_name = true, .except = {classifier}});
  take_frozen(impl_->frozen, classifier, other);
  other.set_facts(facts());
  other.impl_->facts.labels.clear();  // names of the classes of the old head
  return other;
}

// The part before the layer runs like the whole: on the same devices, in the same slices and types.
Dataset Model::features(const Dataset& dataset, const FeatureOptions& options) const {
  const Impl::Use use(*impl_);
  train::check_features(impl_->network, options);
  const comm::JobScope alone({});
  const auto make_part = [&] {
    Model part(impl_->network.without_stages().until(options.layer), impl_->options);
    part.copy_weights(*this);
    return part;
  };
  std::optional<DeviceStrategy> strategy;
  if (impl_->strategy != nullptr) strategy.emplace(*impl_->strategy);
  Model part = strategy ? [&] {
    const DeviceStrategy::Scope scope = strategy->scope();
    return make_part();
  }()
                        : make_part();
  CompileOptions compiling = impl_->compiled();
  compiling.execution.dump_ir = nullptr;
  if (options.mode == RunMode::train) {
    if (compiling.execution.slices == 0)
      compiling.execution.slices = impl_->workers().workers_of(0);
    for (const char* pass : train::inference_passes()) {
      compiling.execution.disabled_passes.insert(pass);
    }
  }
  compiling.execution.tuning = Tuning::off;
  part.compile(std::move(compiling));
  part.impl_->chooses_like_training = options.mode == RunMode::train;
  const std::vector<int> inputs = train::wire(impl_->network, dataset.fields()).inputs;
  std::vector<int> kept;
  for (int i = 0; i < static_cast<int>(dataset.fields().size()); ++i) {
    if (std::ranges::find(inputs, i) == inputs.end()) kept.push_back(i);
  }
  return train::compute_features(part, dataset, options, kept);
}

void Model::start_from(const std::string& layer) {
  const Impl::Use use(*impl_);
  std::optional<Network> rest;
  if (!layer.empty()) rest = impl_->network.from(layer);
  impl_->rest = std::move(rest);
  impl_->drop_all();
}

LoadReport Model::copy_weights(const Model& other, LoadOptions options) {
  const Impl::Use use(*impl_);
  return impl_->assign_weights(other.impl_->weights_file(), options);
}

void Model::save_weights(const std::string& path) const {
  store::write_weights_file(path, impl_->weights_file());
}
LoadReport Model::load_weights(const std::string& path, LoadOptions options) {
  const Impl::Use use(*impl_);
  if (store::looks_like_safetensors(path)) {
    return impl_->assign_weights(read_safetensors_weights(network(), path), options);
  }
  const ModelFileKind* kind = find_model_file_kind(path);
  // A whole model in HDF5 has its weights where a file of weights has them.
  if (kind == nullptr || kind->name == "h5") {
    return impl_->assign_weights(store::read_weights_file(path), options);
  }
  const Shape& sample = network().inputs()[0].shape;
  const bool pictures = sample.rank() == 3;
  const Model file =
      load_model(path, {.height = pictures ? sample[0] : 0, .width = pictures ? sample[1] : 0});
  return impl_->assign_weights(file.impl_->weights_file(), options);
}

TrainingState Model::training_state() const { return impl_->training_state(); }
LoadReport Model::restore(const TrainingState& state) {
  const Impl::Use use(*impl_);
  return impl_->restore(state);
}
TrainingPosition Model::position() const { return impl_->position; }

double Model::learning_rate() const {
  return impl_->compiled().optimizer.learning_rate.at(impl_->iteration);
}

double Model::loss_scaling_factor() const { return impl_->scaler.state().factor; }

void Model::set_learning_rate(double rate) {
  if (!(rate >= 0)) throw InvalidArgument("learning rate: expected 0 or more, got ", rate);
  impl_->compiled().optimizer.learning_rate = rate;
}

void Model::scale_learning_rate(double factor) {
  if (!(factor >= 0)) {
    throw InvalidArgument("factor of the learning rate: expected 0 or more, got ", factor);
  }
  LearningRate& rate = impl_->compiled().optimizer.learning_rate;
  if (factor != 1) rate = LearningRate([rate, factor](int64_t at) { return factor * rate.at(at); });
}

void Model::prepare(RunMode mode, int64_t batch_size, const std::vector<Field>& fields) {
  const Impl::Use use(*impl_);
  impl_->program(mode, batch_size, fields);
}

std::vector<std::string> Model::tune(int64_t batch_size, const std::vector<Field>& fields) {
  const Impl::Use use(*impl_);
  impl_->tune(batch_size, fields);
  return std::exchange(impl_->tuning_lines, {});
}

const KernelChoices& Model::kernel_choices() const {
  return impl_->compiled().execution.kernel_choices;
}

std::vector<std::string> Model::unused_kernel_choices() const {
  impl_->compiled();  // throws without compile()
  return impl_->unused_kernel_choices();
}

void Model::set_kernel_choices(KernelChoices choices) {
  const Impl::Use use(*impl_);
  impl_->set_kernel_choices(std::move(choices));
}

std::string Model::compile_report(int64_t batch_size, const std::vector<Field>& fields) {
  const Impl::Use use(*impl_);
  return impl_->compile_report(batch_size, fields);
}

RunMemory Model::memory_of(const RunPart& part) { return impl_->memory_of(part); }

std::string Model::memory_report(int64_t batch_size, const std::vector<Field>& fields) {
  const Impl::Use use(*impl_);
  return impl_->memory_report(batch_size, fields);
}

Verification Model::verify(int64_t batch_size, const std::vector<Field>& fields) {
  const Impl::Use use(*impl_);
  return impl_->verify(batch_size, fields);
}

}  // namespace pando
