// SPDX-License-Identifier: MIT
#include "pando/estimator/autoshard.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/compiler/passes/passes.h"
#include "pando/ops/op.h"
#include "pando/train/programs.h"

namespace pando::estimator {

namespace {

// An edge at which a shard may begin.
struct Candidate {
  int first = 0;            // the call after the cut edge
  std::vector<bool> after;  // for each call, whether it is on the output's side
};

// The calls of a network and the edges between them. Auxiliary inputs are left out: each shard that
// needs one is fed with it.
class ForwardGraph {
 public:
  explicit ForwardGraph(const Network& network) {
    std::vector<SymbolicTensor> inputs;
    for (const NetworkInput& input : network.inputs()) {
      inputs.push_back(Input(input.shape, {.dtype = input.dtype}));
    }
    features_ = inputs[0].expression().get();
    visit(network(inputs));
    std::vector<std::string> listed;
    for (const StageAssignment& call : network.stage_assignment()) listed.push_back(call.layer);
    PANDO_CHECK(layers_ == listed, "expected the calls ", join(listed, ", "), ", got ",
                join(layers_, ", "));
  }

  std::vector<Candidate> candidates() const {
    std::vector<Candidate> found;
    const auto calls = static_cast<int>(inputs_.size());
    for (int call = 0; call < calls; ++call) {
      for (const int before : inputs_[static_cast<size_t>(call)]) {
        if (before == kFeatures) continue;  // the shard before would be empty
        Candidate candidate{call, reach(calls - 1, {before, call})};
        if (divides(candidate, before) && !shares_layer(candidate)) {
          found.push_back(std::move(candidate));
        }
      }
    }
    return found;
  }

 private:
  using Expression = SymbolicTensor::Expression;
  using Edge = std::pair<int, int>;
  static constexpr int kFeatures = -1;
  static constexpr int kAuxiliary = -2;

  // Numbers the calls in the same order as the network.
  int visit(const SymbolicTensor& tensor) {
    const Expression* expression = tensor.expression().get();
    if (expression == features_) return kFeatures;
    if (expression->layer == nullptr) return kAuxiliary;
    if (const auto found = calls_.find(expression); found != calls_.end()) return found->second;
    std::vector<int> inputs;
    for (const SymbolicTensor& input : expression->inputs) {
      if (const int call = visit(input); call != kAuxiliary) inputs.push_back(call);
    }
    inputs_.push_back(std::move(inputs));
    layers_.push_back(expression->layer_name);  // as the network calls it
    return calls_[expression] = static_cast<int>(inputs_.size()) - 1;
  }

  // The calls that are connected with `start`, in either direction, by edges other than `cut`. If
  // two edges connect the same calls, cutting them is not possible.
  std::vector<bool> reach(int start, const Edge& cut) const {
    std::vector<bool> reached(inputs_.size(), false);
    reached[static_cast<size_t>(start)] = true;
    bool grows = true;
    while (grows) {
      grows = false;
      // Goes backwards, since most calls are found against the direction of the edges.
      for (int call = static_cast<int>(inputs_.size()) - 1; call >= 0; --call) {
        grows = extend(call, cut, reached) || grows;
      }
    }
    return reached;
  }

  bool extend(int call, const Edge& cut, std::vector<bool>& reached) const {
    const std::vector<int>& inputs = inputs_[static_cast<size_t>(call)];
    const bool parallel = std::ranges::count(inputs, cut.first) > 1;
    bool grown = false;
    for (const int before : inputs) {
      if (before == kFeatures || (Edge{before, call} == cut && !parallel)) continue;
      const auto from = static_cast<size_t>(before), to = static_cast<size_t>(call);
      if (reached[from] == reached[to]) continue;
      reached[from] = reached[to] = true;
      grown = true;
    }
    return grown;
  }

  // Whether all readers of the features and the call before the edge are in the part without the
  // output.
  bool divides(const Candidate& candidate, int before) const {
    if (candidate.after[static_cast<size_t>(before)]) return false;
    bool found = false;
    for (size_t call = 0; call < inputs_.size(); ++call) {
      if (std::ranges::count(inputs_[call], kFeatures) == 0) continue;
      if (candidate.after[call]) return false;
      found = true;
    }
    return found;
  }

  bool shares_layer(const Candidate& candidate) const {
    std::map<std::string, bool> side;
    for (size_t call = 0; call < layers_.size(); ++call) {
      const auto [place, is_new] = side.emplace(layers_[call], candidate.after[call]);
      if (!is_new && place->second != candidate.after[call]) return true;
    }
    return false;
  }

