// SPDX-License-Identifier: MIT
#include "pando/train/model_impl.h"

#include <algorithm>
#include <array>
#include <utility>

#include "pando/base/error.h"
#include "pando/base/memory_limit.h"
#include "pando/base/random.h"
#include "pando/comm/collectives.h"
#include "pando/compiler/report.h"
#include "pando/ir/text.h"
#include "pando/runtime/machine/device_set.h"
#include "pando/runtime/machine/topology.h"
#include "pando/runtime/verification.h"
#include "pando/train/auto_split.h"

namespace pando {

namespace {

int64_t weight_bytes(const Network& network) {
  int64_t bytes = 0;
  for (const LayerInfo& layer : network.layers()) {
    for (const nn::WeightSpec& weight : layer.weights) {
      bytes += weight.shape.elements() * static_cast<int64_t>(sizeof(float));
    }
  }
  return bytes;
}

Tensor taken_weight(std::map<std::string, Tensor>& given, const std::string& name,
                    const Shape& shape) {
  const auto found = given.find(name);
  const bool fits =
      found != given.end() && found->second.dtype() == DType::f32 && found->second.shape() == shape;
  if (fits) return std::move(found->second);
  throw InvalidArgument("weight '", name, "': expected f32", shape, ", got ",
                        found == given.end()
                            ? std::string("none")
                            : concat(to_string(found->second.dtype()), found->second.shape()));
}

}  // namespace

Model::Impl::Impl(Network network_in, ModelOptions options_in, std::map<std::string, Tensor>* given)
    : network(std::move(network_in)),
      options(std::move(options_in)),
      strategy(DeviceStrategy::current()),
      job(comm::current_job()) {
  size_t count = 0;
  for (const LayerInfo& layer : network.layers()) count += layer.weights.size();
  variables.reserve(count);
  require_memory("the weights of the model", weight_bytes(network));
  for (const LayerInfo& layer : network.layers()) {
    for (const nn::WeightSpec& weight : layer.weights) {
      const std::string name = layer.name + "/" + weight.name;
      const uint64_t key = mix_keys(options.seed, hash_name(name));
      Tensor value = given == nullptr ? weight.initializer.make(weight.file_shape(), key)
                                      : taken_weight(*given, name, weight.file_shape());
      variables.add(name, std::move(value).reshaped(weight.shape), weight.moving_momentum,
                    weight.follows_variance);
    }
  }
}

Model::Impl::Use::Use(Impl& impl) : impl_(impl) {
  const std::lock_guard lock(impl.use_mutex_);
  const std::thread::id own = std::this_thread::get_id();
  if (impl.uses_ > 0 && impl.user_ != own) {
    throw InvalidArgument("model '", impl.options.name,
                          "' is in use by another thread; expected one thread at a time. Wait for "
                          "the other thread, or give each thread a model of its own");
  }
  impl.user_ = own;
  ++impl.uses_;
}

Model::Impl::Use::~Use() {
  const std::lock_guard lock(impl_.use_mutex_);
  --impl_.uses_;
}

CompileOptions& Model::Impl::compiled() {
  if (!compile_options) {
    throw InvalidArgument("model '", options.name, "' is not compiled; call compile() first");
  }
  return *compile_options;
}

void Model::Impl::compile(CompileOptions options_in) {
  const ExecutionOptions& execution = options_in.execution;
  constexpr int kMostSlices = 1 << 16;
  if (execution.threads < 0)
    throw InvalidArgument("threads: expected 0 or more, got ", execution.threads);
  if (execution.slices < 0 || execution.slices > kMostSlices)
    throw InvalidArgument("slices: expected 0 to ", kMostSlices, ", got ", execution.slices);
  if (options_in.steps_per_execution < 0) {
    throw InvalidArgument("steps_per_execution: expected 0 or more, got ",
                          options_in.steps_per_execution);
  }
  if (options_in.optimizer.rule == nullptr) {
    throw InvalidArgument("compile: expected an optimizer, got none");
  }
  parse_precision(to_string(options_in.precision));  // throws for types that do not go together
  scaler = LossScaler(options_in.loss_scaling);
  drop_all();
  variables.adopt_averages();  // the weights that users saw stay
  variables.drop_slots();      // a new optimizer starts with fresh slots
  variables.convert(options_in.precision.update);
  iteration = 0;
  epochs = 0;
  position = {};
  epoch_offset = 0;
  decisions_.clear();
  tuned_.clear();
  agreed_.clear();
  unavailable_kernels_.clear();
  tuning_lines.clear();
  compile_options = std::move(options_in);
}

void Model::Impl::drop_programs(RunMode mode) {
  std::erase_if(programs_, [&](const auto& entry) { return std::get<0>(entry.first) == mode; });
}

void Model::Impl::drop_all() {
  programs_.clear();
  team_.reset();
}

const Network& Model::Impl::running(RunMode mode, const std::vector<Field>& fields) {
  if (mode != RunMode::predict || rest) return running();
  const Network* other = other_sizes.find(
      network, fields, [this](const std::string& dropped) { drop_predictions(dropped); });
  return other == nullptr ? network : *other;
}

bool Model::Impl::drop_other_sizes(const std::vector<Field>& fields) {
  return other_sizes.keep_only(fields,
                               [this](const std::string& dropped) { drop_predictions(dropped); });
}

void Model::Impl::drop_predictions(const std::string& fields) {
  std::erase_if(programs_, [&](const auto& entry) {
    return std::get<0>(entry.first) == RunMode::predict && std::get<2>(entry.first) == fields;
  });
}

void Model::Impl::set_pipelining(const PipeliningOptions& options_in) {
  if (options_in.gradient_accumulation_steps_per_replica < 1) {
    throw InvalidArgument("gradient_accumulation_steps_per_replica: expected at least 1, got ",
                          options_in.gradient_accumulation_steps_per_replica);
  }
  runtime::check({.stages = network.stages(), .device_of_stage = options_in.device_mapping});
  pipelining = options_in;
  accumulation = {options_in.gradient_accumulation_steps_per_replica, options_in.reduction};
  drop_all();
}

void Model::Impl::set_accumulation(const GradientAccumulationOptions& options_in) {
  if (options_in.steps_per_replica < 1) {
    throw InvalidArgument("steps_per_replica: expected at least 1, got ",
                          options_in.steps_per_replica);
  }
  accumulation = options_in;
  drop_all();
}

void Model::Impl::set_replication(const ReplicationOptions& options_in) {
  if (options_in.statistics_group < 1) {
    throw InvalidArgument("statistics_group: expected at least 1, got ",
                          options_in.statistics_group);
  }
  if (options_in.inference_replicas < 0) {
    throw InvalidArgument("inference_replicas: expected 0 or more, got ",
                          options_in.inference_replicas);
  }
  replication = options_in;
  drop_all();
}

bool Model::Impl::pipelined(RunMode mode) const {
  return running().stages() > 1 && (mode == RunMode::train || pipelining.pipelined_inference);
}

runtime::Placement Model::Impl::placement(RunMode mode) {
  runtime::Placement place;
  int stages = 1;
  if (pipelined(mode)) {
    stages = network.stages();
    place.device_of_stage = pipelining.device_mapping;
    place.schedule = pipelining.schedule;
    runtime::check({.stages = stages, .device_of_stage = place.device_of_stage});
  }
  const int each = place.devices_per_replica(stages);
  const int devices = workers().devices();
  if (each > devices) {
    throw InvalidArgument("the pipeline of ", stages, " stages: expected at least ", each,
                          " devices, got ", devices, "; use more devices or set device_mapping");
  }
  place.replicas = devices / each;
  // Each instance predicts on its own.
  if (mode != RunMode::predict) place.communicator = job.communicator;
  place.wire = replication.wire;
  if (mode != RunMode::train) {
    const int wanted = replication.inference_replicas;
    if (wanted > place.replicas) {
      throw InvalidArgument("inference_replicas: expected at most ", place.replicas, " (", devices,
                            " devices, ", each, " per replica), got ", wanted);
    }
    if (wanted > 0) place.replicas = wanted;
    return place;
  }
  place.micro_batches = accumulation.steps_per_replica;
  place.reduction = accumulation.reduction;
  // Sums over accumulation and replicas may leave the range of f16, means do not.
  const bool half = compile_options && compile_options->precision.half();
  if (half && place.reduction == GradientReduction::mean) {
    place.reduction = GradientReduction::running_mean;
  }
  place.stop_at_fp_exceptions = compile_options && compile_options->fp_exceptions;
  place.statistics_group = replication.statistics_group;
  if (place.statistics_group > 1 && each > 1) {
    throw InvalidArgument("statistics_group = ", place.statistics_group,
                          ": expected one device per replica, got ", each);
  }
  if (place.total_replicas() % place.statistics_group != 0) {
    throw InvalidArgument("statistics_group: expected a divisor of the ", place.total_replicas(),
                          " replicas, got ", place.statistics_group);
  }
  if (place.replicas % place.statistics_group != 0 &&
      place.statistics_group % place.replicas != 0) {
    throw InvalidArgument(
        "statistics_group: expected groups within an instance or of whole instances, got groups "
        "of ",
        place.statistics_group, " with ", place.replicas, " replicas per instance");
  }
  return place;
}

void Model::Impl::follow_first_instance() {
  if (job.communicator == nullptr) return;
  comm::Communicator& others = *job.communicator;
  std::array<int64_t, 4> counters = {iteration, epochs, epoch_offset,
                                     static_cast<int64_t>(options.seed)};
  comm::broadcast(others, std::as_writable_bytes(std::span(counters)));
  iteration = counters[0];
  epochs = counters[1];
  epoch_offset = counters[2];
  options.seed = static_cast<uint64_t>(counters[3]);  // of the order of samples and of dropout
  LossScalerState::Numbers scaling = scaler.state().numbers();
  comm::broadcast(others, std::as_writable_bytes(std::span(scaling)));
  scaler.restore(LossScalerState::of(scaling));
  for (runtime::Variable& variable : variables.all()) {
    comm::broadcast(others, {variable.value.data(), variable.value.bytes()});
    for (Tensor& slot : variable.slots) comm::broadcast(others, {slot.data(), slot.bytes()});
  }
}

MeasuredSplits Model::Impl::measure_splits(int stages, const Dataset& data, int64_t batch) {
  const comm::JobScope alone({});  // the copy has nothing to do with other instances
  DeviceStrategyOptions one = strategy == nullptr ? DeviceStrategyOptions{} : *strategy;
  one.devices = 1;
  one.memory_per_device = 0;  // the whole model may need more than its stages
  if (one.core_sets.empty()) one.cores_per_device = workers().workers_of(0);
  if (!one.core_sets.empty()) one.core_sets.resize(1);
  CompileOptions compiling = compiled();
  compiling.execution.threads = 0;
  compiling.execution.dump_ir = nullptr;
  compiling.execution.tuning = Tuning::off;
  const DeviceStrategy measuring(one);
  const DeviceStrategy::Scope scope = measuring.scope();
  Model copy(network.without_stages(), options);
  copy.impl_->frozen = frozen;
  copy.compile(std::move(compiling));
  constexpr int64_t kSteps = 8;
  const Dataset few = data.take(kSteps * batch);
  FitOptions fit{.batch_size = batch, .shuffle = false, .verbose = 0};
  copy.fit(few, fit);  // memory and caches are warm afterwards
  profile::Trace trace({.events_per_track = size_t{1} << 20});  // calls in tiles make many
  fit.trace = &trace;
  copy.fit(few, fit);
  MeasuredSplits chosen = train::choose_splits(train::layer_seconds(copy.network(), trace), stages);
  const int workers = copy.impl_->workers().workers_of(0);
  const double share = static_cast<double>(workers * ((few.size() + batch - 1) / batch));
  for (runtime::StageSeconds& stage : chosen.seconds) {
    stage.forward /= share;
    stage.backward /= share;
  }
  return chosen;
}

runtime::WorkerTeam& Model::Impl::workers() {
  if (team_ != nullptr) return *team_;
  const runtime::Topology topology = runtime::topology_of(job);
  const int threads = compile_options ? compile_options->execution.threads : 0;
  runtime::DeviceRequest request;
  if (strategy != nullptr) {
    if (threads > 0) {
      throw InvalidArgument("threads: expected 0 for a model made within a DeviceStrategy, got ",
                            threads, "; set cores_per_device of the strategy instead");
    }
    request = {strategy->devices, strategy->core_sets, strategy->cores_per_device};
  } else {
    const runtime::Placement place{.device_of_stage = pipelining.device_mapping};
    request.devices = network.stages() > 1 ? place.devices_per_replica(network.stages()) : 1;
    request.cores_per_device = threads;
  }
  runtime::TeamOptions team{.device_workers = {}};
  for (const runtime::DeviceCores& device : runtime::divide_machine(topology, request)) {
    team.device_workers.push_back(static_cast<int>(device.cores.size()));
    team.cores.insert(team.cores.end(), device.cores.begin(), device.cores.end());
    team.shares_cores = team.shares_cores || device.shared;
  }
  // Instances share cores too if there are more of them than cores to divide.
  if (job.core_shares > 1 && job.core_shares > runtime::query_topology().usable_cores()) {
    team.shares_cores = true;
  }
  // Fewer workers than cores are not pinned unless the user chose the cores: other processes may be
  // pinned to the same ones.
  const bool chosen = strategy != nullptr && !strategy->core_sets.empty();
  if (!chosen && team.cores.size() < topology.core_threads.size()) team.cores.clear();
  cores_beside_ = topology.usable_cores();
  for (const int workers : team.device_workers) cores_beside_ -= workers;
  threads_beside_.clear();
  if (!team.cores.empty()) threads_beside_ = runtime::threads_beside(topology, team.cores);
  team_ = std::make_unique<runtime::WorkerTeam>(team);
  return *team_;
}

PrefetchOptions Model::Impl::data_workers(int wanted, int ahead) {
  workers();
  const int own = std::max(std::min(cores_beside_, ahead), 1);
  return {.workers = wanted > 0 ? wanted : own, .cores = threads_beside_};
}

train::SliceDivision Model::Impl::division_of(int64_t batch, const ExecutionOptions& execution) {
  if (batch < 1 || batch > train::kMostBatch) {
    throw InvalidArgument("batch_size: expected 1 to ", train::kMostBatch, ", got ", batch);
  }
  return train::divide(batch, execution.slices > 0 ? execution.slices : workers().workers_of(0));
}

train::GraphRequest Model::Impl::graph_request(RunMode mode, int64_t slice_batch,
                                               const std::vector<Field>& fields) {
  train::GraphRequest request{.mode = mode,
                              .batch = slice_batch,
                              .fields = fields,
                              .frozen = frozen,
                              .test_time_flip = flips()};
  if (compile_options) {
    request.loss = &compile_options->loss;
    request.loss_weights = &compile_options->loss_weights;
    request.metrics = &compile_options->metrics;
    request.weighted_metrics = &compile_options->weighted_metrics;
  }
  return request;
}

std::vector<int> Model::Impl::deciding_weights(const std::vector<Field>& fields) {
  const CompileOptions& compiling = compiled();
  const std::vector<NetworkOutput>& outputs = running().outputs();
  std::vector<bool> counts;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto has = [&](const Metrics& metrics, const char* what) {
      const std::vector<Metric>* own = metrics.of(i, outputs, what);
      return own != nullptr && !own->empty();
    };
    counts.push_back(compiling.loss.of(i, outputs, "loss") != nullptr ||
                     has(compiling.metrics, "metrics") ||
                     has(compiling.weighted_metrics, "weighted_metrics"));
  }
  return train::wire(running(), fields).deciding_weights(counts);
}

