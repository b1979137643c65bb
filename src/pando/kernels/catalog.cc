// The only list of kernels: the candidates of each op in order of preference.
// SPDX-License-Identifier: MIT
#include <map>

#include "pando/base/error.h"
#include "pando/kernels/direct/conv_kernels.h"
#include "pando/kernels/direct/dense_kernels.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/half/half_kernel.h"
#include "pando/kernels/kernel.h"
#include "pando/kernels/onednn/native.h"
#include "pando/kernels/onednn/onednn.h"
#include "pando/kernels/reference/reference.h"
#include "pando/kernels/winograd/conv_kernels.h"

namespace pando::kernels {

const std::vector<Candidate>& candidates(std::string_view op) {
  static const std::map<std::string, std::vector<Candidate>, std::less<>> catalog = {
      {"add", {{"fast", fast_add}, {"reference", reference_add}}},
      {"avg_pool", {{"fast", fast_avg_pool}, {"reference", reference_avg_pool}}},
      {"avg_pool_grad", {{"fast", fast_avg_pool_grad}, {"reference", reference_avg_pool_grad}}},
      {"batch_moments", {{"fast", fast_batch_moments}, {"reference", reference_batch_moments}}},
      {"batch_norm", {{"fast", fast_batch_norm}, {"reference", reference_batch_norm}}},
      {"batch_norm_input_grad",
       {{"fast", fast_batch_norm_input_grad}, {"reference", reference_batch_norm_input_grad}}},
      {"batch_norm_sums",
       {{"fast", fast_batch_norm_sums}, {"reference", reference_batch_norm_sums}}},
      {"cast", {{"fast", fast_cast}, {"reference", reference_cast}}},
      {"channel_sums", {{"fast", fast_channel_sums}, {"reference", reference_channel_sums}}},
      {"checkpoint", {{"reference", reference_view}}},
      {"clip", {{"fast", fast_clip}, {"reference", reference_clip}}},
      {"clip_grad", {{"fast", fast_clip_grad}, {"reference", reference_clip_grad}}},
      {"combine_moments",
       {{"fast", fast_combine_moments}, {"reference", reference_combine_moments}}},
      {"concat", {{"fast", fast_concat}, {"reference", reference_concat}}},
      {"conv",
       {{"native", onednn_conv, why_not_native_product},
        {"depthwise", depthwise_conv},
        {"winograd", winograd_conv},
        {"direct", direct_conv},
        {"onednn", onednn_conv},
        {"reference", reference_conv}}},
      {"conv_input_grad",
       {{"native", onednn_conv_input_grad, why_not_native_product},
        {"depthwise", depthwise_conv_input_grad},
        {"winograd", winograd_conv_input_grad},
        {"direct", direct_conv_input_grad},
        {"onednn", onednn_conv_input_grad},
        {"reference", reference_conv_input_grad}}},
      {"conv_filter_grad",
       {{"native", onednn_conv_filter_grad, why_not_native_filter_grad},
        {"depthwise", depthwise_conv_filter_grad},
        {"winograd", winograd_conv_filter_grad},
        {"direct", direct_conv_filter_grad},
        {"onednn", onednn_conv_filter_grad},
        {"reference", reference_conv_filter_grad}}},
      {"conv_transpose",
       {{"native", onednn_conv_transpose, why_not_native_product},
        {"depthwise", depthwise_conv_input_grad},
        {"winograd", winograd_conv_input_grad},
        {"direct", direct_conv_input_grad},
        {"onednn", onednn_conv_transpose},
        {"reference", reference_conv_input_grad}}},
      {"conv_pool",
       {{"winograd", winograd_conv_pool},
        {"direct", direct_conv_pool},
        {"reference", reference_conv_pool}}},
      {"conv_pool_input_grad",
       {{"fast", fast_conv_pool_input_grad}, {"reference", reference_conv_pool_input_grad}}},
      {"conv_pool_filter_grad",
       {{"fast", fast_conv_pool_filter_grad}, {"reference", reference_conv_pool_filter_grad}}},
      {"cross_entropy", {{"fast", fast_cross_entropy}, {"reference", reference_cross_entropy}}},
      {"cross_entropy_grad",
       {{"fast", fast_cross_entropy_grad}, {"reference", reference_cross_entropy_grad}}},
      {"dense",
       {{"native", onednn_dense, why_not_native_product},
        {"direct", direct_dense},
        {"onednn", onednn_dense},
        {"reference", reference_dense}}},
      {"dense_input_grad",
       {{"native", onednn_dense_input_grad, why_not_native_product},
        {"direct", direct_dense_input_grad},
        {"onednn", onednn_dense_input_grad},
        {"reference", reference_dense_input_grad}}},
      {"dense_filter_grad",
       {{"native", onednn_dense_filter_grad, why_not_native_filter_grad},
        {"direct", direct_dense_filter_grad},
        {"onednn", onednn_dense_filter_grad},
        {"reference", reference_dense_filter_grad}}},
      {"depth_to_space", {{"fast", fast_depth_to_space}, {"reference", reference_depth_to_space}}},
      {"dropout", {{"fast", fast_dropout}, {"reference", reference_dropout}}},
      {"elu", {{"fast", fast_elu}, {"reference", reference_elu}}},
      {"elu_grad", {{"fast", fast_elu_grad}, {"reference", reference_elu_grad}}},
      {"flip_where", {{"fast", fast_flip_where}, {"reference", reference_flip_where}}},
      {"gelu", {{"fast", fast_gelu}, {"reference", reference_gelu}}},
      {"gelu_grad", {{"fast", fast_gelu_grad}, {"reference", reference_gelu_grad}}},
      {"global_avg_pool",
       {{"fast", fast_global_avg_pool}, {"reference", reference_global_avg_pool}}},
      {"global_avg_pool_grad",
       {{"fast", fast_global_avg_pool_grad}, {"reference", reference_global_avg_pool_grad}}},
      {"global_max_pool",
       {{"fast", fast_global_max_pool}, {"reference", reference_global_max_pool}}},
      {"global_max_pool_grad",
       {{"fast", fast_global_max_pool_grad}, {"reference", reference_global_max_pool_grad}}},
      {"group_norm", {{"fast", fast_group_norm}, {"reference", reference_group_norm}}},
      {"group_norm_input_grad",
       {{"fast", fast_group_norm_input_grad}, {"reference", reference_group_norm_input_grad}}},
      {"group_norm_sums",
       {{"fast", fast_group_norm_sums}, {"reference", reference_group_norm_sums}}},
      {"hard_sigmoid", {{"fast", fast_hard_sigmoid}, {"reference", reference_hard_sigmoid}}},
      {"hard_sigmoid_grad",
       {{"fast", fast_hard_sigmoid_grad}, {"reference", reference_hard_sigmoid_grad}}},
      {"hard_swish", {{"fast", fast_hard_swish}, {"reference", reference_hard_swish}}},
      {"hard_swish_grad",
       {{"fast", fast_hard_swish_grad}, {"reference", reference_hard_swish_grad}}},
      {"layer_norm", {{"fast", fast_layer_norm}, {"reference", reference_layer_norm}}},
      {"layer_norm_input_grad",
       {{"fast", fast_layer_norm_input_grad}, {"reference", reference_layer_norm_input_grad}}},
      {"layer_norm_sums",
       {{"fast", fast_layer_norm_sums}, {"reference", reference_layer_norm_sums}}},
      {"leaky_relu", {{"fast", fast_leaky_relu}, {"reference", reference_leaky_relu}}},
      {"leaky_relu_grad",
       {{"fast", fast_leaky_relu_grad}, {"reference", reference_leaky_relu_grad}}},
      {"loss_seed", {{"reference", reference_loss_seed}}},
      {"max_pool", {{"fast", fast_max_pool}, {"reference", reference_max_pool}}},
      {"max_pool_grad", {{"fast", fast_max_pool_grad}, {"reference", reference_max_pool_grad}}},
      {"mean_absolute_error",
       {{"fast", fast_mean_absolute_error}, {"reference", reference_mean_absolute_error}}},
      {"mean_absolute_error_grad",
       {{"fast", fast_mean_absolute_error_grad},
        {"reference", reference_mean_absolute_error_grad}}},
      {"mean_squared_error",
       {{"fast", fast_mean_squared_error}, {"reference", reference_mean_squared_error}}},
      {"mean_squared_error_grad",
       {{"fast", fast_mean_squared_error_grad}, {"reference", reference_mean_squared_error_grad}}},
      {"mish", {{"fast", fast_mish}, {"reference", reference_mish}}},
      {"mish_grad", {{"fast", fast_mish_grad}, {"reference", reference_mish_grad}}},
      {"multiply", {{"fast", fast_multiply}, {"reference", reference_multiply}}},
      {"normalise_pixels",
       {{"fast", fast_normalise_pixels}, {"reference", reference_normalise_pixels}}},
      {"pad", {{"fast", fast_pad}, {"reference", reference_pad}}},
      {"relu", {{"fast", fast_relu}, {"reference", reference_relu}}},
      {"relu6", {{"fast", fast_relu6}, {"reference", reference_relu6}}},
      {"relu6_grad", {{"fast", fast_relu6_grad}, {"reference", reference_relu6_grad}}},
      {"relu_grad", {{"fast", fast_relu_grad}, {"reference", reference_relu_grad}}},
      {"reshape", {{"reference", reference_view}}},
      {"resize", {{"fast", fast_resize}, {"reference", reference_resize}}},
      {"resize_grad", {{"fast", fast_resize_grad}, {"reference", reference_resize_grad}}},
      {"round_variable", {{"fast", fast_cast}, {"reference", reference_cast}}},
      {"scale", {{"fast", fast_scale}, {"reference", reference_scale}}},
      {"selu", {{"fast", fast_selu}, {"reference", reference_selu}}},
      {"selu_grad", {{"fast", fast_selu_grad}, {"reference", reference_selu_grad}}},
      {"sigmoid", {{"fast", fast_sigmoid}, {"reference", reference_sigmoid}}},
      {"sigmoid_grad", {{"fast", fast_sigmoid_grad}, {"reference", reference_sigmoid_grad}}},
      {"slice", {{"fast", fast_slice}, {"reference", reference_slice}}},
      {"slice_grad", {{"fast", fast_slice_grad}, {"reference", reference_slice_grad}}},
      {"softmax", {{"fast", fast_softmax}, {"reference", reference_softmax}}},
      {"softmax_grad", {{"fast", fast_softmax_grad}, {"reference", reference_softmax_grad}}},
      {"softplus", {{"fast", fast_softplus}, {"reference", reference_softplus}}},
      {"softplus_grad", {{"fast", fast_softplus_grad}, {"reference", reference_softplus_grad}}},
      {"space_to_depth", {{"fast", fast_space_to_depth}, {"reference", reference_space_to_depth}}},
      {"standardise_image",
       {{"fast", fast_standardise_image}, {"reference", reference_standardise_image}}},
      {"sum_slices", {{"reference", reference_sum_slices}}},
      {"swish", {{"fast", fast_swish}, {"reference", reference_swish}}},
      {"swish_grad", {{"fast", fast_swish_grad}, {"reference", reference_swish_grad}}},
      {"tanh", {{"fast", fast_tanh}, {"reference", reference_tanh}}},
      {"tanh_grad", {{"fast", fast_tanh_grad}, {"reference", reference_tanh_grad}}},
      {"top_k_accuracy", {{"fast", fast_top_k_accuracy}, {"reference", reference_top_k_accuracy}}},
      {"weigh", {{"reference", reference_weigh}}},
  };
  const auto found = catalog.find(op);
  if (found == catalog.end()) throw InvalidArgument("op '", op, "' has no kernels");
  return found->second;
}

bool is_for(const Candidate& candidate, const ir::Node& node) {
  return !candidate.native() || half::has_half_operands(node);
}

KernelOffer offer_kernel(const Candidate& candidate, const ir::Node& node) {
  if (!is_for(candidate, node)) return refuse("no operand is stored in 16 bits");
  const bool converts = node.op() == "cast" || node.op() == "round_variable";
  if (converts || !half::has_half_operands(node)) return candidate.offer(node);
  return half::offer_tiled(candidate, node);
}

}  // namespace pando::kernels
