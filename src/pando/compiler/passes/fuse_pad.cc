// Before:  p = pad(x) {low=[0,0,0,0], high=[0,1,1,0]}     y = conv(p, f) {strides=[2,2]}
// After:   y = conv(x, f) {padding="explicit", pads=[0,0,1,1], strides=[2,2]}
// Kernels of convolutions skip padding, so that the padded copy is not needed. Only graphs without
// a backward part change. The channels must not be padded, and all readers of the copy must be
// convolutions whose padding is smaller than their windows then, as kernels want it.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/compiler/passes/passes.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/window.h"

namespace pando::compiler {

namespace {

// The new pads of the convolution: low of all spatial axes, then high.
ir::Ints joined_pads(const ir::Node& pad, const ir::Node& conv) {
  const ir::Ints low = ops::ints_attribute(pad, "low");
  const ir::Ints high = ops::ints_attribute(pad, "high");
  const ops::Windows windows = ops::conv_windows(conv);
  ir::Ints pads;
  for (size_t i = 0; i < windows.size(); ++i) pads.push_back(low[i + 1] + windows[i].pad_low);
  for (size_t i = 0; i < windows.size(); ++i) pads.push_back(high[i + 1] + windows[i].pad_high);
  return pads;
}

bool can_pad(const ir::Node& pad, const ir::Node& conv) {
  if (conv.op() != "conv" || conv.stage() != pad.stage()) return false;
  if (std::count(conv.inputs().begin(), conv.inputs().end(), pad.output()) != 1) return false;
  if (conv.input(0) != pad.output()) return false;
  const ir::Ints pads = joined_pads(pad, conv);
  const ops::Windows windows = ops::conv_windows(conv);
  for (size_t i = 0; i < windows.size(); ++i) {
    if (pads[i] >= windows[i].span() || pads[i + windows.size()] >= windows[i].span()) return false;
  }
  return true;
}

bool is_fusable(const ir::Graph& graph, const ir::Node& pad) {
  if (pad.op() != "pad" || graph.is_output(pad.output())) return false;
  if (pad.input(0)->shape().back() != pad.output()->shape().back()) return false;
  const std::vector<ir::Node*> users = graph.users(pad.output());
  return !users.empty() &&
         std::ranges::all_of(users, [&](const ir::Node* user) { return can_pad(pad, *user); });
}

void move_into_readers(ir::Graph& graph, const ir::Node* pad) {
  for (ir::Node* conv : graph.users(pad->output())) {
    const ir::Ints pads = joined_pads(*pad, *conv);
    conv->attributes().set("padding", std::string("explicit"));
    conv->attributes().set("pads", pads);
    conv->set_input(0, pad->input(0));
  }
  graph.erase(pad);
}

}  // namespace

bool FusePad::run(CompileState& state) const {
  ir::Graph& graph = state.graph;
  if (!backward_nodes(graph).empty()) return false;
  std::vector<const ir::Node*> pads;
  for (const auto& node : graph.nodes()) {
    if (is_fusable(graph, *node)) pads.push_back(node.get());
  }
  for (const ir::Node* pad : pads) move_into_readers(graph, pad);
  return !pads.empty();
}

}  // namespace pando::compiler
