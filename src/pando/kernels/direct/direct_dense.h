// Pando's own f32 dense layer: y [N,M] = x [N,K] weights [K,M] and its gradients, which read the
// weights in their plain layout. Weights are used once per sample, which is too seldom to justify
// packing them in every step.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "pando/kernels/direct/direct_conv.h"
#include "pando/kernels/part.h"

namespace pando::kernels {

namespace direct {
struct DensePlan;
}

struct DenseGeometry {
  int64_t batch = 1;     // N
  int64_t features = 1;  // K
  int64_t units = 1;     // M
};

// How to run one dense layer on this CPU. Immutable; its methods may be called from any thread and
// do not allocate. Parts write disjoint outputs, except that each part of filter_grad writes a
// gradient of full size: its share of the rows, and zeros elsewhere. The result of a sample depends
// neither on the other samples nor on the parts. Scratch memory (one block per part) needs no
// alignment and no initial value.
class DirectDense {
 public:
  // Whether the constructor accepts the geometry. If not, the reason is written to *why_not unless
  // that is null.
  static bool supports(const DenseGeometry& geometry, std::string* why_not = nullptr);

  // Reads the environment variable PANDO_ISA as DirectConv does. Throws Unsupported.
  explicit DirectDense(const DenseGeometry& geometry);

  std::string name() const;  // "direct:avx2 6x2": instruction set, rows x vectors of a tile

  size_t forward_scratch_bytes() const;
  size_t input_grad_scratch_bytes() const;
  size_t filter_grad_scratch_bytes() const;

  struct Forward {
    const float* x = nullptr;
    const float* filter = nullptr;
    Epilogue epilogue = {};
    float* y = nullptr;
  };
  void forward(const Forward& call, std::byte* scratch, Part part = {}) const;

  struct InputGrad {
    const float* dy = nullptr;
    const float* filter = nullptr;
    float* dx = nullptr;
  };
  void input_grad(const InputGrad& call, std::byte* scratch, Part part = {}) const;

  struct FilterGrad {
    const float* x = nullptr;
    const float* dy = nullptr;
    float* filter = nullptr;
    float* bias = nullptr;  // may be null
  };
  void filter_grad(const FilterGrad& call, std::byte* scratch, Part part = {}) const;

 private:
  std::shared_ptr<const direct::DensePlan> plan_;
};

}  // namespace pando::kernels
