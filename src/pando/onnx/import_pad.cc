// Borders around a value.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {
namespace {

// An attribute in early opsets and an operand since.
std::vector<int64_t> pad_list(const Importer& importer, const NodeProto& node) {
  if (!importer.has(node, 1)) return ints_attribute(node, "pads");
  return importer.need(node, 1, "pads").ints;
}

ir::Ints whole_size(const Shape& shape) {
  ir::Ints dims = {1};
  dims.insert(dims.end(), shape.begin(), shape.end());
  return dims;
}

// The pads of a node, in front and behind, for each axis of a value.
struct Pads {
  ir::Ints low;
  ir::Ints high;
};

Pads pads_of(const Importer& importer, const NodeProto& node, const Value& value) {
  const std::vector<int64_t> pads = pad_list(importer, node);
  const auto rank = std::ssize(value.order);
  std::vector<int64_t> axes;
  if (importer.has(node, 3)) axes = importer.need(node, 3, "the axes").ints;
  const bool all = axes.empty();
  for (int64_t i = 0; all && i < rank - importer.lead(); ++i) axes.push_back(i);
  if (pads.size() != 2 * axes.size()) {
    throw InvalidArgument(label(node), ": expected ", 2 * axes.size(), " pads, got ", pads.size());
  }
  Pads found{ir::Ints(value.order.size(), 0), ir::Ints(value.order.size(), 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = importer.axis(node, axes[i], rank);
    const auto at = static_cast<size_t>(std::ranges::find(value.order, axis) - value.order.begin());
    found.low[at] = pads[i];
    found.high[at] = pads[axes.size() + i];
    constexpr int64_t kMostPad = 1 << 20;
    for (const int64_t pad : {pads[i], pads[axes.size() + i]}) {
      if (pad >= -kMostPad && pad <= kMostPad) continue;
      throw Unsupported(label(node), ": pads: expected at most ", kMostPad, ", got ", pad);
    }
    if (axis == value.order[0] && (pads[i] != 0 || pads[axes.size() + i] != 0)) {
      throw Unsupported(label(node), ": pads of samples");
    }
  }
  return found;
}

// The element at position `i`, which may be outside of the axis.
int64_t mirrored(int64_t i, int64_t extent, const std::string& mode) {
  if (mode == "edge") return std::clamp<int64_t>(i, 0, extent - 1);
  if (mode == "wrap") return ((i % extent) + extent) % extent;
  const int64_t period = std::max<int64_t>(2 * (extent - 1), 1);
  const int64_t place = ((i % period) + period) % period;
  return place < extent ? place : period - place;
}

Computed padded_by_own(Importer& importer, const NodeProto& node, Computed x, const Pads& pads,
                       const std::string& mode) {
  for (size_t at = 1; at < pads.low.size(); ++at) {
    if (pads.low[at] == 0 && pads.high[at] == 0) continue;
    const int64_t extent = x.shape[static_cast<int>(at) - 1];
    ir::Ints indices;
    for (int64_t i = -pads.low[at]; i < extent + pads.high[at]; ++i) {
      indices.push_back(mirrored(i, extent, mode));
    }
    x = importer.step(node, "pick", {{"axis", static_cast<int64_t>(at)}, {"indices", indices}},
                      {x});
  }
  return x;
}

// Negative pads cut elements off.
Computed cut_by_pads(Importer& importer, const NodeProto& node, const Computed& x, Pads& pads) {
  ir::Ints size = whole_size(x.shape), begin(size.size(), 0);
  const ir::Ints strides(size.size(), 1);
  bool cuts = false;
  for (size_t at = 1; at < size.size(); ++at) {
    begin[at] = std::max<int64_t>(-pads.low[at], 0);
    const int64_t behind = std::max<int64_t>(-pads.high[at], 0);
    size[at] -= begin[at] + behind;
    cuts = cuts || begin[at] > 0 || behind > 0;
    pads.low[at] = std::max<int64_t>(pads.low[at], 0);
    pads.high[at] = std::max<int64_t>(pads.high[at], 0);
    if (size[at] < 1) throw InvalidArgument(label(node), ": the pads leave nothing");
  }
  if (!cuts) return x;
  return importer.step(node, "slice", {{"begin", begin}, {"size", size}, {"strides", strides}},
                       {x});
}

// `number` outside of the elements, 0 inside.
Computed border_of(Importer& importer, const NodeProto& node, const Computed& inside,
                   const Pads& pads, double number) {
  Constant border;
  border.dims = {1};
  for (size_t at = 1; at < pads.low.size(); ++at) {
    border.dims.push_back(inside.shape[static_cast<int>(at) - 1] + pads.low[at] + pads.high[at]);
  }
  const int64_t count = Shape(border.dims).elements();
  if (count > kMostFoldedElements)
    throw Unsupported(label(node), ": a border of ", count, " elements");
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    bool is_outside = false;
    for (size_t at = border.dims.size(); at-- > 1;) {
      const int64_t place = rest % border.dims[at] - pads.low[at];
      rest /= border.dims[at];
      is_outside = is_outside || place < 0 || place >= inside.shape[static_cast<int>(at) - 1];
    }
    border.reals.push_back(is_outside ? static_cast<float>(number) : 0);
  }
  return importer.spread(node, border, plain_order(border.dims.size()), false);
}

void import_pad(Importer& importer, const NodeProto& node) {
  const std::string mode = text_attribute(node, "mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    throw Unsupported(label(node), ": mode ", mode);
  }
  const double number = importer.has(node, 2) ? importer.need(node, 2, "the value").number(0)
                                              : real_attribute(node, "value", 0);
  const Value& value = importer.computed_operand(node);
  const Order order = value.order;
  Pads pads = pads_of(importer, node, value);
  Computed x = value.flattened ? importer.plain(value) : *value.computed;
  x = cut_by_pads(importer, node, x, pads);
  if (mode != "constant") {
    return importer.give(node, padded_by_own(importer, node, x, pads, mode), order);
  }
  const OpLayer zeros{.class_name = "ZeroPadding",
                      .op = "pad",
                      .attributes = {{"low", pads.low}, {"high", pads.high}}};
  Computed y = importer.apply(node, zeros, {x});
  if (number != 0) {
    y = importer.step(node, "add", {}, {y, border_of(importer, node, x, pads, number)});
  }
  importer.give(node, y, order);
}

}  // namespace

std::vector<OpImport> pad_imports() { return {{"Pad", import_pad}}; }

}  // namespace pando::onnx