Verification Model::Impl::verify(int64_t batch, const std::vector<Field>& fields) {
  const train::SliceDivision division = division_of(batch, compiled().execution);
  const auto build = [&](int64_t slice_batch) {
    return train::build_graph(running(), graph_request(RunMode::train, slice_batch, fields));
  };
  const runtime::VerificationTable table =
      runtime::verify_network_graph(build, {.slices = division.slices,
                                            .slice_batch = division.slice_batch,
                                            .division = division.division,
                                            .valid = batch,
                                            .precision = compiled().precision,
                                            .winograd = compiled().execution.winograd,
                                            .kernel_choices = &compiled().execution.kernel_choices,
                                            .scratch_limits = compiled().execution.scratch_limits,
                                            .half = compiled().half,
                                            .variables = &variables});
  return {table.ok(), runtime::to_text(table)};
}

train::LoadedProgram& Model::Impl::program(RunMode mode, int64_t batch,
                                           const std::vector<Field>& fields) {
  train::LoadedProgram& loaded = plan(mode, batch, fields);
  if (loaded.is_bound()) return loaded;
  write_dumps(mode, loaded);
  require({{.mode = mode, .batch_size = batch, .fields = fields, .prefetch_depth = 0}},
          "the program");
  loaded.bind(variables, workers(), mode == RunMode::train ? &compiled().optimizer : nullptr);
  return loaded;
}

