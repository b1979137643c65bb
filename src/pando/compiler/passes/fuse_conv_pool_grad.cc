// Before:  d = max_pool_grad(dy, i, y) {activation=A, window=W}
//          dx = conv_input_grad(d, f)     df, db = conv_filter_grad(x, d)
// After:   dx = conv_pool_input_grad(dy, i, f, y) {activation=A, window=W}
//          df, db = conv_pool_filter_grad(x, dy, i, y) {activation=A, window=W}
// d has the size of the convolution's result and is zero except for one element of each window.
// With windows of eight elements, as in volumes, this saves seven of eight products, and d itself.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "pando/compiler/passes/passes.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/window.h"

namespace pando::compiler {

namespace {

constexpr int64_t kLeastPositions = 8;  // for smaller windows the dense kernels are faster

bool all_ones(const ir::Ints& numbers) {
  return std::ranges::all_of(numbers, [](int64_t number) { return number == 1; });
}

// Whether `node` is a gradient of a convolution that is computed from `dy`.
bool takes(const ir::Node& node, const ir::Value* dy) {
  const bool of_input = node.op() == "conv_input_grad" && node.input(0) == dy;
  const bool of_filter = node.op() == "conv_filter_grad" && node.input(1) == dy;
  if (!of_input && !of_filter) return false;
  const ir::Value* x = of_input ? node.output() : node.input(0);
  const int64_t largest = x->shape().elements() / std::max<int64_t>(x->shape()[0], 1);
  return ops::int_attribute(node, "groups") == 1 &&
         all_ones(ops::ints_attribute(node, "strides")) &&
         all_ones(ops::ints_attribute(node, "dilations")) &&
         largest < std::numeric_limits<int32_t>::max();
}

bool is_fusable_scatter(const ir::Graph& graph, const ir::Node& scatter) {
  if (scatter.op() != "max_pool_grad") return false;
  const ops::Windows windows = ops::pool_windows(scatter);
  if (!ops::are_tiles(windows) || ops::positions(windows) < kLeastPositions) return false;
  if (graph.is_output(scatter.output())) return false;
  const auto users = graph.users(scatter.output());
  return !users.empty() && std::ranges::all_of(users, [&](const ir::Node* user) {
    return user->stage() == scatter.stage() && takes(*user, scatter.output());
  });
}

void replace(ir::Graph& graph, ir::Node* gradient, const ir::Node& scatter) {
  const bool of_input = gradient->op() == "conv_input_grad";
  ir::Attributes attributes = gradient->attributes();
  attributes.set("window", ops::ints_attribute(scatter, "window"));
  attributes.set("activation", ops::text_attribute(scatter, "activation"));
  if (scatter.attributes().has("alpha")) {
    attributes.set("alpha", ops::number_attribute(scatter, "alpha"));
  }
  std::vector<ir::Value*> inputs = {scatter.input(0), scatter.input(1)};
  if (of_input) {
    inputs.push_back(gradient->input(1));
  } else {
    inputs.insert(inputs.begin(), gradient->input(0));
  }
  if (scatter.num_inputs() > 2) inputs.push_back(scatter.input(2));
  ir::Node* fused = graph.insert_before(
      gradient, {.op = of_input ? "conv_pool_input_grad" : "conv_pool_filter_grad",
                 .inputs = std::move(inputs),
                 .outputs = gradient->num_outputs(),
                 .attributes = attributes,
                 .name = gradient->name()});
  for (int i = 0; i < gradient->num_outputs(); ++i) {
    fused->output(i)->set_type(gradient->output(i)->type());
    graph.replace_uses(gradient->output(i), fused->output(i));
  }
  graph.erase(gradient);
}

}  // namespace

bool FuseConvPoolGrad::run(CompileState& state) const {
  // Only the dense kernels support half partials. If scratch memory is limited, there are several
  // dense kernels to choose from but only one fused kernel, which needs as much scratch memory as
  // the gradient of the convolution's filter.
  const ProgramOptions& options = state.options;
  if (options.precision.half() && options.half.half_partials) return false;
  if (!options.scratch_limits.empty()) return false;
  ir::Graph& graph = state.graph;
  std::vector<ir::Node*> scatters;
  for (const auto& node : graph.nodes()) {
    if (is_fusable_scatter(graph, *node)) scatters.push_back(node.get());
  }
  for (ir::Node* scatter : scatters) {
    for (ir::Node* user : graph.users(scatter->output())) replace(graph, user, *scatter);
    graph.erase(scatter);
  }
  return !scatters.empty();
}

}  // namespace pando::compiler
