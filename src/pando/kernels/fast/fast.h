// Fast kernels: vectorised loops over channels-last data, one candidate per op.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels {

KernelOffer fast_relu(const ir::Node& node);
KernelOffer fast_relu_grad(const ir::Node& node);
KernelOffer fast_leaky_relu(const ir::Node& node);
KernelOffer fast_leaky_relu_grad(const ir::Node& node);
KernelOffer fast_tanh(const ir::Node& node);
KernelOffer fast_tanh_grad(const ir::Node& node);
KernelOffer fast_sigmoid(const ir::Node& node);
KernelOffer fast_sigmoid_grad(const ir::Node& node);
KernelOffer fast_clip(const ir::Node& node);
KernelOffer fast_clip_grad(const ir::Node& node);
KernelOffer fast_elu(const ir::Node& node);
KernelOffer fast_elu_grad(const ir::Node& node);
KernelOffer fast_gelu(const ir::Node& node);
KernelOffer fast_gelu_grad(const ir::Node& node);
KernelOffer fast_hard_sigmoid(const ir::Node& node);
KernelOffer fast_hard_sigmoid_grad(const ir::Node& node);
KernelOffer fast_hard_swish(const ir::Node& node);
KernelOffer fast_hard_swish_grad(const ir::Node& node);
KernelOffer fast_mish(const ir::Node& node);
KernelOffer fast_mish_grad(const ir::Node& node);
KernelOffer fast_relu6(const ir::Node& node);
KernelOffer fast_relu6_grad(const ir::Node& node);
KernelOffer fast_selu(const ir::Node& node);
KernelOffer fast_selu_grad(const ir::Node& node);
KernelOffer fast_softplus(const ir::Node& node);
KernelOffer fast_softplus_grad(const ir::Node& node);
KernelOffer fast_swish(const ir::Node& node);
KernelOffer fast_swish_grad(const ir::Node& node);

KernelOffer fast_add(const ir::Node& node);
KernelOffer fast_subtract(const ir::Node& node);
KernelOffer fast_multiply(const ir::Node& node);
KernelOffer fast_divide(const ir::Node& node);
KernelOffer fast_maximum(const ir::Node& node);
KernelOffer fast_minimum(const ir::Node& node);
KernelOffer fast_keep_at_least(const ir::Node& node);
KernelOffer fast_times_slope(const ir::Node& node);
KernelOffer fast_expand(const ir::Node& node);
KernelOffer fast_prelu(const ir::Node& node);
KernelOffer fast_prelu_input_grad(const ir::Node& node);
KernelOffer fast_prelu_sums(const ir::Node& node);
KernelOffer fast_scale(const ir::Node& node);
KernelOffer fast_cast(const ir::Node& node);
KernelOffer fast_dropout(const ir::Node& node);
KernelOffer fast_gaussian_noise(const ir::Node& node);

KernelOffer fast_softmax(const ir::Node& node);
KernelOffer fast_softmax_grad(const ir::Node& node);
KernelOffer fast_conv_pool_input_grad(const ir::Node& node);
KernelOffer fast_conv_pool_filter_grad(const ir::Node& node);
KernelOffer fast_cross_entropy(const ir::Node& node);
KernelOffer fast_cross_entropy_grad(const ir::Node& node);
KernelOffer fast_mean_squared_error(const ir::Node& node);
KernelOffer fast_mean_squared_error_grad(const ir::Node& node);
KernelOffer fast_mean_absolute_error(const ir::Node& node);
KernelOffer fast_mean_absolute_error_grad(const ir::Node& node);
KernelOffer fast_binary_cross_entropy(const ir::Node& node);
KernelOffer fast_binary_cross_entropy_grad(const ir::Node& node);
KernelOffer fast_dice(const ir::Node& node);
KernelOffer fast_dice_grad(const ir::Node& node);
KernelOffer fast_huber(const ir::Node& node);
KernelOffer fast_huber_grad(const ir::Node& node);
KernelOffer fast_top_k_accuracy(const ir::Node& node);

KernelOffer depthwise_conv(const ir::Node& node);
KernelOffer depthwise_conv_input_grad(const ir::Node& node);
KernelOffer depthwise_conv_filter_grad(const ir::Node& node);

KernelOffer fast_max_pool(const ir::Node& node);
KernelOffer fast_max_pool_grad(const ir::Node& node);
KernelOffer fast_avg_pool(const ir::Node& node);
KernelOffer fast_avg_pool_grad(const ir::Node& node);
KernelOffer fast_global_avg_pool(const ir::Node& node);
KernelOffer fast_global_avg_pool_grad(const ir::Node& node);
KernelOffer fast_global_max_pool(const ir::Node& node);
KernelOffer fast_global_max_pool_grad(const ir::Node& node);

KernelOffer fast_channel_sums(const ir::Node& node);
KernelOffer fast_batch_moments(const ir::Node& node);
KernelOffer fast_combine_moments(const ir::Node& node);
KernelOffer fast_batch_norm(const ir::Node& node);
KernelOffer fast_batch_norm_sums(const ir::Node& node);
KernelOffer fast_batch_norm_input_grad(const ir::Node& node);
KernelOffer fast_fold_batch_norm(const ir::Node& node);
KernelOffer fast_fold_scale(const ir::Node& node);
KernelOffer fast_group_norm(const ir::Node& node);
KernelOffer fast_group_norm_sums(const ir::Node& node);
KernelOffer fast_group_norm_input_grad(const ir::Node& node);
KernelOffer fast_layer_norm(const ir::Node& node);
KernelOffer fast_layer_norm_input_grad(const ir::Node& node);
KernelOffer fast_layer_norm_sums(const ir::Node& node);

KernelOffer fast_pad(const ir::Node& node);
KernelOffer fast_slice(const ir::Node& node);
KernelOffer fast_slice_grad(const ir::Node& node);
KernelOffer fast_concat(const ir::Node& node);
KernelOffer fast_depth_to_space(const ir::Node& node);
KernelOffer fast_space_to_depth(const ir::Node& node);
KernelOffer fast_resize(const ir::Node& node);
KernelOffer fast_resize_grad(const ir::Node& node);
KernelOffer fast_transpose(const ir::Node& node);
KernelOffer fast_matmul(const ir::Node& node);

KernelOffer fast_reduce_sum(const ir::Node& node);
KernelOffer fast_reduce_mean(const ir::Node& node);
KernelOffer fast_reduce_max(const ir::Node& node);
KernelOffer fast_reduce_min(const ir::Node& node);
KernelOffer fast_reduce_extreme_grad(const ir::Node& node);

KernelOffer fast_flip_where(const ir::Node& node);
KernelOffer fast_normalise_pixels(const ir::Node& node);
KernelOffer fast_standardise_image(const ir::Node& node);

}  // namespace pando::kernels
