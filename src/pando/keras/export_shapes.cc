// Shapes, joins, cuts and borders.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/keras/exporter_impl.h"

namespace pando::keras {
namespace {

ir::Ints sample_of(const Shape& shape) { return {shape.begin() + 1, shape.end()}; }

void export_reshape(Exporter& exporter, const ir::Node& node) {
  const Shape& shape = node.output()->shape();
  if (shape.rank() == 2) {
    return exporter.emit(node,
                         {.class_name = "Flatten", .config = {{"data_format", "channels_last"}}});
  }
  exporter.emit(node, {.class_name = "Reshape", .config = {{"target_shape", sample_of(shape)}}});
}

void export_transpose(Exporter& exporter, const ir::Node& node) {
  ir::Ints dims = node.attributes().get_ints("perm");
  dims.erase(dims.begin());
  exporter.emit(node, {.class_name = "Permute", .config = {{"dims", dims}}});
}

void export_concat(Exporter& exporter, const ir::Node& node) {
  std::vector<const ir::Value*> inputs(node.inputs().begin(), node.inputs().end());
  for (const ir::Value* input : inputs) {
    if (exporter.is_weight(input)) return exporter.refuse(node, "one of its inputs is a weight");
  }
  exporter.emit(
      node,
      {.class_name = "Concatenate", .config = {{"axis", node.attributes().get_int("axis", 1)}}},
      inputs);
}

// Borders of Keras are spatial. For those of channels, the last two axes change places meanwhile.
struct Border {
  const char* layer;   // "ZeroPadding" or "Cropping"
  const char* option;  // "padding" or "cropping"
  ir::Ints low;        // with batch and channels
  ir::Ints high;
  int sign = 1;  // of the change of extents
};

TensorRef emit_border(Exporter& exporter, const ir::Node& node, const Border& border,
                      const TensorRef& input, Shape& shape) {
  const Shape before = shape;
  Json counts = Json::array();
  for (int axis = 1; axis + 1 < shape.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    counts.push_back(ir::Ints{border.low[i], border.high[i]});
    shape[axis] += border.sign * (border.low[i] + border.high[i]);
  }
  NewLayer layer{.class_name = concat(border.layer, dimensions(shape))};
  layer.config = {{"data_format", "channels_last"}};
  layer.config[border.option] = counts;
  return exporter.emit_step(node, std::move(layer), {input}, before, shape);
}

TensorRef emit_swap(Exporter& exporter, const ir::Node& node, const TensorRef& input,
                    Shape& shape) {
  const Shape before = shape;
  ir::Ints dims;
  for (int axis = 1; axis < shape.rank(); ++axis) dims.push_back(axis);
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  std::swap(shape[shape.rank() - 1], shape[shape.rank() - 2]);
  return exporter.emit_step(node, {.class_name = "Permute", .config = {{"dims", dims}}}, {input},
                            before, shape);
}

void emit_borders(Exporter& exporter, const ir::Node& node, Border border, TensorRef result,
                  Shape shape) {
  const size_t channels = border.low.size() - 1;
  const auto some = [&](size_t axis) { return border.low[axis] != 0 || border.high[axis] != 0; };
  bool spatial = false;
  for (size_t axis = 1; axis < channels; ++axis) spatial = spatial || some(axis);
  if (spatial) result = emit_border(exporter, node, border, result, shape);
  if (some(channels)) {
    Border last = border;
    std::fill(last.low.begin(), last.low.end(), 0);
    std::fill(last.high.begin(), last.high.end(), 0);
    last.low[channels - 1] = border.low[channels];
    last.high[channels - 1] = border.high[channels];
    result = emit_swap(exporter, node, result, shape);
    result = emit_border(exporter, node, last, result, shape);
    result = emit_swap(exporter, node, result, shape);
  }
  exporter.pass_on(node, result);
}

void export_pad(Exporter& exporter, const ir::Node& node) {
  const int rank = node.input(0)->shape().rank();
  if (rank != 4 && rank != 5) return exporter.refuse(node, "Keras pads pictures and boxes only");
  emit_borders(exporter, node,
               {.layer = "ZeroPadding",
                .option = "padding",
                .low = node.attributes().get_ints("low"),
                .high = node.attributes().get_ints("high")},
               exporter.ref(node.input(0)), node.input(0)->shape());
}

// Every n-th pixel is a pooling of one pixel; the rest is cut off at the borders.
void export_slice(Exporter& exporter, const ir::Node& node) {
  Shape shape = node.input(0)->shape();
  const auto rank = static_cast<size_t>(shape.rank());
  const ir::Ints begin = node.attributes().get_ints("begin");
  ir::Ints strides = node.attributes().get_ints("strides");
  if (strides.empty()) strides.assign(rank, 1);
  if ((rank != 4 && rank != 5) || strides.back() != 1) {
    return exporter.refuse(node, "Keras cuts pictures and boxes only");
  }
  ir::Ints high(rank, 0);
  bool strided = false;
  for (size_t i = 1; i < rank; ++i) {
    const int axis = static_cast<int>(i);
    const int64_t used = (node.output()->shape()[axis] - 1) * strides[i] + 1;
    high[i] = shape[axis] - begin[i] - used;
    strided = strided || strides[i] != 1;
    // A pooling ends at the last whole stride by itself.
    if (strides[i] > 1 && high[i] < strides[i]) high[i] = 0;
  }
  TensorRef result = exporter.ref(node.input(0));
  emit_borders(exporter, node,
               {.layer = "Cropping", .option = "cropping", .low = begin, .high = high, .sign = -1},
               result, shape);
  if (!strided) return;
  result = exporter.ref(node.output());
  for (size_t i = 1; i < rank; ++i) shape[static_cast<int>(i)] -= begin[i] + high[i];
  exporter.emit_last(node,
                     {.class_name = concat("MaxPooling", dimensions(shape)),
                      .config = {{"pool_size", ir::Ints(rank - 2, 1)},
                                 {"strides", ir::Ints(strides.begin() + 1, strides.end() - 1)},
                                 {"padding", "valid"},
                                 {"data_format", "channels_last"}}},
                     {result}, shape);
}

}  // namespace

std::vector<OpExport> shape_exports() {
  return {{"reshape", export_reshape},
          {"transpose", export_transpose},
          {"concat", export_concat},
          {"pad", export_pad},
          {"slice", export_slice}};
}

}  // namespace pando::keras
