// SPDX-License-Identifier: MIT
#include "pando/train/model_impl.h"

#include <cstring>

#include "pando/base/error.h"
#include "pando/base/random.h"
#include "pando/ir/text.h"
#include "pando/runtime/topology.h"
#include "pando/runtime/verification.h"
#include "pando/store/assign.h"
#include "pando/store/weights_file.h"

namespace pando {

Model::Impl::Impl(Network network_in, ModelOptions options_in)
    : network(std::move(network_in)), options(std::move(options_in)) {
  size_t count = 0;
  for (const LayerInfo& layer : network.layers()) count += layer.weights.size();
  variables.reserve(count);
  for (const LayerInfo& layer : network.layers()) {
    for (const nn::WeightSpec& weight : layer.weights) {
      const std::string name = layer.name + "/" + weight.name;
      const uint64_t key = mix_keys(options.seed, hash_name(name));
      variables.add(name, weight.initializer.make(weight.shape, key), weight.moving_momentum);
    }
  }
}

CompileOptions& Model::Impl::compiled() {
  if (!compile_options) {
    throw InvalidArgument("model '", options.name, "' is not compiled; call compile() first");
  }
  return *compile_options;
}

void Model::Impl::compile(CompileOptions options_in) {
  const ExecutionOptions& execution = options_in.execution;
  if (execution.threads < 0)
    throw InvalidArgument("threads is ", execution.threads, ", wanted 0 or more");
  if (execution.slices < 0)
    throw InvalidArgument("slices is ", execution.slices, ", wanted 0 or more");
  if (options_in.steps_per_execution < 0) {
    throw InvalidArgument("steps_per_execution is ", options_in.steps_per_execution,
                          ", wanted 0 or more");
  }
  if (options_in.optimizer.rule == nullptr) throw InvalidArgument("compile() wants an optimizer");
  programs_.clear();
  team_.reset();
  variables.ensure_slots(0);  // a new optimizer starts with fresh slots
  iteration = 0;
  epochs = 0;
  compile_options = std::move(options_in);
}

void Model::Impl::drop_programs(train::Mode mode) {
  std::erase_if(programs_, [&](const auto& entry) { return std::get<0>(entry.first) == mode; });
}

runtime::WorkerTeam& Model::Impl::workers() {
  if (team_ == nullptr) {
    const runtime::Topology topology = runtime::query_topology();
    const int wanted = compile_options ? compile_options->execution.threads : 0;
    const int usable = topology.usable_cores();
    runtime::TeamOptions team{.workers = wanted > 0 ? wanted : usable};
    // Workers on all cores are pinned, one to each. Fewer are not: other processes may be pinned
    // to the same ones.
    if (team.workers == static_cast<int>(topology.core_threads.size())) {
      team.cores = topology.core_threads;
    }
    team_ = std::make_unique<runtime::WorkerTeam>(team);
  }
  return *team_;
}

train::SliceDivision Model::Impl::division_of(int64_t batch, const ExecutionOptions& execution) {
  if (batch < 1) throw InvalidArgument("batch_size is ", batch, ", wanted at least 1");
  return train::divide(batch, execution.slices > 0 ? execution.slices : workers().size());
}

train::GraphRequest Model::Impl::graph_request(train::Mode mode, int64_t slice_batch,
                                               const std::vector<Field>& fields) {
  train::GraphRequest request{
      .mode = mode, .batch = slice_batch, .fields = fields, .frozen = frozen};
  if (compile_options) {
    request.loss = &compile_options->loss;
    request.metrics = &compile_options->metrics;
  }
  return request;
}

Verification Model::Impl::verify(int64_t batch, const std::vector<Field>& fields) {
  const train::SliceDivision division = division_of(batch, compiled().execution);
  const auto build = [&](int64_t slice_batch) {
    return train::build_graph(network, graph_request(train::Mode::train, slice_batch, fields));
  };
  const runtime::VerificationTable table =
      runtime::verify_network_graph(build, {.slices = division.slices,
                                            .slice_batch = division.slice_batch,
                                            .division = division.division,
                                            .valid = batch,
                                            .variables = &variables});
  return {table.ok(), runtime::to_text(table)};
}

train::LoadedProgram& Model::Impl::program(train::Mode mode, int64_t batch,
                                           const std::vector<Field>& fields) {
  auto& loaded = programs_[{mode, batch, to_string(fields)}];
  if (loaded != nullptr) return *loaded;
  const bool predict = mode == train::Mode::predict;
  const CompileOptions* chosen = predict && !compile_options ? nullptr : &compiled();
  const ExecutionOptions execution = chosen == nullptr ? ExecutionOptions{} : chosen->execution;
  const train::SliceDivision division = division_of(batch, execution);
  compiler::CompileOptions compiling{.slices = division.slices,
                                     .division = division.division,
                                     .disabled_passes = execution.disabled_passes};
  if (execution.dump_ir) {
    compiling.dump = [&](std::string_view pass, const ir::Graph& graph) {
      execution.dump_ir(train::to_string(mode), pass, ir::to_text(graph));
    };
  }
  if (execution.reference_kernels) {
    compiling.accept = [](const ir::Node&, const kernels::Candidate&) { return false; };
  }
  const train::GraphRequest request = graph_request(mode, division.slice_batch, fields);
  auto program = compiler::compile(train::build_graph(network, request), std::move(compiling));
  const UpdateRule* rule = mode == train::Mode::train ? chosen->optimizer.rule.get() : nullptr;
  loaded = std::make_unique<train::LoadedProgram>(std::move(program), variables, workers(), rule);
  return *loaded;
}

// Values are overwritten in place: programs hold their addresses.
void Model::Impl::assign(runtime::Variable& variable, const Tensor& value) {
  std::memcpy(variable.value.data(), value.data(), value.bytes());
}

void Model::Impl::save_weights(const std::string& path) const {
  store::WeightsFile file;
  for (const LayerInfo& layer : network.layers()) {
    store::LayerWeights entry{.layer = layer.name};
    for (const nn::WeightSpec& weight : layer.weights) {
      entry.weights.push_back({weight.name, variables.get(layer.name + "/" + weight.name).value});
    }
    file.layers.push_back(std::move(entry));
  }
  store::write_weights_file(path, file);
}

LoadReport Model::Impl::load_weights(const std::string& path, const LoadOptions& load) {
  const store::WeightsFile file = store::read_weights_file(path);
  std::vector<store::ExpectedWeight> expected;
  for (const LayerInfo& layer : network.layers()) {
    for (const nn::WeightSpec& weight : layer.weights) {
      expected.push_back({layer.name, weight.name, weight.shape});
    }
  }
  const store::AssignOptions how = {
      .mode = load.by_name ? store::MatchMode::by_name : store::MatchMode::strict,
      .skip_mismatch = load.skip_mismatch};
  const store::Assignment plan = store::plan_assignment(expected, file, how);
  size_t loaded = 0;
  for (size_t i = 0; i < expected.size(); ++i) loaded += plan.sources[i] != nullptr ? 1 : 0;
  if (loaded == 0 && !expected.empty()) {
    throw InvalidArgument(path, ": no layer of the file goes to a layer of model '", options.name,
                          "'", plan.skipped.empty() ? "" : "; " + join(plan.skipped, "; "));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (plan.sources[i] == nullptr) continue;
    assign(variables.get(expected[i].layer + "/" + expected[i].name), *plan.sources[i]);
  }
  return {plan.skipped, plan.unused};
}

}  // namespace pando
