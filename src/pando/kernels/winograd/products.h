// The products of Winograd's planes, compiled once per instruction set. This header may contain
// only plain data, for the reason given in direct/isa_kernels.h.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace pando::kernels::winograd {

// y[i][c] = start + sum over k of x(i, k) * w[k][c], for one or two whole vectors of c. Rows begin
// every `stride` floats. Each y[i][c] is one chain of multiply-adds in the order of k, as in
// direct::PanelArgs.
struct ProductArgs {
  const float* x = nullptr;
  int64_t x_stride = 0;
  int64_t rows = 0;  // of y
  int64_t k_count = 0;
  const float* w = nullptr;
  int64_t w_stride = 0;
  float* y = nullptr;
  int64_t y_stride = 0;
  bool accumulate = false;  // start from y instead of 0
};

// Null where the panels of direct::IsaKernels are as fast.
struct Products {
  // One vector of c; x(i, k) = x[i * x_stride + k]. Reads x up to the next whole vector of k.
  void (*narrow)(const ProductArgs&) = nullptr;
  // By vectors of c - 1; x(i, k) = x[k * x_stride + i].
  void (*transposed[2])(const ProductArgs&) = {};
  int64_t fewest_rows = 0;  // of `transposed`
};

}  // namespace pando::kernels::winograd
