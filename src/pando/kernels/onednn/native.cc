// SPDX-License-Identifier: MIT
#include "pando/kernels/onednn/native.h"

#include <string_view>

#include "pando/base/strings.h"
#include "pando/kernels/conv_node.h"
#include "pando/kernels/onednn/primitive_impl.h"
#include "pando/kernels/winograd/conv_kernels.h"
#include "pando/tensor/half_isa.h"

namespace pando::kernels {
namespace {

// Measured on a Zen 4 core with bf16: the time of the best candidate in f32 tiles divided by the
// time of the native candidate. Above 1, native is faster. The row of Winograd is of tiles of 2x2
// outputs; those of 4x4 came later.
//                                       forward       input gradient  filter gradient
//   3x3, 16 .. 256 channels (Winograd)  1.16 .. 1.4   1.13 .. 1.4     1.0 .. 1.5; 8x8 outputs 0.85
//   3x3 with stride 2, 512 channels     1.8 .. 2.5    1.9 .. 2.0      1.4 .. 1.8
//   1x1                                 1.9 .. 2.3    1.85 .. 2.5     1.85 .. 1.9; 49 rows 0.86
//   3 channels                          1.1 .. 1.4    1.9 .. 2.8      1.6 .. 1.8
//   dense, batch 16 and 32              1.2 .. 3.2    1.0 .. 1.7      0.5 .. 1.1
// The rule: native yields only for filter and weight gradients, where Winograd handles short rows
// and where an element of the gradient is the sum of few products.
constexpr int64_t kFewestRows = 64;
constexpr int64_t kShortestRow = 14;

std::string why_others_are_faster(const ir::Node& node) {
  const Shape& y = node.input(1)->shape();
  const bool dense = node.op() == "dense_filter_grad";
  const int64_t rows = dense ? y.front() : y.elements() / y.back();
  const Shape& filter = node.output()->shape();
  const bool one_tap = dense || filter.elements() == filter.back() * filter[filter.rank() - 2];
  if (one_tap && rows < kFewestRows) {
    return concat("other candidates are faster below ", kFewestRows, " rows; this node has ", rows);
  }
  if (dense || y[y.rank() - 2] >= kShortestRow) return "";
  if (winograd_conv_filter_grad(node).kernel == nullptr) return "";
  return concat("Winograd is faster for output rows shorter than ", kShortestRow);
}

}  // namespace

// oneDNN supports bf16 on every AVX-512 processor, but without bf16 instructions it emulates them
// and is slower than f32. It refuses f16 by itself if the processor lacks it.
std::string why_not_native(DType dtype) {
  const std::string_view isa = chosen_half_isa().name;
  if (isa != "avx512") return concat("needs avx512; the instruction set in use is ", isa);
  onednn::cpu_engine();  // chooses the instruction sets
  const auto has = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  if (dtype == DType::bf16 && (has & wanted) != wanted) {
    return "this processor has no bf16 instructions";
  }
  return "";
}

std::string why_not_native_product(const ir::Node& node) {
  return why_not_native(node.input(0)->type().dtype);
}

std::string why_not_native_filter_grad(const ir::Node& node) {
  std::string reason = why_not_native_product(node);
  return reason.empty() ? why_others_are_faster(node) : reason;
}

}  // namespace pando::kernels
