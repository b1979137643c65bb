// Convolutions, dense layers and products of matrices.
// SPDX-License-Identifier: MIT
#include "pando/onnx/constant.h"
#include "pando/onnx/exporter_impl.h"
#include "pando/onnx/importer_impl.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/window.h"

namespace pando::onnx {
namespace {

Constant as_constant(const Tensor& tensor, const Shape& shape) {
  return {.dims = shape.dims(),
          .is_real = true,
          .reals = {tensor.f32().begin(), tensor.f32().end()},
          .ints = {}};
}

// [..., from, to] becomes [to, from, ...].
std::string add_filter(Exporter& exporter, const ir::Value* value) {
  const Constant filter = as_constant(exporter.weight(value), value->shape());
  const int64_t rank = filter.rank();
  Order perm = {rank - 1, rank - 2};
  for (int64_t axis = 0; axis < rank - 2; ++axis) perm.push_back(axis);
  std::vector<int64_t> dims;
  for (const int64_t axis : perm) dims.push_back(filter.dims[static_cast<size_t>(axis)]);
  return exporter.add_floats(value->name(), dims, permuted(filter, perm));
}

std::string add_vector(Exporter& exporter, const ir::Value* value) {
  const auto numbers = exporter.weight(value).f32();
  return exporter.add_floats(value->name(), value->shape().dims(),
                             {numbers.begin(), numbers.end()});
}

Exporter::Attributes window_attributes_of(const ops::Windows& windows, int64_t groups) {
  std::vector<int64_t> kernel, strides, dilations, low, high;
  for (const ops::WindowAxis& axis : windows) {
    kernel.push_back(axis.window);
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation);
    low.push_back(axis.pad_low);
    high.push_back(axis.pad_high);
  }
  low.insert(low.end(), high.begin(), high.end());
  return {attribute("kernel_shape", kernel), attribute("strides", strides),
          attribute("dilations", dilations), attribute("pads", low), attribute("group", groups)};
}

std::vector<std::string> conv_inputs(Exporter& exporter, const ir::Node& node) {
  std::vector<std::string> inputs = {exporter.name_of(node.input(0)),
                                     add_filter(exporter, node.input(1))};
  if (node.num_inputs() > 2) inputs.push_back(add_vector(exporter, node.input(2)));
  return inputs;
}

void export_conv(Exporter& exporter, const ir::Node& node) {
  exporter.emit(node, "Conv", conv_inputs(exporter, node),
                window_attributes_of(ops::conv_windows(node), ops::int_attribute(node, "groups")));
}

void export_conv_transpose(Exporter& exporter, const ir::Node& node) {
  const ops::Windows windows = ops::conv_windows(node);
  Exporter::Attributes attributes =
      window_attributes_of(windows, ops::int_attribute(node, "groups"));
  std::vector<int64_t> more;
  for (const ops::WindowAxis& axis : windows) {  // of the convolution that goes back
    more.push_back(axis.input -
                   ((axis.output - 1) * axis.stride + axis.span() - axis.pad_low - axis.pad_high));
  }
  attributes.push_back(attribute("output_padding", more));
  exporter.emit(node, "ConvTranspose", conv_inputs(exporter, node), attributes);
}

// The value before a flattening, if the file's order of its elements is another than ours and only
// this node reads it.
const ir::Value* flattened_from(const Exporter& exporter, const ir::Value* value) {
  const ir::Node* producer = value->producer();
  if (producer == nullptr || producer->op() != "reshape") return nullptr;
  const ir::Value* from = producer->input(0);
  if (from->shape().rank() < 3 || exporter.graph().users(value).size() != 1) return nullptr;
  return from;
}

void export_dense(Exporter& exporter, const ir::Node& node) {
  const ir::Value* x = node.input(0);
  const Shape& shape = node.input(1)->shape();
  Constant filter = as_constant(exporter.weight(node.input(1)), shape);
  std::string input = exporter.name_of(x);
  if (const ir::Value* from = flattened_from(exporter, x)) {
    // The file flattens with the channels first, so the rows go into that order.
    const Shape& picture = from->shape();
    const int64_t rank = picture.rank();
    filter.dims.assign(picture.begin() + 1, picture.end());
    filter.dims.push_back(shape[1]);
    Order perm = {rank - 2};
    for (int64_t axis = 0; axis < rank - 2; ++axis) perm.push_back(axis);
    perm.push_back(rank - 1);
    filter.reals = permuted(filter, perm);
    input = exporter.emit_step(node, "Flatten", {exporter.name_of(from)},
                               {attribute("axis", int64_t{1})});
  }
  const std::string& name = node.input(1)->name();
  if (node.num_inputs() < 3) {
    return exporter.emit(node, "MatMul",
                         {input, exporter.add_floats(name, shape.dims(), filter.reals)});
  }
  // [units, features], as PyTorch writes it: OpenCV reads no other form.
  filter.dims = shape.dims();
  const std::string turned =
      exporter.add_floats(name, {shape[1], shape[0]}, permuted(filter, {1, 0}));
  exporter.emit(node, "Gemm", {input, turned, add_vector(exporter, node.input(2))},
                {attribute("transB", int64_t{1})});
}

// The last two axes are matrices, which are the first two after the batch of nothing in the file.
void export_matmul(Exporter& exporter, const ir::Node& node) {
  const auto operand = [&](int i, const char* flag) {
    std::string name = exporter.channels_last(node, node.input(i));
    if (ops::int_attribute(node, flag) == 0) return name;
    std::vector<int64_t> perm = plain_order(static_cast<size_t>(node.input(i)->shape().rank()));
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return exporter.emit_step(node, "Transpose", {name}, {attribute("perm", perm)});
  };
  const std::string a = operand(0, "transpose_a"), b = operand(1, "transpose_b");
  exporter.give_channels_last(node, exporter.emit_step(node, "MatMul", {a, b}));
}

}  // namespace

std::vector<OpExport> product_exports() {
  return {{"conv", export_conv},
          {"conv_transpose", export_conv_transpose},
          {"dense", export_dense},
          {"matmul", export_matmul}};
}

}  // namespace pando::onnx
