// SPDX-License-Identifier: MIT
#include "pando/kernels/onednn/native.h"

#include <algorithm>
#include <string_view>

#include "pando/base/strings.h"
#include "pando/kernels/conv_node.h"
#include "pando/kernels/onednn/primitive_impl.h"
#include "pando/kernels/winograd/conv_kernels.h"
#include "pando/ops/op.h"
#include "pando/tensor/half_isa.h"

namespace pando::kernels {
namespace {

// Measured on a Zen 4 core with bf16: the time of the best candidate in f32 tiles divided by the
// time of the native candidate. Above 1, native is faster.
//                                          forward       input gradient  filter gradient
//   3x3 against Winograd's tiles of 4x4:
//     16 -> 16 channels, 32x32 outputs      1.14          1.29            0.87
//     32 .. 128 channels, 8x8 .. 56x56      0.70 .. 0.96  0.68 .. 1.0     0.71 .. 0.88
//     256 -> 256 channels, 14x14            0.99          0.95            1.22
//   3x3 against tiles of 2x2:
//     16 .. 256 channels                    1.1 .. 1.5    1.1 .. 1.7      1.0 .. 1.3; 8x8 0.92
//   3x3 with stride 2, 512 channels         1.9 .. 2.1    1.7 .. 2.0      1.5 .. 1.8
//   1x1                                     1.5 .. 2.0    1.5 .. 2.1      1.5 .. 1.8
//   3 channels                              1.1 .. 1.4    1.9 .. 2.0      1.4 .. 1.9
//   dense, batch 16 and 32                  1.9 .. 2.4    1.0 .. 1.6      0.5 .. 1.2
// The rule: native yields to tiles of 4x4 that save enough multiplications, in forward and input
// gradients only from 32 channels on; to tiles of 2x2 only for filter gradients of short rows; and
// for gradients whose elements are sums of few products.
constexpr double kSavedBy4 = 3.0;
constexpr int64_t kChannelsFor4 = 32;
constexpr int64_t kLargestFor4 = 256 * 256;  // channels of a filter; larger ones are not measured
constexpr int64_t kFewestRows = 64;
constexpr int64_t kShortestRow = 14;

std::string why_winograd4_is_faster(const ir::Node& node, WinogradTiles most, int64_t channels) {
  if (most != WinogradTiles::up_to_4) return "";
  if (ops::definition(node).products != ops::Products::convolution) return "";
  const ConvGeometry g = conv_geometry(node);
  if (std::min(g.in_channels, g.out_channels) < channels) return "";
  if (g.in_channels * g.out_channels > kLargestFor4) return "";
  const double saved = saved_by_winograd4(node);
  if (saved < kSavedBy4) return "";
  return concat("Winograd's tiles of 4x4 are faster: they save a factor of ", saved,
                " in multiplications, it takes ", kSavedBy4);
}

std::string why_others_are_faster(const ir::Node& node, WinogradTiles most) {
  const Shape& y = node.input(1)->shape();
  const bool dense = node.op() == "dense_filter_grad";
  const int64_t rows = dense ? y.front() : y.elements() / y.back();
  const Shape& filter = node.output()->shape();
  const bool one_tap = dense || filter.elements() == filter.back() * filter[filter.rank() - 2];
  if (one_tap && rows < kFewestRows) {
    return concat("other candidates are faster below ", kFewestRows, " rows; this node has ", rows);
  }
  if (dense || most == WinogradTiles::off) return "";
  if (std::string why = why_winograd4_is_faster(node, most, 0); !why.empty()) return why;
  if (y[y.rank() - 2] >= kShortestRow || winograd_conv_filter_grad(node).kernel == nullptr)
    return "";
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

std::string why_not_native_product(const ir::Node& node, WinogradTiles most) {
  std::string reason = why_not_native(node.input(0)->type().dtype);
  return reason.empty() ? why_winograd4_is_faster(node, most, kChannelsFor4) : reason;
}

std::string why_not_native_filter_grad(const ir::Node& node, WinogradTiles most) {
  std::string reason = why_not_native(node.input(0)->type().dtype);
  return reason.empty() ? why_others_are_faster(node, most) : reason;
}

}  // namespace pando::kernels
