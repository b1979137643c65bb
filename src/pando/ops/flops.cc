// SPDX-License-Identifier: MIT
#include "pando/ops/flops.h"

#include "pando/ops/attribute_values.h"
#include "pando/ops/conv_operands.h"
#include "pando/ops/op.h"
#include "pando/ops/window.h"

namespace pando::ops {

namespace {

// Forward and both gradients compute the same number of products: one for every output and every
// position of its window.
double conv_flops(const ir::Node& node) {
  const ConvOperands operands = conv_operands(node);
  const Shape& x = operands.x->shape();
  const Shape& filter = operands.filter->shape();
  double products = static_cast<double>(x[0] * filter.back());
  products *= static_cast<double>(x.back()) / static_cast<double>(int_attribute(node, "groups"));
  for (const WindowAxis& axis : conv_windows(node)) {
    products *= static_cast<double>(axis.output * axis.window);
  }
  return 2 * products;
}

// n * k * m products, no matter which of the three matrices is the result.
double matrix_flops(const ir::Node& node) {
  return 2 * static_cast<double>(node.input(0)->shape().elements()) *
         static_cast<double>(node.output()->shape().back());
}

}  // namespace

double flops(const ir::Node& node) {
  switch (definition(node).products) {
    case Products::convolution: return conv_flops(node);
    case Products::matrix: return matrix_flops(node);
    case Products::none: break;
  }
  return 0;
}

}  // namespace pando::ops
