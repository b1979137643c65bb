// The inner loops of the direct convolution, compiled once per instruction set. This header may
// contain only plain data: the sources behind it are compiled with special flags, and the linker
// could keep their copy of a shared inline function, which this CPU may not be able to run.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

#include "pando/kernels/activation.h"
#include "pando/kernels/winograd/products.h"
#include "pando/kernels/winograd/transforms.h"

namespace pando::kernels::direct {

// One column panel of a gathered matrix product:
//   y[i][c] = finish(start + sum over k of x[row_offset[i] + k_offset[k]] * w[k][c])
// for i < rows and c < channels, where w[k] starts at w + w_row[k] * w_stride and y[i] at
// y + y_row[i] * y_stride; a null table of rows means 0, 1, 2, ... Rows are pixels in forward and
// backward_input, filter elements in backward_kernel. Every y[i][c] is one chain of multiply-adds
// in the order of k, so neither the register tiling nor a split of k over several calls with
// `accumulate` changes its bits.
struct PanelArgs {
  const float* x = nullptr;
  const int32_t* row_offset = nullptr;
  int64_t rows = 0;
  const int32_t* k_offset = nullptr;
  int64_t k_count = 0;
  const float* w = nullptr;  // whole vectors are read: pad each row with zeros
  const int32_t* w_row = nullptr;
  int64_t w_stride = 0;
  const float* fetch = nullptr;  // floats needed next, prefetched during this call
  int64_t fetch_count = 0;
  float* y = nullptr;
  const int32_t* y_row = nullptr;
  int64_t y_stride = 0;
  int64_t last_lanes = 0;   // how many lanes of the last vector exist in y and bias
  bool accumulate = false;  // start from y instead of 0
  bool finish = false;      // add the bias and the residual, apply the activation
  bool fetch_y = false;     // prefetch the results of a tile while the tile before is computed
  const float* bias = nullptr;
  const float* residual = nullptr;  // its rows lie as those of y
  Activation activation = Activation::none;
  float alpha = 0;
};

// Applies a curve without code of its own in these sources to `count` numbers.
void apply_curve(Activation activation, float alpha, float* values, int64_t count);

// Max pooling of one row of windows; windows do not overlap.
struct PoolRowArgs {
  const float* x = nullptr;  // first element of the first window
  int64_t plane_stride = 0;  // floats between neighbours of the window along depth
  int64_t row_stride = 0;    // and height; along width: `channels`
  int64_t window[3] = {1, 1, 1};
  int64_t channels = 0;
  int64_t count = 0;  // windows
  float* y = nullptr;
  uint8_t* index = nullptr;  // position of the maximum in its window, row-major, first wins
};

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns.
struct TransposeArgs {
  const float* from = nullptr;
  int64_t from_stride = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  float* to = nullptr;
  int64_t to_stride = 0;
};

// Rows of `channels` floats that start at x + row[i] * stride; a null table means 0, 1, 2, ...
struct RowsArgs {
  const float* x = nullptr;
  const int32_t* row = nullptr;
  int64_t rows = 0;
  int64_t stride = 0;
  int64_t channels = 0;
  float* y = nullptr;
};

constexpr int kMaxVectors = 3;  // of the widest panel

// Panels for packed x. The rows are distributed evenly over tiles of at most `rows` rows; packed, a
// tile is [k_count][rows of the tile]. `panel` needs no table of x or y and applies no epilogue.
// All take at least `rows` rows.
constexpr int kMaxPackedVectors = 2;

struct PackedKernels {
  int rows = 0;                                             // 0: there are no such kernels
  void (*panel[kMaxPackedVectors])(const PanelArgs&) = {};  // by panel width - 1
  // Packs the transposed x: its `channels` are the rows of the tiles, its rows are k.
  void (*pack_columns)(const RowsArgs&) = nullptr;
};

struct IsaKernels {
  const char* name;
  int lanes;
  int preferred_vectors;       // the panel width that keeps the most registers busy
  int tile_rows[kMaxVectors];  // rows held in registers, by panel width - 1
  void (*panel[kMaxVectors])(const PanelArgs&);
  void (*pool_row)(const PoolRowArgs&);
  void (*add_rows)(const RowsArgs&);   // y += the sum of the rows
  void (*copy_rows)(const RowsArgs&);  // y = the rows, padded with zeros to whole vectors
  void (*transpose)(const TransposeArgs&);
  winograd::Transforms winograd2, winograd4;  // tiles of 2x2 and of 4x4 outputs
  winograd::Products products = {};
  PackedKernels packed = {};
};

const IsaKernels& sse2_kernels();
const IsaKernels& avx2_kernels();
const IsaKernels& avx512_kernels();

// The best instruction set of this CPU, or the one that the environment variable PANDO_ISA names.
// Throws InvalidArgument for an unknown name, Unsupported for one that this CPU lacks.
const IsaKernels& choose_isa();

}  // namespace pando::kernels::direct
