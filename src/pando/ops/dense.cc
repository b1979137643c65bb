// A matrix product with an optional bias: y[n, m] = sum over k of x[n, k] filter[k, m] + bias[m].
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/activation_attribute.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

void require_matrix(const ir::Node& node, int input) {
  require_dtype(node, input, DType::f32);
  require_rank(node, input, 2, 2);
}

std::vector<ir::TensorType> infer_dense(const ir::Node& node) {
  require_matrix(node, 0);
  require_matrix(node, 1);
  const Shape& x = node.input(0)->shape();
  const Shape& filter = node.input(1)->shape();
  if (x[1] != filter[0]) {
    throw InvalidArgument(node.label(), ": weights ", filter, " take ", filter[0],
                          " features, but input ", x, " has ", x[1]);
  }
  if (node.num_inputs() == 3) require_f32_shape(node, 2, {filter[1]});
  check_activation(node);
  return {f32({x[0], filter[1]})};
}

void add_dense_gradients(const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
  require_no_activation(node);
  if (grad.wants(node.input(0))) {
    grad.add(node.input(0), grad.emit("dense_input_grad", {dy[0], node.input(1)})->output());
  }
  const bool bias = node.num_inputs() == 3 && grad.wants(node.input(2));
  if (!bias && !grad.wants(node.input(1))) return;
  const ir::Node* sums = grad.emit("dense_filter_grad", {node.input(0), dy[0]}, {}, bias ? 2 : 1);
  grad.add(node.input(1), sums->output(0));
  if (bias) grad.add(node.input(2), sums->output(1));
}

}  // namespace

OpDef dense_op() {
  return {.name = "dense",
          .inputs = {{"x"},
                     {.name = "filter", .shared = true},
                     {.name = "bias", .optional = true, .shared = true}},
          .outputs = {"y"},
          .attributes = with_activation({}),
          .traits = {Trait::takes_post_op, Trait::linear_filter},
          .infer = infer_dense,
          .grad = add_dense_gradients,
          .products = Products::matrix};
}

OpDef dense_input_grad_op() {
  return {.name = "dense_input_grad",
          .inputs = {{"dy"}, {.name = "filter", .shared = true}},
          .outputs = {"dx"},
          .traits = {Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                require_matrix(node, 0);
                require_matrix(node, 1);
                const int64_t batch = node.input(0)->shape()[0];
                const Shape& filter = node.input(1)->shape();
                require_shape(node, 0, {batch, filter[1]});
                return std::vector{f32({batch, filter[0]})};
              },
          .products = Products::matrix};
}

OpDef dense_filter_grad_op() {
  return {.name = "dense_filter_grad",
          .inputs = {{"x"}, {"dy"}},
          .outputs = {"dkernel", "dbias"},
          .optional_outputs = 1,
          .traits = {Trait::batch_sum, Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                require_matrix(node, 0);
                require_matrix(node, 1);
                const Shape& x = node.input(0)->shape();
                const int64_t units = node.input(1)->shape()[1];
                require_shape(node, 1, {x[0], units});
                return std::vector{f32({x[1], units}), f32({units})};
              },
          .products = Products::matrix};
}

}  // namespace pando::ops
