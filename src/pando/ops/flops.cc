// SPDX-License-Identifier: MIT
#include "pando/ops/flops.h"

#include "pando/ops/attribute_values.h"
#include "pando/ops/conv_operands.h"
#include "pando/ops/window.h"

namespace pando::ops {

namespace {

// The same for forward and both gradients: each pairs every output with every tap of its window.
double conv_flops(const ir::Node& node) {
  const ConvOperands operands = conv_operands(node);
  const Shape& x = operands.x->shape();
  const Shape& kernel = operands.kernel->shape();
  double products = static_cast<double>(x[0] * kernel.back());
  products *= static_cast<double>(x.back()) / static_cast<double>(int_attribute(node, "groups"));
  for (const WindowAxis& axis : conv_windows(node)) {
    products *= static_cast<double>(axis.output * axis.window);
  }
  return 2 * products;
}

// x [n, k] with kernel [k, m]; dy [n, m] with kernel; x with dy.
double dense_flops(const ir::Node& node) {
  const Shape& first = node.input(0)->shape();
  const Shape& second = node.input(1)->shape();
  const int64_t others = node.op() == "dense_input_grad" ? second[0] : second[1];
  return 2 * static_cast<double>(first.elements()) * static_cast<double>(others);
}

}  // namespace

double flops(const ir::Node& node) {
  const std::string& op = node.op();
  if (op == "conv" || op == "conv_input_grad" || op == "conv_kernel_grad" ||
      op.starts_with("conv_pool")) {
    return conv_flops(node);
  }
  if (op == "dense" || op == "dense_input_grad" || op == "dense_kernel_grad") {
    return dense_flops(node);
  }
  return 0;
}

}  // namespace pando::ops