  const Expression* features_ = nullptr;
  std::map<const Expression*, int> calls_;
  std::vector<std::vector<int>> inputs_;  // of each call
  std::vector<std::string> layers_;       // of each call
};

int64_t parameter_bytes(const LayerInfo& layer, const Optimizer& optimizer) {
  const size_t slots = optimizer.rule->slots().size();
  int64_t bytes = 0;
  for (const nn::WeightSpec& weight : layer.weights) {
    const int64_t copies = weight.is_state() ? 1 : 1 + static_cast<int64_t>(slots);
    bytes += copies * weight.shape.elements() * static_cast<int64_t>(sizeof(float));
  }
  return bytes;
}

// The value that owns the memory of a view.
const ir::Value* storage(const ir::Value* value) {
  while (value->producer() != nullptr && ops::has_trait(*value->producer(), ops::Trait::view)) {
    value = value->producer()->input(0);
  }
  return value;
}

// The training graph with one stage per call, so that the stage of a node tells its call.
ir::Graph staged_graph(const Network& network, const ShardRequest& request) {
  std::vector<StageAssignment> assignment = network.stage_assignment();
  for (size_t i = 0; i < assignment.size(); ++i) {
    assignment[i].pipeline_stage = static_cast<int>(i);
  }
  const Losses loss = request.loss;
  compiler::CompileState state;
  state.graph = train::build_graph(network.with_stages(assignment), {.mode = RunMode::train,
                                                                     .batch = request.batch,
                                                                     .fields = request.fields,
                                                                     .loss = &loss,
                                                                     .frozen = {}});
  // This is the only fusion that changes which values backward reads.
  compiler::FusePoolGrad().run(state);
  return std::move(state.graph);
}

// The memory of each call.
std::vector<ShardMemory> call_memory(const Network& network, const ShardRequest& request) {
  std::vector<ShardMemory> memory;
  std::set<std::string> seen;
  for (const StageAssignment& call : network.stage_assignment()) {
    ShardMemory& entry = memory.emplace_back();
    if (!seen.insert(call.layer).second) continue;  // shares the weights of an earlier call
    entry.parameters = parameter_bytes(network.layer(call.layer), request.optimizer);
  }
  const ir::Graph graph = staged_graph(network, request);
  const auto backward = compiler::backward_nodes(graph);
  std::unordered_set<const ir::Value*> counted;
  for (const ir::Node* node : backward) {
    for (const ir::Value* input : node->inputs()) {
      const ir::Value* value = storage(input);
      const ir::Node* maker = value->producer();
      if (maker == nullptr || backward.contains(maker) || !counted.insert(value).second) continue;
      memory[static_cast<size_t>(maker->stage())].activations +=
          static_cast<int64_t>(value->bytes());
    }
  }
  return memory;
}

void check_request(const Network& network, const ShardRequest& request) {
  if (request.shards < 1) {
    throw InvalidArgument("autosharding: expected at least 1 shard, got ", request.shards);
  }
  for (const StageAssignment& call : network.stage_assignment()) {
    if (call.pipeline_stage < 0) continue;
    throw InvalidArgument("autosharding: the network already has stages (layer '", call.layer,
                          "' is in stage ", call.pipeline_stage,
                          "); remove the stages or switch off autosharding");
  }
}

void check_candidates(const std::vector<std::string>& starts, int shards) {
  if (starts.size() + 1 >= static_cast<size_t>(shards)) return;
  const std::string where =
      starts.empty() ? "no cut is possible" : concat("cuts before ", join(starts, ", "));
  throw InvalidArgument("autosharding: cannot cut the network into ", shards,
                        " shards, only into at most ", starts.size() + 1, " (", where,
                        "); a cut is an edge that all paths from input to output take and that "
                        "has no shared layer on both sides; use num_shards ",
                        starts.size() + 1, " or less");
}

}  // namespace

Sharding choose_shards(const Network& network, const ShardRequest& request) {
  check_request(network, request);
  const std::vector<StageAssignment> calls = network.stage_assignment();
  const std::vector<Candidate> candidates = ForwardGraph(network).candidates();
  std::vector<std::string> starts;
  for (const Candidate& candidate : candidates) {
    starts.push_back(calls[static_cast<size_t>(candidate.first)].layer);
  }
  check_candidates(starts, request.shards);

  // Calls between two neighbouring candidates cannot be divided.
  std::vector<size_t> piece_of(calls.size(), 0);
  std::vector<int64_t> costs(candidates.size() + 1, 0);
  const std::vector<ShardMemory> memory = call_memory(network, request);
  for (size_t call = 0; call < calls.size(); ++call) {
    for (const Candidate& candidate : candidates) piece_of[call] += candidate.after[call] ? 1 : 0;
    costs[piece_of[call]] += memory[call].total();
  }
  const std::vector<int> cuts = choose_cuts(costs, request.shards);
  Sharding result;
  result.memory.resize(static_cast<size_t>(request.shards));
  for (const int cut : cuts) result.first_layers.push_back(starts[static_cast<size_t>(cut) - 1]);
  for (size_t call = 0; call < calls.size(); ++call) {
    const auto piece = static_cast<int>(piece_of[call]);
    const auto at = std::ranges::count_if(cuts, [&](int cut) { return cut <= piece; });
    result.shard_of.push_back(static_cast<int>(at));
    result.memory[static_cast<size_t>(at)].parameters += memory[call].parameters;
    result.memory[static_cast<size_t>(at)].activations += memory[call].activations;
  }
  return result;
}

std::string to_text(const Sharding& sharding) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < sharding.memory.size(); ++i) {
    const std::string begin = i == 0 ? "the input" : "'" + sharding.first_layers[i - 1] + "'";
    parts.push_back(concat(i, " from ", begin, " (",
                           human_bytes(static_cast<double>(sharding.memory[i].total())), ")"));
  }
  return concat("autosharding: shard ", join(parts, ", shard "));
}

Network shard(const Network& network, const Sharding& sharding) {
  if (sharding.memory.size() == 1) return network;
  std::vector<StageAssignment> assignment = network.stage_assignment();
  for (size_t i = 0; i < assignment.size(); ++i) {
    assignment[i].pipeline_stage = sharding.shard_of[i];
  }
  return network.with_stages(assignment);
}

}  // namespace pando::estimator
