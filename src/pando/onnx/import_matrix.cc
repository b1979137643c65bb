// Products of matrices: dense layers, and products of two activations.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {
namespace {

// The rows of a filter for features in the order in which `source` has them, instead of that of the
// file.
std::vector<float> with_rows_of(const Value& source, const std::vector<float>& filter,
                                int64_t columns) {
  std::vector<int64_t> dims = source.dims();
  Constant rows{
      .dims = {dims.begin() + 1, dims.end()}, .is_real = true, .reals = filter, .ints = {}};
  rows.dims.push_back(columns);
  Order perm;
  for (size_t i = 1; i < source.order.size(); ++i) perm.push_back(source.order[i] - 1);
  perm.push_back(std::ssize(rows.dims) - 1);
  return permuted(rows, perm);
}

struct DenseWeights {
  std::vector<float> filter;  // [features, units]
  std::vector<float> bias;    // empty: none
  int64_t features = 0;
  int64_t units = 0;
};

Computed dense(Importer& importer, const NodeProto& node, const Value& value,
               DenseWeights weights) {
  Computed x = value.flattened ? *value.computed : importer.plain(value);
  if (x.shape.rank() != 1 || x.shape[0] != weights.features) {
    throw InvalidArgument(label(node), ": weights for ", weights.features,
                          " features do not fit samples of shape ", x.shape);
  }
  if (value.flattened) {
    weights.filter = with_rows_of(*value.flattened, weights.filter, weights.units);
  }
  const Shape shape = {weights.features, weights.units};
  std::vector<nn::WeightSpec> specs = {{"kernel", shape, GlorotUniform()}};
  NamedTensors values = {{"kernel", weight_tensor(shape, weights.filter)}};
  if (!weights.bias.empty()) {
    specs.push_back({"bias", {weights.units}, Zeros()});
    values.emplace_back("bias", weight_tensor({weights.units}, weights.bias));
  }
  return importer.apply(node, {.class_name = "Dense", .op = "dense", .weights = std::move(specs)},
                        {x}, std::move(values), layer_of_weight(node.inputs[1]));
}

// The same weights for every position: a convolution with windows of one pixel.
Computed dense_everywhere(Importer& importer, const NodeProto& node, const Computed& x,
                          const DenseWeights& weights) {
  std::vector<int64_t> picture(x.shape.begin(), x.shape.end());
  while (picture.size() < 3) picture.insert(picture.begin(), 1);
  const Shape shape = picture.size() == 3 ? Shape{1, 1, weights.features, weights.units}
                                          : Shape{1, 1, 1, weights.features, weights.units};
  const Computed y = importer.apply(
      node, {.class_name = "Dense", .op = "conv", .weights = {{"kernel", shape, GlorotUniform()}}},
      {importer.reshaped(node, x, Shape(picture))},
      {{"kernel", weight_tensor(shape, weights.filter)}}, layer_of_weight(node.inputs[1]));
  std::vector<int64_t> result(x.shape.begin(), x.shape.end());
  result.back() = weights.units;
  return importer.reshaped(node, y, Shape(result));
}

void import_gemm(Importer& importer, const NodeProto& node) {
  if (int_attribute(node, "transA", 0) != 0) {
    throw Unsupported(label(node), ": transA would exchange samples and features");
  }
  const Constant& b = importer.need(node, 1, "the matrix");
  if (b.rank() != 2)
    throw InvalidArgument(label(node), ": expected a matrix, got ", b.rank(), " axes");
  const bool transposed = int_attribute(node, "transB", 0) != 0;
  const auto alpha = static_cast<float>(real_attribute(node, "alpha", 1));
  const auto beta = static_cast<float>(real_attribute(node, "beta", 1));
  DenseWeights weights{.filter = transposed ? permuted(b, {1, 0}) : b.as_reals(),
                       .bias = {},
                       .features = b.dims[transposed ? 1 : 0],
                       .units = b.dims[transposed ? 0 : 1]};
  if (alpha != 1) {
    for (float& value : weights.filter) value *= alpha;
  }
  if (importer.has(node, 2)) {
    const Constant& c = importer.need(node, 2, "the bias");
    const bool one = c.elements() == 1;
    if (!one && c.elements() != weights.units) {
      throw Unsupported(label(node), ": a bias that differs by sample");
    }
    weights.bias = one ? std::vector<float>(static_cast<size_t>(weights.units),
                                            static_cast<float>(c.number(0)))
                       : c.as_reals();
    for (float& value : weights.bias) value *= beta;
  }
  importer.give(node, dense(importer, node, importer.operand(node, 0), std::move(weights)),
                plain_order(2));
}

void import_matmul(Importer& importer, const NodeProto& node) {
  const Value& a = importer.operand(node, 0);
  const Value& b = importer.operand(node, 1);
  if (!a.computed) throw Unsupported(label(node), ": a constant times computed values");
  if (const Constant* matrix = importer.known(node, 1)) {
    if (matrix->rank() != 2)
      throw Unsupported(label(node), ": a constant of ", matrix->rank(), " axes");
    const DenseWeights weights{.filter = matrix->as_reals(),
                               .bias = {},
                               .features = matrix->dims[0],
                               .units = matrix->dims[1]};
    if (a.order.size() == 2) {
      return importer.give(node, dense(importer, node, a, weights), plain_order(2));
    }
    return importer.give(node, dense_everywhere(importer, node, importer.plain(a), weights),
                         plain_order(a.order.size()));
  }
  if (a.order.size() != b.order.size() || a.order.size() < 3) {
    throw Unsupported(label(node), ": operands of ", a.order.size(), " and ", b.order.size(),
                      " axes");
  }
  importer.give(node,
                importer.apply(node, {.class_name = "MatMul", .op = "matmul"},
                               {importer.plain(a), importer.plain(b)}),
                plain_order(a.order.size()));
}

}  // namespace

std::vector<OpImport> matrix_imports() {
  return {{"Gemm", import_gemm}, {"MatMul", import_matmul}};
}

}  // namespace pando::onnx
