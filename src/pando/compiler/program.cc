// SPDX-License-Identifier: MIT
#include "pando/compiler/program.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "pando/base/error.h"
#include "pando/compiler/passes/passes.h"
#include "pando/ops/op.h"

namespace pando::compiler {

namespace {

// What a chain of views shows.
const ir::Value* viewed(const ir::Value* value) {
  while (!value->is_input() && ops::has_trait(*value->producer(), ops::Trait::view)) {
    value = value->producer()->input(0);
  }
  return value;
}

}  // namespace

Operand Program::operand(const ir::Value* value) const {
  const auto place = state_.memory.places.find(value);
  if (place != state_.memory.places.end()) return {place->second, value};
  PANDO_CHECK(value->is_input(), "value '", value->name(), "' has no place");
  return {{Region::external, 0}, value};
}

size_t Program::activation_blocks(int workers) const {
  if (in_parts()) return 1;
  return static_cast<size_t>(depth_first() ? std::min(slices(), workers) : slices());
}

void Program::build_calls() {
  for (const auto& node : state_.graph.nodes()) {
    if (ops::has_trait(*node, ops::Trait::view)) continue;
    Call call{.node = node.get(), .kernel = state_.kernels.at(node.get()).kernel.get()};
    for (const ir::Value* value : node->inputs()) call.inputs.push_back(operand(value));
    for (const ir::Value* value : node->outputs()) call.outputs.push_back(operand(value));
    call.gathers_slices = ops::has_trait(*node, ops::Trait::gathers_slices);
    scratch_bytes_ = std::max(scratch_bytes_, call.kernel->scratch_bytes());
    calls_.push_back(std::move(call));
  }
}

// With batch slices a new segment begins only where a call reads from other slices what this
// segment made; with parts any call may read what another part wrote, so each is a segment.
void Program::build_segments() {
  segments_.emplace_back();
  std::unordered_set<const ir::Value*> made_here;
  for (int i = 0; i < static_cast<int>(calls_.size()); ++i) {
    const Call& call = calls_[static_cast<size_t>(i)];
    if (ops::has_trait(*call.node, ops::Trait::per_update)) {
      prologue_.push_back(i);
      continue;
    }
    const auto& inputs = call.node->inputs();
    const bool gathers_new = call.gathers_slices &&
                             std::any_of(inputs.begin(), inputs.end(), [&](const ir::Value* value) {
                               return made_here.contains(viewed(value));
                             });
    if (slices() > 1 && !segments_.back().calls.empty() && (in_parts() || gathers_new)) {
      segments_.emplace_back();
      made_here.clear();
    }
    segments_.back().calls.push_back(i);
    made_here.insert(call.node->outputs().begin(), call.node->outputs().end());
  }
}

std::unique_ptr<const Program> compile(ir::Graph graph, CompileOptions options) {
  if (options.slices < 1)
    throw InvalidArgument("slices is ", options.slices, ", wanted at least 1");
  auto program = std::make_unique<Program>();
  program->state_.graph = std::move(graph);
  program->state_.options = std::move(options);
  program->passes_ = default_pipeline().run(program->state_);
  if (program->options().disabled_passes.contains("plan-memory")) {
    program->state_.memory = plan_without_sharing(program->state_);
  }
  program->build_calls();
  program->build_segments();
  return program;
}

}  // namespace pando::compiler
