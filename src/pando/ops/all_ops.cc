// The only list of ops. The completeness tests require that each entry has a shape rule, a gradient
// (or Trait::no_grad), a reference kernel and a numeric gradient test.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"

namespace pando::ops {

const OpTable& builtin_ops() {
  static const OpTable table({
      add_op(),
      avg_pool_op(),
      avg_pool_grad_op(),
      batch_moments_op(),
      batch_norm_op(),
      batch_norm_input_grad_op(),
      batch_norm_sums_op(),
      cast_op(),
      checkpoint_op(),
      combine_moments_op(),
      concat_op(),
      conv_op(),
      conv_input_grad_op(),
      conv_filter_grad_op(),
      conv_pool_op(),
      conv_pool_input_grad_op(),
      conv_pool_filter_grad_op(),
      cross_entropy_op(),
      cross_entropy_grad_op(),
      dense_op(),
      dense_input_grad_op(),
      dense_filter_grad_op(),
      dropout_op(),
      flip_where_op(),
      global_avg_pool_op(),
      global_avg_pool_grad_op(),
      group_norm_op(),
      group_norm_input_grad_op(),
      group_norm_sums_op(),
      leaky_relu_op(),
      leaky_relu_grad_op(),
      loss_seed_op(),
      max_pool_op(),
      max_pool_grad_op(),
      mean_absolute_error_op(),
      mean_absolute_error_grad_op(),
      mean_squared_error_op(),
      mean_squared_error_grad_op(),
      multiply_op(),
      normalise_pixels_op(),
      pack_op(),
      pad_op(),
      relu_op(),
      relu_grad_op(),
      reshape_op(),
      round_variable_op(),
      scale_op(),
      sigmoid_op(),
      sigmoid_grad_op(),
      slice_op(),
      slice_grad_op(),
      softmax_op(),
      softmax_grad_op(),
      standardise_image_op(),
      sum_slices_op(),
      tanh_op(),
      tanh_grad_op(),
      top_k_accuracy_op(),
      weigh_op(),
  });
  return table;
}

}  // namespace pando::ops
