// Before:  c = conv(x, f, b) {activation=A}     y, i = max_pool(c) {window=W}
// After:   y, i = conv_pool(x, f, b) {activation=A, window=W}
// Applies only where it is faster: windows that do not overlap and are not padded, and no other
// node reads c. Then c is never written at full size.
// SPDX-License-Identifier: MIT
#include "pando/compiler/passes/passes.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/window.h"

namespace pando::compiler {

namespace {

bool is_fusable_pool(const ir::Graph& graph, const ir::Node& pool) {
  if (pool.op() != "max_pool") return false;
  const ir::Node* conv = pool.input(0)->producer();
  if (conv == nullptr || conv->op() != "conv" || conv->stage() != pool.stage()) return false;
  if (conv->num_inputs() > 3) return false;  // the kernels of conv_pool add no residual
  if (graph.users(conv->output()).size() != 1 || graph.is_output(conv->output())) return false;
  return ops::are_tiles(ops::pool_windows(pool));
}

}  // namespace

bool FuseConvPool::run(CompileState& state) const {
  // With half partials, partial sums must be rounded before pooling.
  if (state.options.precision.half() && state.options.half.half_partials) return false;
  ir::Graph& graph = state.graph;
  std::vector<ir::Node*> pools;
  for (const auto& node : graph.nodes()) {
    if (is_fusable_pool(graph, *node)) pools.push_back(node.get());
  }
  for (ir::Node* pool : pools) {
    const ir::Node* conv = pool->input(0)->producer();
    ir::Attributes attributes = conv->attributes();
    attributes.set("window", ops::ints_attribute(*pool, "window"));
    ir::Node* fused = graph.insert_before(pool, {.op = "conv_pool",
                                                 .inputs = conv->inputs(),
                                                 .outputs = 2,
                                                 .attributes = attributes,
                                                 .name = conv->name()});
    for (int i = 0; i < 2; ++i) {
      fused->output(i)->set_type(pool->output(i)->type());
      graph.replace_uses(pool->output(i), fused->output(i));
    }
    graph.erase(pool);
    graph.erase(conv);
  }
  return !pools.empty();
}

}  // namespace pando::compiler
