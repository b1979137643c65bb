// Products of matrices: dense layers, and products of two activations.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {
namespace {

constexpr size_t kMostPictureAxes = 5;  // that convolutions take, the batch counted

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

// Repeats the axes in front of the matrices that have one element.
Computed repeated_to(Importer& importer, const NodeProto& node, const Computed& x,
                     const Shape& other) {
  std::vector<int64_t> dims(x.shape.begin(), x.shape.end());
  for (size_t i = 0; i + 2 < dims.size(); ++i) {
    if (dims[i] == 1) dims[i] = other[static_cast<int>(i)];
  }
  if (Shape(dims) == x.shape) return x;
  dims.insert(dims.begin(), 1);
  return importer.step(node, "expand", {{"shape", ir::Ints(dims)}}, {x});
}

// The product of two values of which any may be computed.
Computed product(Importer& importer, const NodeProto& node, const Value& a, const Value& b,
                 const ir::Attributes& flags = {}) {
  const auto rank = [&](const Value& value) {
    return value.computed ? std::ssize(value.order) : value.constant->rank() + importer.lead();
  };
  const int64_t least = 3;
  const Order order = plain_order(static_cast<size_t>(std::max({rank(a), rank(b), least})));
  if (rank(a) < 2 || rank(b) < 2 || (importer.lead() == 0 && rank(a) + rank(b) < 5)) {
    throw Unsupported(label(node), ": operands of ", rank(a), " and ", rank(b), " axes");
  }
  const bool row = importer.lead() > 0 && rank(a) == 2,
             column = importer.lead() > 0 && rank(b) == 2;
  const Computed x = importer.operand_in(node, a, order);
  Computed y = importer.operand_in(node, b, order);
  std::vector<int64_t> dims(y.shape.begin(), y.shape.end());
  if (column) {  // a list of numbers is a column here, and a row in front
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    y = importer.reshaped(node, y, Shape(dims));
  }
  const Computed left = repeated_to(importer, node, x, y.shape);
  const Computed right = repeated_to(importer, node, y, left.shape);
  const Computed z = importer.apply(
      node, {.class_name = "MatMul", .op = "matmul", .attributes = flags}, {left, right});
  std::vector<int64_t> result(z.shape.begin(), z.shape.end());
  if (column) result.pop_back();
  if (row) result.erase(result.end() - (column ? 1 : 2));
  return importer.reshaped(node, z, Shape(result));
}

// A file without a batch: both matrices and the sum are values like any other.
void give_whole_gemm(Importer& importer, const NodeProto& node) {
  const ir::Attributes flags = {
      {"transpose_a", int64_t{int_attribute(node, "transA", 0) != 0 ? 1 : 0}},
      {"transpose_b", int64_t{int_attribute(node, "transB", 0) != 0 ? 1 : 0}}};
  Computed y = product(importer, node, importer.operand(node, 0), importer.operand(node, 1), flags);
  const double alpha = real_attribute(node, "alpha", 1), beta = real_attribute(node, "beta", 1);
  if (alpha != 1) y = importer.scaled(node, y, alpha);
  if (importer.has(node, 2)) {
    Computed c = importer.operand_in(node, importer.operand(node, 2), plain_order(3));
    if (beta != 1) c = importer.scaled(node, c, beta);
    y = importer.step(node, "add", {}, {y, c});
  }
  importer.give(node, y, plain_order(3));
}

void import_gemm(Importer& importer, const NodeProto& node) {
  if (importer.lead() > 0) return give_whole_gemm(importer, node);
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
  const Value a = importer.operand(node, 0), b = importer.operand(node, 1);
  const Constant* matrix = importer.known(node, 1);
  if (matrix != nullptr && matrix->rank() == 2 && a.computed &&
      a.order.size() <= kMostPictureAxes) {
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
  const Computed y = product(importer, node, a, b);
  importer.give(node, y, plain_order(static_cast<size_t>(y.shape.rank()) + 1));
}

}  // namespace

std::vector<OpImport> matrix_imports() {
  return {{"Gemm", import_gemm}, {"MatMul", import_matmul}};
}

}  // namespace pando::onnx
