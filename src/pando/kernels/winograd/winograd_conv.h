// Winograd's convolutions F(2x2, 3x3) and F(4x4, 3x3) in f32, channels-last: 16 products for a tile
// of 2x2 outputs instead of 36, or 36 for a tile of 4x4 instead of 144. Tiles are transformed a few
// at a time, so that they stay in the second-level cache from the first transform to the last.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "pando/kernels/conv_geometry.h"
#include "pando/kernels/direct/direct_conv.h"
#include "pando/kernels/part.h"

namespace pando::kernels {

// How to run one convolution on this CPU. Its methods have the same contract as those of
// DirectConv. An infinity or NaN in the input reaches all outputs of a tile that reads it.
class WinogradConv {
 public:
  // Whether the constructor accepts the geometry. If not, the reason is written to *why_not unless
  // that is null.
  static bool supports(const ConvGeometry& geometry, std::string* why_not = nullptr);

  // `tile` outputs are an edge of a tile: 2 or 4. Reads the environment variable PANDO_ISA as
  // DirectConv does. Throws Unsupported.
  WinogradConv(const ConvGeometry& geometry, int tile);

  const ConvGeometry& geometry() const;
  int tile() const;
  std::string isa_name() const;

  size_t forward_kernel_floats() const;  // for forward and forward_pool
  size_t backward_kernel_floats() const;
  size_t forward_scratch_bytes() const;  // per part; for forward and forward_pool
  size_t backward_input_scratch_bytes() const;
  size_t backward_kernel_scratch_bytes() const;

  void pack_forward(const float* filter, float* packed, Part part = {}) const;
  void pack_backward(const float* filter, float* packed, Part part = {}) const;

  struct Input {
    const float* x = nullptr;
    const float* packed = nullptr;
    Epilogue epilogue = {};
  };
  void forward(const Input& input, float* y, std::byte* scratch, Part part = {}) const;
  // Max pooling with windows of 2x2, which are the tiles. Requires: tiles of 2x2, at least 2x2
  // outputs.
  void forward_pool(const Input& input, const DirectConv::PoolOutput& pooled, std::byte* scratch,
                    Part part = {}) const;
  // `input` holds dy and the filter packed by pack_backward.
  void backward_input(const Input& input, float* dx, std::byte* scratch, Part part = {}) const;
  // Overwrites the gradient with the sum over this part's share of the tiles.
  void backward_kernel(const float* x, const float* dy, const DirectConv::FilterGradient& gradient,
                       std::byte* scratch, Part part = {}) const;

 private:
  struct Plans;
  std::shared_ptr<const Plans> plans_;
};

}  // namespace pando::kernels
