// Before:  | a = f(x)   b = g(a) | ... | db = b/grad(dy, b)   da = a/grad(db, a) |
// After:   | a = f(x)   b = g(a) | ... | a' = f(x)   b' = g(a')   db = b/grad(dy, b') ... |
// The copies use the same kernels on the same inputs, and random numbers are functions of the
// sample, so the results are the same to the bit. Then a and b are free after forward, unless a
// forward node still needs them.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <unordered_set>

#include "pando/base/error.h"
#include "pando/compiler/passes/copy_node.h"
#include "pando/compiler/passes/passes.h"
#include "pando/ops/op.h"

namespace pando::compiler {

namespace {

class Recomputer {
 public:
  explicit Recomputer(CompileState& state) : state_(state) {}

  bool run() {
    find_forward();
    find_kept();
    std::vector<ir::Node*> backward;
    for (const auto& node : state_.graph.nodes()) {
      if (!forward_.contains(node.get()) && !per_update(node.get())) backward.push_back(node.get());
    }
    for (ir::Node* node : backward) {
      const ir::Node* position = eager() ? first_of_section(backward, node) : node;
      for (int i = 0; i < node->num_inputs(); ++i) {
        node->set_input(i, again(node->input(i), node->stage(), position));
      }
    }
    if (copies_.empty()) return false;
    for (const auto& node : state_.graph.nodes()) alive_.insert(node.get());
    state_.graph.erase_dead_nodes();
    forget_erased();
    return true;
  }

 private:
  bool eager() const { return state_.options.recomputation == Recomputation::then_backward; }

  static bool per_update(const ir::Node* node) {
    return ops::has_trait(*node, ops::Trait::per_update);
  }

  void find_forward() {
    const auto backward = backward_nodes(state_.graph);
    for (const auto& node : state_.graph.nodes()) {
      last_stage_ = std::max(last_stage_, node->stage());
      if (!backward.contains(node.get()) && !per_update(node.get())) forward_.insert(node.get());
    }
  }

  // Marks values that are not recomputed: checkpoints with the values that they view, and the end
  // of the last stage.
  void find_kept() {
    const ir::Node* last_checkpoint = nullptr;
    for (const auto& node : state_.graph.nodes()) {
      if (node->op() != "checkpoint" || !forward_.contains(node.get())) continue;
      if (node->stage() == last_stage_) last_checkpoint = node.get();
      if (eager()) continue;
      for (const ir::Value* value = node->output();;) {
        kept_.insert(value);
        const ir::Node* producer = value->producer();
        if (producer == nullptr || !ops::has_trait(*producer, ops::Trait::view)) break;
        value = producer->input(0);
      }
    }
    bool ends = eager() || last_checkpoint == nullptr;
    for (const auto& node : state_.graph.nodes()) {
      if (node->stage() == last_stage_ && ends && forward_.contains(node.get())) {
        kept_.insert(node->outputs().begin(), node->outputs().end());
      }
      ends = ends || node.get() == last_checkpoint;
    }
  }

  const ir::Node* first_of_section(const std::vector<ir::Node*>& backward, const ir::Node* node) {
    const auto found = std::find_if(backward.begin(), backward.end(), [&](const ir::Node* other) {
      return other->stage() == node->stage();
    });
    return *found;
  }

  // The value that backward of `stage` has to read: `value` itself, or its copy before `position`.
  ir::Value* again(ir::Value* value, int stage, const ir::Node* position) {
    ir::Node* producer = value->producer();
    if (producer == nullptr || !forward_.contains(producer) || kept_.contains(value)) return value;
    if (producer->stage() != stage) return value;  // an input of the stage, which is held
    ir::Node*& copy = copies_[producer];
    if (copy == nullptr) copy = make_copy(producer, position);
    return copy->output(value->output_index());
  }

  ir::Node* make_copy(ir::Node* node, const ir::Node* position) {
    std::vector<ir::Value*> inputs;
    for (ir::Value* input : node->inputs()) {
      inputs.push_back(again(input, node->stage(), position));
    }
    return copy_before(state_, *node, position, std::move(inputs));
  }

  void forget_erased() {
    for (const auto& node : state_.graph.nodes()) alive_.erase(node.get());
    for (const ir::Node* node : alive_) {
      state_.kernels.erase(node);
      state_.section_of.erase(node);
    }
  }

  CompileState& state_;
  int last_stage_ = 0;
  std::unordered_set<const ir::Node*> forward_;
  std::unordered_set<const ir::Value*> kept_;
  std::unordered_map<const ir::Node*, ir::Node*> copies_;
  std::unordered_set<const ir::Node*> alive_;
};

}  // namespace

bool Recompute::run(CompileState& state) const {
  if (state.options.recomputation == Recomputation::none) return false;
  return Recomputer(state).run();
}

}  // namespace pando::compiler