train::LoadedProgram& Model::Impl::plan(RunMode mode, int64_t batch,
                                        const std::vector<Field>& fields) {
  const Network& described = running(mode, fields);  // also marks its size as used
  auto& loaded = programs_[{mode, batch, to_string(fields)}];
  if (loaded != nullptr) return *loaded;
  const bool predict = mode == RunMode::predict;
  const CompileOptions* chosen = predict && !compile_options ? nullptr : &compiled();
  const ExecutionOptions execution = chosen == nullptr ? ExecutionOptions{} : chosen->execution;
  runtime::Placement place = placement(mode);
  train::SliceDivision division = division_of(batch, execution);
  if (mode != RunMode::train && execution.slices == 0 && !pipelined(mode)) {
    const ir::Graph slice =
        train::build_graph(described, graph_request(mode, division.slice_batch, fields));
    train::check_sizes(slice, batch);
    division = train::fit_into_cache(division, batch, slice);
  }
  compiler::ProgramOptions compiling{.slices = division.slices,
                                     .division = division.division,
                                     .gathered_slices = division.slices * place.statistics_group,
                                     .pipelined = pipelined(mode),
                                     .stages = pipelined(mode) ? running().stages() : 1,
                                     .disabled_passes = execution.disabled_passes};
  if (chosen != nullptr) {
    compiling.precision = chosen->precision;
    compiling.half = chosen->half;
  }
  if (mode != RunMode::train) {
    compiling.half.stochastic_rounding = StochasticRounding::off;
  }
  if (execution.bucket_bytes > 0) compiling.bucket_bytes = execution.bucket_bytes;
  compiling.scratch_limits = execution.scratch_limits;
  compiling.winograd = execution.winograd;
  if (mode == RunMode::train) compiling.recomputation = pipelining.recomputation;
  std::vector<std::pair<std::string, std::string>> dumps;
  if (execution.dump_ir) {
    compiling.dump = [&](std::string_view pass, const ir::Graph& graph) {
      dumps.emplace_back(pass, ir::to_text(graph));
    };
  }
  if (place.stop_at_fp_exceptions) {
    // The processor's instructions for products of 16-bit numbers raise no exceptions.
    compiling.accept = [](const ir::Node&, const kernels::Candidate& candidate) {
      return !candidate.native();
    };
  }
  if (execution.reference_kernels) {
    compiling.accept = [](const ir::Node&, const kernels::Candidate&) { return false; };
  }
  const train::GraphRequest request = graph_request(mode, division.slice_batch, fields);
  ir::Graph graph = train::build_graph(described, request);
  train::check_sizes(graph, batch);
  const std::unique_ptr<runtime::Tuner> tuner = make_tuner(mode, division);
  if (mode == RunMode::train || chooses_like_training) {
    compiling.decide = [&](const compiler::TunableLayer& layer) {
      return decide(layer, tuner.get());
    };
  }
  place.feed_fields = train::feed_fields(described, graph, fields);
  place.samples_vary = !predict && !deciding_weights(fields).empty();
  auto program = compiler::compile(std::move(graph), std::move(compiling));
  if (tuner != nullptr) end_tuning(*tuner);
  if (mode == RunMode::train) note_unavailable_kernels(*program);
  check_memory(*program, place);
  std::vector<train::MetricColumn> columns;
  if (!predict) columns = train::metric_columns(described, request);
  loaded = std::make_unique<train::LoadedProgram>(std::move(program), std::move(place),
                                                  std::move(columns));
  loaded->dumps = std::move(dumps);
  return *loaded;
}

void Model::Impl::write_dumps(RunMode mode, train::LoadedProgram& loaded) {
  for (const auto& [pass, text] : std::exchange(loaded.dumps, {})) {
    compiled().execution.dump_ir(to_string(mode), pass, text);
  }
}

std::string Model::Impl::compile_report(int64_t batch, const std::vector<Field>& fields) {
  train::LoadedProgram& loaded = plan(RunMode::train, batch, fields);
  write_dumps(RunMode::train, loaded);
  return compiler::compile_report(loaded.program(), layer_names()) + memory_report(batch, fields);
}

std::vector<std::string> Model::Impl::layer_names() const {
  std::vector<std::string> names;
  for (const StageAssignment& call : network.stage_assignment()) {
    if (std::find(names.begin(), names.end(), call.layer) == names.end()) {
      names.push_back(call.layer);
    }
  }
  return names;
}

}  // namespace pando
