// SPDX-License-Identifier: MIT
#include "pando/train/predictor_programs.h"

#include <optional>
#include <string>
#include <utility>

#include "pando/base/error.h"
#include "pando/train/programs.h"

namespace pando::train {

namespace {

// The candidate that computes each node.
using ChosenKernels = std::vector<std::pair<std::string, std::string>>;

ChosenKernels chosen_kernels(const compiler::Program& program) {
  ChosenKernels chosen;
  for (const compiler::Call& call : program.calls()) {
    chosen.emplace_back(call.node->label(), program.choice(call.node).candidate);
  }
  return chosen;
}

// Nothing if the network takes one sample only, as imported ones may that reshape to fixed extents.
std::optional<ir::Graph> graph_for(const PredictorPlan& plan, int64_t size) {
  try {
    ir::Graph graph = build_graph(plan.network, {.mode = RunMode::predict,
                                                 .batch = size,
                                                 .fields = plan.fields,
                                                 .test_time_flip = plan.test_time_flip});
    check_sizes(graph, size);
    return graph;
  } catch (const InvalidArgument&) {
    if (size == 1) throw;
    return std::nullopt;
  }
}

}  // namespace

std::vector<int64_t> powers_of_two(int64_t most) {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= most; size *= 2) sizes.push_back(size);
  return sizes;
}

std::vector<runtime::InferenceProgram> make_predictor_programs(
    const PredictorPlan& plan, int64_t most, int parts, const runtime::VariableStore& variables,
    runtime::FrozenWeights& weights) {
  std::vector<runtime::InferenceProgram> programs;
  ChosenKernels first;
  for (const int64_t size : powers_of_two(most)) {
    std::optional<ir::Graph> graph = graph_for(plan, size);
    if (!graph || (size > 1 && samples_in_cache(*graph, size) < size)) break;
    compiler::ProgramOptions compiling = plan.compiling;
    compiling.slices = parts;
    compiling.gathered_slices = parts;
    compiling.division = parts == 1 ? compiler::Division::batch : compiler::Division::parts;
    auto program = compiler::compile(std::move(*graph), std::move(compiling));
    // Other kernels might round differently, so the answer would depend on the batch.
    ChosenKernels chosen = chosen_kernels(*program);
    if (size == 1) {
      first = std::move(chosen);
    } else if (chosen != first) {
      break;
    }
    runtime::WeightAddresses addresses = weights.add(*program, variables);
    programs.push_back({std::move(program), std::move(addresses)});
  }
  return programs;
}

}  // namespace pando::train
