// Pooling, over windows and over whole pictures.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"
#include "pando/onnx/windows_impl.h"

namespace pando::onnx {
namespace {

// Zeros around the picture that count in the mean.
Computed with_border(Importer& importer, const NodeProto& node, const Computed& x,
                     const ir::Ints& pads) {
  const size_t axes = pads.size() / 2;
  ir::Ints low = {0}, high = {0};
  for (size_t i = 0; i < axes; ++i) {
    low.push_back(pads[i]);
    high.push_back(pads[axes + i]);
  }
  low.push_back(0);
  high.push_back(0);
  return importer.apply(
      node,
      {.class_name = "ZeroPadding", .op = "pad", .attributes = {{"low", low}, {"high", high}}},
      {x});
}

void import_pool(Importer& importer, const NodeProto& node) {
  const bool max = node.op_type == "MaxPool";
  const Value& value = importer.operand(node, 0);
  const std::vector<int64_t> dims = value.dims();
  if (dims.size() < 3 || dims.size() > 5 || !value.computed) {
    throw Unsupported(label(node), ": expected 1 to 3 spatial axes, got ", std::ssize(dims) - 2);
  }
  if (node.outputs.size() > 1) throw Unsupported(label(node), ": indices as a second result");
  WindowAttributes window = window_attributes(node, {dims.begin() + 2, dims.end()}, {});
  if (std::ranges::any_of(window.dilations, [](int64_t d) { return d != 1; })) {
    throw Unsupported(label(node), ": dilated pooling");
  }
  Computed x = importer.channels_last(value);
  const bool line = dims.size() == 3;
  if (line) {
    x = importer.reshaped(node, x, {1, x.shape[0], x.shape[1]});
    window.window.insert(window.window.begin(), 1);
    window.strides.insert(window.strides.begin(), 1);
    window.pads = {0, window.pads[0], 0, window.pads[1]};
  }
  const bool padded = std::ranges::any_of(window.pads, [](int64_t pad) { return pad != 0; });
  const int64_t ceil = int_attribute(node, "ceil_mode", 0);
  if (!max && padded && int_attribute(node, "count_include_pad", 0) != 0) {
    if (ceil != 0) throw Unsupported(label(node), ": ceil_mode with count_include_pad");
    x = with_border(importer, node, x, window.pads);
    window.pads.assign(window.pads.size(), 0);
  }
  const ir::Attributes attributes = {{"window", window.window},
                                     {"strides", window.strides},
                                     {"padding", std::string("explicit")},
                                     {"pads", window.pads},
                                     {"ceil_mode", ceil}};
  Computed y = importer.apply(
      node,
      {.class_name = concat(max ? "MaxPooling" : "AveragePooling", window.window.size(), "D"),
       .op = max ? "max_pool" : "avg_pool",
       .attributes = attributes,
       .outputs = max ? 2 : 1},
      {x});
  if (line) y = importer.reshaped(node, y, {y.shape[1], y.shape[2]});
  importer.give(node, y, channels_last_order(dims.size()));
}

// The spatial axes stay, with one element each.
void import_global_pool(Importer& importer, const NodeProto& node) {
  const bool max = node.op_type == "GlobalMaxPool";
  const Value& value = importer.operand(node, 0);
  if (!value.computed || value.order.size() < 3) {
    throw Unsupported(label(node), ": expected a picture");
  }
  const Computed y =
      importer.apply(node,
                     {.class_name = max ? "GlobalMaxPooling" : "GlobalAveragePooling",
                      .op = max ? "global_max_pool" : "global_avg_pool",
                      .outputs = max ? 2 : 1},
                     {importer.channels_last(value)});
  std::vector<int64_t> shape(value.order.size() - 1, 1);
  shape.back() = y.shape[0];
  importer.give(node, importer.reshaped(node, y, Shape(shape)),
                channels_last_order(value.order.size()));
}

}  // namespace

std::vector<OpImport> pool_imports() {
  return {{"MaxPool", import_pool},
          {"AveragePool", import_pool},
          {"GlobalAveragePool", import_global_pool},
          {"GlobalMaxPool", import_global_pool}};
}

}  // namespace pando::onnx
