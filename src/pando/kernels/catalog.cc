// The only list of kernels: for each op its candidates in order of preference.
// SPDX-License-Identifier: MIT
#include <map>

#include "pando/base/error.h"
#include "pando/kernels/kernel.h"
#include "pando/kernels/reference/reference.h"

namespace pando::kernels {

const std::vector<Candidate>& candidates(std::string_view op) {
  static const std::map<std::string, std::vector<Candidate>, std::less<>> catalog = {
      {"add", {{"reference", reference_add}}},
      {"avg_pool", {{"reference", reference_avg_pool}}},
      {"avg_pool_grad", {{"reference", reference_avg_pool_grad}}},
      {"batch_moments", {{"reference", reference_batch_moments}}},
      {"batch_norm", {{"reference", reference_batch_norm}}},
      {"batch_norm_input_grad", {{"reference", reference_batch_norm_input_grad}}},
      {"batch_norm_sums", {{"reference", reference_batch_norm_sums}}},
      {"cast", {{"reference", reference_cast}}},
      {"combine_moments", {{"reference", reference_combine_moments}}},
      {"concat", {{"reference", reference_concat}}},
      {"conv", {{"reference", reference_conv}}},
      {"conv_input_grad", {{"reference", reference_conv_input_grad}}},
      {"conv_kernel_grad", {{"reference", reference_conv_kernel_grad}}},
      {"conv_pool", {{"reference", reference_conv_pool}}},
      {"cross_entropy", {{"reference", reference_cross_entropy}}},
      {"cross_entropy_grad", {{"reference", reference_cross_entropy_grad}}},
      {"dense", {{"reference", reference_dense}}},
      {"dense_input_grad", {{"reference", reference_dense_input_grad}}},
      {"dense_kernel_grad", {{"reference", reference_dense_kernel_grad}}},
      {"dropout", {{"reference", reference_dropout}}},
      {"global_avg_pool", {{"reference", reference_global_avg_pool}}},
      {"global_avg_pool_grad", {{"reference", reference_global_avg_pool_grad}}},
      {"group_norm", {{"reference", reference_group_norm}}},
      {"group_norm_input_grad", {{"reference", reference_group_norm_input_grad}}},
      {"group_norm_sums", {{"reference", reference_group_norm_sums}}},
      {"leaky_relu", {{"reference", reference_leaky_relu}}},
      {"leaky_relu_grad", {{"reference", reference_leaky_relu_grad}}},
      {"loss_seed", {{"reference", reference_loss_seed}}},
      {"max_pool", {{"reference", reference_max_pool}}},
      {"max_pool_grad", {{"reference", reference_max_pool_grad}}},
      {"mean_absolute_error", {{"reference", reference_mean_absolute_error}}},
      {"mean_absolute_error_grad", {{"reference", reference_mean_absolute_error_grad}}},
      {"mean_squared_error", {{"reference", reference_mean_squared_error}}},
      {"mean_squared_error_grad", {{"reference", reference_mean_squared_error_grad}}},
      {"multiply", {{"reference", reference_multiply}}},
      {"pad", {{"reference", reference_pad}}},
      {"relu", {{"reference", reference_relu}}},
      {"relu_grad", {{"reference", reference_relu_grad}}},
      {"reshape", {{"reference", reference_reshape}}},
      {"scale", {{"reference", reference_scale}}},
      {"sigmoid", {{"reference", reference_sigmoid}}},
      {"sigmoid_grad", {{"reference", reference_sigmoid_grad}}},
      {"slice", {{"reference", reference_slice}}},
      {"slice_grad", {{"reference", reference_slice_grad}}},
      {"softmax", {{"reference", reference_softmax}}},
      {"softmax_grad", {{"reference", reference_softmax_grad}}},
      {"sum_slices", {{"reference", reference_sum_slices}}},
      {"tanh", {{"reference", reference_tanh}}},
      {"tanh_grad", {{"reference", reference_tanh_grad}}},
      {"top_k_accuracy", {{"reference", reference_top_k_accuracy}}},
  };
  const auto found = catalog.find(op);
  if (found == catalog.end()) throw InvalidArgument("op '", op, "' has no kernels");
  return found->second;
}

}  // namespace pando::kernels
