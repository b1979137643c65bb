// Before:  a = scale(x) {factor=m}     b = scale(a) {offset=o}
// After:   b = scale(x) {factor=m, offset=o}
//
// Before:  c = conv(x, f, b)     y = scale(c) {factor=m, offset=o}
// After:   g, s = fold_scale(f, b) {factor=m, offset=o}     y = conv(x, g, s)
//
// Before:  a = scale(x) {factor=m, offset=o}     y = conv(a, f, b)
// After:   g, s = fold_scale(f, b) {factor=m, offset=o, of="input"}     y = conv(x, g, s)
//
// The same for every op with Trait::linear_filter in place of conv. In front of a convolution that
// pads, only a scale without an offset: padding is 0 behind the scale. Only graphs without a
// backward part change. Networks with learned numbers around their activations have such chains.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/compiler/passes/passes.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/op.h"
#include "pando/ops/window.h"

namespace pando::compiler {

namespace {

struct Line {
  double factor = 1;
  double offset = 0;
};

Line line_of(const ir::Node& scale) {
  return {ops::number_attribute(scale, "factor"), ops::number_attribute(scale, "offset")};
}

bool has_one_reader(const ir::Graph& graph, const ir::Node& node) {
  return graph.users(node.output()).size() == 1 && !graph.is_output(node.output());
}

bool is_constant_weight(const ir::Value* value) {
  if (value->is_input()) return value->role() != ir::InputRole::feed;
  return ops::has_trait(*value->producer(), ops::Trait::per_update);
}

// Whether filter and bias of a node may be replaced by folded ones.
bool has_filter(const ir::Node* node) {
  if (node == nullptr || !ops::has_trait(*node, ops::Trait::linear_filter)) return false;
  if (node->num_inputs() > 3) return false;
  return std::all_of(node->inputs().begin() + 1, node->inputs().end(), is_constant_weight);
}

bool pads(const ir::Node& node) {
  if (node.op() != "conv") return false;
  return std::ranges::any_of(ops::conv_windows(node), [](const ops::WindowAxis& axis) {
    return axis.pad_low > 0 || axis.pad_high > 0;
  });
}

bool folds_into_producer(const ir::Graph& graph, const ir::Node& scale) {
  const ir::Node* host = scale.input(0)->producer();
  return has_filter(host) && ops::text_attribute(*host, "activation") == "none" &&
         host->stage() == scale.stage() && has_one_reader(graph, *host);
}

bool folds_into_reader(const ir::Graph& graph, const ir::Node& scale) {
  if (!has_one_reader(graph, scale)) return false;
  const ir::Node* host = graph.users(scale.output())[0];
  if (!has_filter(host) || host->input(0) != scale.output()) return false;
  return host->stage() == scale.stage() && (line_of(scale).offset == 0 || !pads(*host));
}

void fold_into(ir::Graph& graph, ir::Node* host, const ir::Node* scale, const char* of) {
  std::vector<ir::Value*> inputs(host->inputs().begin() + 1, host->inputs().end());
  const Line line = line_of(*scale);
  ir::Attributes attributes = {{"factor", line.factor}, {"offset", line.offset}};
  attributes.set("of", std::string(of));
  ir::Node* folded = graph.insert_before(host, {.op = "fold_scale",
                                                .inputs = std::move(inputs),
                                                .outputs = 2,
                                                .attributes = std::move(attributes),
                                                .name = scale->name()});
  const Shape& filter = host->input(1)->shape();
  folded->output(0)->set_type(host->input(1)->type());
  folded->output(1)->set_type({DType::f32, {filter.back()}});
  host->set_input(1, folded->output(0));
  if (host->num_inputs() > 2) {
    host->set_input(2, folded->output(1));
  } else {
    host->add_input(folded->output(1));
  }
}

// The second of two scales computes both.
void join_scales(ir::Graph& graph, ir::Node* second) {
  const ir::Node* first = second->input(0)->producer();
  const Line inner = line_of(*first);
  const Line outer = line_of(*second);
  second->attributes().set("factor", inner.factor * outer.factor);
  second->attributes().set("offset", inner.offset * outer.factor + outer.offset);
  second->set_input(0, first->input(0));
  graph.erase(first);
}

bool is_second_scale(const ir::Graph& graph, const ir::Node& scale) {
  const ir::Node* first = scale.input(0)->producer();
  return first != nullptr && first->op() == "scale" && first->stage() == scale.stage() &&
         has_one_reader(graph, *first);
}

std::vector<ir::Node*> scales_of(const ir::Graph& graph) {
  std::vector<ir::Node*> scales;
  for (const auto& node : graph.nodes()) {
    if (node->op() == "scale") scales.push_back(node.get());
  }
  return scales;
}

}  // namespace

bool FoldScale::run(CompileState& state) const {
  ir::Graph& graph = state.graph;
  if (!backward_nodes(graph).empty()) return false;
  bool changed = false;
  for (ir::Node* scale : scales_of(graph)) {
    if (!is_second_scale(graph, *scale)) continue;
    join_scales(graph, scale);
    changed = true;
  }
  for (ir::Node* scale : scales_of(graph)) {
    if (folds_into_producer(graph, *scale)) {
      ir::Node* host = scale->input(0)->producer();
      fold_into(graph, host, scale, "result");
      graph.replace_uses(scale->output(), host->output());
    } else if (folds_into_reader(graph, *scale)) {
      ir::Node* host = graph.users(scale->output())[0];
      fold_into(graph, host, scale, "input");
      host->set_input(0, scale->input(0));
    } else {
      continue;
    }
    graph.erase(scale);
    changed = true;
  }
  return changed;
}

}  // namespace pando::compiler
