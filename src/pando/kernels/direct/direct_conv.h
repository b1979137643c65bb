// Pando's own f32 convolution: an implicit matrix product of channels-last tensors that makes no
// copy per tap.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pando/kernels/activation.h"
#include "pando/kernels/conv_geometry.h"
#include "pando/kernels/part.h"

namespace pando::kernels {

// y = activation(convolution + bias + residual); alpha is the slope of leaky_relu below zero.
// Pooling takes no residual.
struct Epilogue {
  const float* bias = nullptr;
  Activation activation = Activation::none;
  float alpha = 0;
  const float* residual = nullptr;  // of the shape of y
};

// Max pooling of a convolution's result; windows are not padded and do not overlap.
struct PoolGeometry {
  ConvGeometry::Extents window = {1, 1, 1};
  ConvGeometry::Extents stride = {1, 1, 1};  // must equal the window
  ConvGeometry::Extents out = {1, 1, 1};
};

// How to run one convolution on this CPU. Immutable; its methods may be called from any thread and
// do not allocate. Every method computes one part of its work. Parts write disjoint outputs, except
// that each part of backward_kernel writes its own sum of full size. The result of a sample depends
// neither on the batch nor on how the work is cut into parts. Scratch memory needs no alignment and
// no initial value.
class DirectConv {
 public:
  // Whether the constructor accepts the geometry. If not, the reason is written to *why_not unless
  // that is null.
  static bool supports(const ConvGeometry& geometry, std::string* why_not = nullptr);

  // Reads the environment variable PANDO_ISA (avx512, avx2 or sse2; default: the best that this CPU
  // has). `pool` is needed for forward_pool only. Throws Unsupported for the geometry, or
  // InvalidArgument for a pool that does not fit.
  explicit DirectConv(const ConvGeometry& geometry, std::optional<PoolGeometry> pool = {});

  const ConvGeometry& geometry() const;
  std::string name() const;  // "direct:avx2 6x2": instruction set, rows x vectors of a tile

  size_t forward_kernel_floats() const;       // for forward and forward_pool
  size_t backward_kernel_floats() const;      // for backward_input
  size_t forward_pool_scratch_bytes() const;  // per part; forward and backward_input need none
  size_t backward_kernel_scratch_bytes() const;

  void pack_forward(const float* filter, float* packed, Part part = {}) const;
  void pack_backward(const float* filter, float* packed, Part part = {}) const;

  void forward(const float* x, const float* packed, const Epilogue& epilogue, float* y,
               Part part = {}) const;

  struct PoolOutput {
    float* y = nullptr;
    uint8_t* index = nullptr;  // of the maximum in its window, row-major; the first wins ties
  };
  void forward_pool(const float* x, const float* packed, const Epilogue& epilogue,
                    const PoolOutput& pooled, std::byte* scratch, Part part = {}) const;

  // An epilogue makes it a transposed convolution, with one number of bias per channel of dx.
  void backward_input(const float* dy, const float* packed_backward, const Epilogue& epilogue,
                      float* dx, Part part = {}) const;

  struct FilterGradient {
    float* filter = nullptr;
    float* bias = nullptr;  // may be null
  };
  // Overwrites the gradient with the sum over this part's share of the outputs.
  void backward_kernel(const float* x, const float* dy, const FilterGradient& gradient,
                       std::byte* scratch, Part part = {}) const;

 private:
  struct Plans;
  std::shared_ptr<const Plans> plans_;
};

}  // namespace pando::kernels
