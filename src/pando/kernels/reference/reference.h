// Reference kernels: plain loops that define what each op computes. Tests compare all other kernels
// with them.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels {

KernelOffer reference_add(const ir::Node& node);
KernelOffer reference_avg_pool(const ir::Node& node);
KernelOffer reference_avg_pool_grad(const ir::Node& node);
KernelOffer reference_batch_moments(const ir::Node& node);
KernelOffer reference_batch_norm(const ir::Node& node);
KernelOffer reference_batch_norm_input_grad(const ir::Node& node);
KernelOffer reference_batch_norm_sums(const ir::Node& node);
KernelOffer reference_fold_batch_norm(const ir::Node& node);
KernelOffer reference_cast(const ir::Node& node);
KernelOffer reference_channel_sums(const ir::Node& node);
KernelOffer reference_clip(const ir::Node& node);
KernelOffer reference_clip_grad(const ir::Node& node);
KernelOffer reference_combine_moments(const ir::Node& node);
KernelOffer reference_concat(const ir::Node& node);
KernelOffer reference_conv(const ir::Node& node);
KernelOffer reference_conv_input_grad(const ir::Node& node);
KernelOffer reference_conv_filter_grad(const ir::Node& node);
KernelOffer reference_conv_pool(const ir::Node& node);
KernelOffer reference_conv_pool_input_grad(const ir::Node& node);
KernelOffer reference_conv_pool_filter_grad(const ir::Node& node);
KernelOffer reference_cross_entropy(const ir::Node& node);
KernelOffer reference_cross_entropy_grad(const ir::Node& node);
KernelOffer reference_dense(const ir::Node& node);
KernelOffer reference_dense_input_grad(const ir::Node& node);
KernelOffer reference_dense_filter_grad(const ir::Node& node);
KernelOffer reference_depth_to_space(const ir::Node& node);
KernelOffer reference_dropout(const ir::Node& node);
KernelOffer reference_elu(const ir::Node& node);
KernelOffer reference_elu_grad(const ir::Node& node);
KernelOffer reference_flip_where(const ir::Node& node);
KernelOffer reference_gelu(const ir::Node& node);
KernelOffer reference_gelu_grad(const ir::Node& node);
KernelOffer reference_global_avg_pool(const ir::Node& node);
KernelOffer reference_global_avg_pool_grad(const ir::Node& node);
KernelOffer reference_global_max_pool(const ir::Node& node);
KernelOffer reference_global_max_pool_grad(const ir::Node& node);
KernelOffer reference_group_norm(const ir::Node& node);
KernelOffer reference_group_norm_input_grad(const ir::Node& node);
KernelOffer reference_group_norm_sums(const ir::Node& node);
KernelOffer reference_hard_sigmoid(const ir::Node& node);
KernelOffer reference_hard_sigmoid_grad(const ir::Node& node);
KernelOffer reference_hard_swish(const ir::Node& node);
KernelOffer reference_hard_swish_grad(const ir::Node& node);
KernelOffer reference_layer_norm(const ir::Node& node);
KernelOffer reference_layer_norm_input_grad(const ir::Node& node);
KernelOffer reference_layer_norm_sums(const ir::Node& node);
KernelOffer reference_leaky_relu(const ir::Node& node);
KernelOffer reference_leaky_relu_grad(const ir::Node& node);
KernelOffer reference_loss_seed(const ir::Node& node);
KernelOffer reference_max_pool(const ir::Node& node);
KernelOffer reference_max_pool_grad(const ir::Node& node);
KernelOffer reference_mean_absolute_error(const ir::Node& node);
KernelOffer reference_mean_absolute_error_grad(const ir::Node& node);
KernelOffer reference_mean_squared_error(const ir::Node& node);
KernelOffer reference_mean_squared_error_grad(const ir::Node& node);
KernelOffer reference_mish(const ir::Node& node);
KernelOffer reference_mish_grad(const ir::Node& node);
KernelOffer reference_multiply(const ir::Node& node);
KernelOffer reference_normalise_pixels(const ir::Node& node);
KernelOffer reference_pad(const ir::Node& node);
KernelOffer reference_relu(const ir::Node& node);
KernelOffer reference_relu6(const ir::Node& node);
KernelOffer reference_relu6_grad(const ir::Node& node);
KernelOffer reference_relu_grad(const ir::Node& node);
KernelOffer reference_resize(const ir::Node& node);
KernelOffer reference_resize_grad(const ir::Node& node);
KernelOffer reference_scale(const ir::Node& node);
KernelOffer reference_selu(const ir::Node& node);
KernelOffer reference_selu_grad(const ir::Node& node);
KernelOffer reference_sigmoid(const ir::Node& node);
KernelOffer reference_sigmoid_grad(const ir::Node& node);
KernelOffer reference_slice(const ir::Node& node);
KernelOffer reference_slice_grad(const ir::Node& node);
KernelOffer reference_softmax(const ir::Node& node);
KernelOffer reference_softmax_grad(const ir::Node& node);
KernelOffer reference_softplus(const ir::Node& node);
KernelOffer reference_softplus_grad(const ir::Node& node);
KernelOffer reference_space_to_depth(const ir::Node& node);
KernelOffer reference_standardise_image(const ir::Node& node);
KernelOffer reference_sum_slices(const ir::Node& node);
KernelOffer reference_swish(const ir::Node& node);
KernelOffer reference_swish_grad(const ir::Node& node);
KernelOffer reference_tanh(const ir::Node& node);
KernelOffer reference_tanh_grad(const ir::Node& node);
KernelOffer reference_top_k_accuracy(const ir::Node& node);
KernelOffer reference_weigh(const ir::Node& node);
KernelOffer reference_view(const ir::Node& node);

}  // namespace pando::kernels
