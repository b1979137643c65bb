// SPDX-License-Identifier: MIT
#include "pando/compiler/compilation_report.h"

#include <algorithm>
#include <map>

#include "pando/base/error.h"
#include "pando/compiler/layer_names.h"
#include "pando/ops/flops.h"
#include "pando/ops/op.h"

namespace pando::compiler {

namespace {

StepPart part_of(const Program& program, const Call& call) {
  if (call.section < 0) return StepPart::prologue;
  // Without a pipeline a step is one section; recomputed nodes of a backward section are backward.
  const bool backward = program.sections()[static_cast<size_t>(call.section)].backward ||
                        LayerNames::is_backward(call.node->name());
  return backward ? StepPart::backward : StepPart::forward;
}

void add_decision(OpReport& report, const KernelChoice& choice) {
  const KernelDecision& decision = *choice.decision;
  const bool is_used = decision.candidate == choice.candidate;
  if (decision.times.empty() && is_used) report.given = decision.candidate;
  report.timed = decision.times;
  std::stable_partition(report.timed.begin(), report.timed.end(), [&](const KernelTime& time) {
    return time.candidate == decision.candidate;
  });
}

OpReport op_report(const Program& program, int index, const LayerNames& layers) {
  const Call& call = program.calls()[static_cast<size_t>(index)];
  const KernelChoice& choice = program.choice(call.node);
  OpReport report{.call = index,
                  .op = call.node->op(),
                  .name = call.node->name(),
                  .layer = layers.name_of(call.node->name()),
                  .kernel = call.kernel->name(),
                  .result = ir::to_string(call.node->output()->type()),
                  .refusals = choice.refusals,
                  .part = part_of(program, call),
                  .stage = call.node->stage(),
                  .tiles = call.tiles,
                  .flops = ops::flops(*call.node)};
  if (choice.decision) add_decision(report, choice);
  report.slow = choice.candidate == "reference" && kernels::candidates(call.node->op()).size() > 1;
  const size_t readers =
      call.gathers_slices
          ? static_cast<size_t>(std::max(program.slices(), program.options().gathered_slices))
          : 1;
  for (int i = 0; i < call.node->num_inputs(); ++i) {
    const ir::Value* value = call.node->input(i);
    report.bytes_read += value->bytes() * readers;
    if (value->layout().plain()) continue;
    report.layouts.push_back(concat(ops::input_name(*call.node, i), " as ", value->layout().name));
  }
  for (const ir::Value* value : call.node->outputs()) report.bytes_written += value->bytes();
  return report;
}

// Sums over layers, found by name.
class LayerSums {
 public:
  LayerReport& of(const std::string& layer, int stage) {
    const auto [place, is_new] = index_.emplace(layer, rows_.size());
    if (is_new) rows_.push_back({.layer = layer, .stage = stage});
    return rows_[place->second];
  }
  std::vector<LayerReport> take() { return std::move(rows_); }

 private:
  std::map<std::string, size_t> index_;
  std::vector<LayerReport> rows_;
};

void add_op(LayerSums& sums, const OpReport& op) {
  LayerReport& layer = sums.of(op.layer, op.stage);
  ++layer.ops;
  (op.part == StepPart::backward ? layer.backward_flops : layer.forward_flops) += op.flops;
  layer.bytes_moved += op.bytes_read + op.bytes_written;
}

void add_weights(LayerSums& sums, const Program& program, const LayerNames& layers) {
  for (const ir::Value* value : program.graph().inputs()) {
    if (value->role() == ir::InputRole::feed) continue;
    LayerReport& layer = sums.of(layers.name_of(value->name()), 0);
    layer.weight_bytes += value->bytes();
    if (value->role() == ir::InputRole::variable) layer.weights += value->shape().elements();
  }
}

// Values that forward writes and backward reads count for the layer that wrote them.
void add_kept(LayerSums& sums, const CompilationReport& report, const LayerNames& layers) {
  for (const MemoryBlock& block : report.memory.blocks) {
    const bool activations =
        block.region == Region::activations || block.region == Region::held_activations;
    if (!activations || block.last < 0) continue;
    const bool written =
        block.first < 0 || report.ops[static_cast<size_t>(block.first)].part == StepPart::forward;
    const bool read = report.ops[static_cast<size_t>(block.last)].part == StepPart::backward;
    if (!written || !read) continue;
    const ir::Node* producer = block.values.front()->producer();
    const std::string owner = producer == nullptr ? "fed " + block.values.front()->name()
                                                  : layers.name_of(producer->name());
    sums.of(owner, block.stage).kept_bytes += block.bytes;
  }
}

AlwaysLive always_live(const Program& program) {
  const MemoryPlan& plan = program.memory();
  AlwaysLive bytes{.packed = plan.packed_bytes};
  for (const ir::Value* value : program.graph().inputs()) {
    if (value->role() != ir::InputRole::feed) bytes.weights += value->bytes();
  }
  for (const StageMemory& stage : plan.stages) {
    bytes.gradients += stage.gradients;
    bytes.statistics += stage.moments;
    bytes.held += stage.held_activations + stage.held_sums;
  }
  return bytes;
}

}  // namespace

std::string to_string(StepPart part) {
  switch (part) {
    case StepPart::prologue: return "prologue";
    case StepPart::forward: return "forward";
    case StepPart::backward: return "backward";
  }
  PANDO_CHECK(false, static_cast<int>(part));
}

double CompilationReport::flops(StepPart part) const {
  double sum = 0;
  for (const OpReport& op : ops) sum += op.part == part ? op.flops : 0;
  return sum / static_cast<double>(slice_batch);
}

CompilationReport compilation_report(const Program& program,
                                     const std::vector<std::string>& layers) {
  const LayerNames names(layers);
  CompilationReport report{
      .program = &program, .memory = memory_map(program), .always_live = always_live(program)};
  for (const ir::Value* value : program.graph().inputs()) {
    if (value->role() != ir::InputRole::feed || value->shape().rank() == 0) continue;
    report.slice_batch = std::max<int64_t>(value->shape()[0], 1);
  }
  LayerSums sums;
  for (int i = 0; i < static_cast<int>(program.calls().size()); ++i) {
    report.ops.push_back(op_report(program, i, names));
    if (report.ops.back().part != StepPart::prologue) add_op(sums, report.ops.back());
  }
  add_weights(sums, program, names);
  add_kept(sums, report, names);
  report.layers = sums.take();
  // Fusion and backward change the order, so sort by layer; rows of no layer come last.
  const auto order = [&](const LayerReport& layer) {
    const int number = names.find(layer.layer);
    return number < 0 ? static_cast<int>(layers.size()) : number;
  };
  std::stable_sort(report.layers.begin(), report.layers.end(),
                   [&](const LayerReport& a, const LayerReport& b) { return order(a) < order(b); });
  return report;
}

}  // namespace pando::compiler
