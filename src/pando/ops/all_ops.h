// The records of all ops, one function per op, defined in the file of that op.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/op.h"

namespace pando::ops {

OpDef add_op();
OpDef avg_pool_op();
OpDef avg_pool_grad_op();
OpDef batch_moments_op();
OpDef batch_norm_op();
OpDef batch_norm_input_grad_op();
OpDef batch_norm_sums_op();
OpDef cast_op();
OpDef checkpoint_op();
OpDef combine_moments_op();
OpDef concat_op();
OpDef conv_op();
OpDef conv_input_grad_op();
OpDef conv_filter_grad_op();
OpDef conv_pool_op();
OpDef conv_pool_input_grad_op();
OpDef conv_pool_filter_grad_op();
OpDef cross_entropy_op();
OpDef cross_entropy_grad_op();
OpDef dense_op();
OpDef dense_input_grad_op();
OpDef dense_filter_grad_op();
OpDef dropout_op();
OpDef flip_where_op();
OpDef global_avg_pool_op();
OpDef global_avg_pool_grad_op();
OpDef group_norm_op();
OpDef group_norm_input_grad_op();
OpDef group_norm_sums_op();
OpDef leaky_relu_op();
OpDef leaky_relu_grad_op();
OpDef loss_seed_op();
OpDef max_pool_op();
OpDef max_pool_grad_op();
OpDef mean_absolute_error_op();
OpDef mean_absolute_error_grad_op();
OpDef mean_squared_error_op();
OpDef mean_squared_error_grad_op();
OpDef multiply_op();
OpDef normalise_pixels_op();
OpDef pack_op();
OpDef pad_op();
OpDef relu_op();
OpDef relu_grad_op();
OpDef reshape_op();
OpDef round_variable_op();
OpDef scale_op();
OpDef sigmoid_op();
OpDef sigmoid_grad_op();
OpDef slice_op();
OpDef slice_grad_op();
OpDef softmax_op();
OpDef softmax_grad_op();
OpDef standardise_image_op();
OpDef sum_slices_op();
OpDef tanh_op();
OpDef tanh_grad_op();
OpDef top_k_accuracy_op();
OpDef weigh_op();

}  // namespace pando::ops
