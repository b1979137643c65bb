// Batch normalisation with given statistics: gamma (x - mean) / sqrt(variance + epsilon) + beta.
// With batch_statistics = 1 the statistics come from this batch, and the gradient of x includes
// their dependence on x; mean and variance themselves get no gradient.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/activation_attribute.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

void check_epsilon(const ir::Node& node) {
  const double epsilon = number_attribute(node, "epsilon");
  if (!(epsilon >= 0)) {
    throw InvalidArgument(node.label(), ": epsilon: expected 0 or more, got ", epsilon);
  }
}

// Checks that inputs `first` to `last` - 1 hold one number per channel of input `x`.
void check_per_channel(const ir::Node& node, int x, int first, int last) {
  require_dtype(node, x, DType::f32);
  require_rank(node, x, 2, 5);
  for (int i = first; i < last; ++i) require_f32_shape(node, i, {node.input(x)->shape().back()});
}

// The number of inputs without the last `extra` ones, which backward ops take when they mask dy by
// a fused relu or relu6: they compute the normalised value again, because x is there anyway.
int inputs_without_mask(const ir::Node& node, int extra) {
  const bool masks = text_attribute(node, "activation") != "none";
  return masks ? node.num_inputs() - extra : node.num_inputs();
}

[[noreturn]] void refuse_inputs(const ir::Node& node, std::string_view wanted,
                                std::string_view of_mask) {
  throw InvalidArgument(node.label(), ": expected ", wanted, ", and ", of_mask,
                        " last if there is an activation; got ", node.num_inputs(),
                        " inputs with activation \"", text_attribute(node, "activation"), "\"");
}

void add_batch_norm_gradients(const ir::Node& node, std::span<ir::Value* const> dy,
                              GradBuilder& grad) {
  require_no_activation(node);
  ir::Value* x = node.input(0);
  ir::Value* gamma = node.input(3);
  ir::Value* beta = node.input(4);
  const bool through_statistics = int_attribute(node, "batch_statistics") == 1;
  const ir::Attributes epsilon = {{"epsilon", number_attribute(node, "epsilon")}};
  std::vector<ir::Value*> inputs = {dy[0], x, node.input(1), node.input(2)};
  std::vector<ir::Value*> totals;
  if (grad.wants(gamma) || grad.wants(beta) || through_statistics) {
    const ir::Node* sums = grad.emit("batch_norm_sums", inputs, epsilon, 2);
    grad.add(beta, sums->output(0));
    grad.add(gamma, sums->output(1));
    if (through_statistics && grad.wants(x)) {
      for (int i = 0; i < 2; ++i) {
        totals.push_back(grad.emit("sum_slices", {sums->output(i)})->output());
      }
    }
  }
  if (!grad.wants(x)) return;
  inputs.push_back(gamma);
  inputs.insert(inputs.end(), totals.begin(), totals.end());
  grad.add(x, grad.emit("batch_norm_input_grad", inputs, epsilon)->output());
}

std::vector<AttributeSpec> backward_attributes() {
  return {{"epsilon", 0.001, {}}, {"activation", std::string("none"), {"none", "relu", "relu6"}}};
}

std::vector<ir::TensorType> infer_batch_norm_input_grad(const ir::Node& node) {
  check_epsilon(node);
  check_per_channel(node, 1, 2, 5);
  require_f32_shape(node, 0, node.input(1)->shape());
  const int inputs = inputs_without_mask(node, 1);
  if (inputs != 5 && inputs != 7) refuse_inputs(node, "5 inputs, or 7 with both totals", "beta");
  check_per_channel(node, 1, 5, node.num_inputs());
  return {node.input(1)->type()};
}

}  // namespace

OpDef batch_norm_op() {
  return {
      .name = "batch_norm",
      .inputs = {{"x"},
                 {.name = "mean", .shared = true},
                 {.name = "variance", .shared = true},
                 {.name = "gamma", .shared = true},
                 {.name = "beta", .shared = true}},
      .outputs = {"y"},
      .attributes = with_activation({{"epsilon", 0.001, {}}, {"batch_statistics", int64_t{0}, {}}}),
      .traits = {Trait::pixelwise, Trait::takes_post_op},
      .infer =
          [](const ir::Node& node) {
            check_epsilon(node);
            check_activation(node);
            const int64_t flag = int_attribute(node, "batch_statistics");
            if (flag != 0 && flag != 1) {
              throw InvalidArgument(node.label(), ": batch_statistics: expected 0 or 1, got ",
                                    flag);
            }
            check_per_channel(node, 0, 1, 5);
            return std::vector{node.input(0)->type()};
          },
      .grad = add_batch_norm_gradients,
      .exact = {"mean", "variance"}};
}

// dbeta = sum of dy, dgamma = sum of dy (x - mean) / sqrt(variance + epsilon), over valid samples.
OpDef batch_norm_sums_op() {
  return {.name = "batch_norm_sums",
          .inputs = {{"dy"},
                     {"x"},
                     {.name = "mean", .shared = true},
                     {.name = "variance", .shared = true},
                     {.name = "gamma", .optional = true, .shared = true},
                     {.name = "beta", .optional = true, .shared = true}},
          .outputs = {"dbeta", "dgamma"},
          .attributes = backward_attributes(),
          .traits = {Trait::batch_sum, Trait::no_grad, Trait::pixelwise},
          .infer =
              [](const ir::Node& node) {
                check_epsilon(node);
                check_per_channel(node, 1, 2, 4);
                require_f32_shape(node, 0, node.input(1)->shape());
                if (inputs_without_mask(node, 2) != 4) {
                  refuse_inputs(node, "4 inputs", "gamma and beta");
                }
                check_per_channel(node, 1, 4, node.num_inputs());
                return std::vector<ir::TensorType>(2, f32({node.input(1)->shape().back()}));
              },
          .exact = {"mean", "variance", "dbeta", "dgamma"}};
}

// The totals, summed over all slices, are given when the statistics are those of the batch.
OpDef batch_norm_input_grad_op() {
  return {.name = "batch_norm_input_grad",
          .inputs = {{"dy"},
                     {"x"},
                     {.name = "mean", .shared = true},
                     {.name = "variance", .shared = true},
                     {.name = "gamma", .shared = true},
                     {.name = "dbeta_total", .optional = true, .shared = true},
                     {.name = "dgamma_total", .optional = true, .shared = true},
                     {.name = "beta", .optional = true, .shared = true}},
          .outputs = {"dx"},
          .attributes = backward_attributes(),
          .traits = {Trait::no_grad, Trait::pixelwise},
          .infer = infer_batch_norm_input_grad,
          .exact = {"mean", "variance", "dbeta_total", "dgamma_total"}};
}

}  // namespace pando::ops
