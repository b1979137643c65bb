// The transforms of Winograd's convolutions F(2x2, 3x3) and F(4x4, 3x3), compiled once per
// instruction set. A tile of outputs is A^T [ sum over channels of (G g G^T) * (B^T d B) ] A, where
// d is the pixels under the tile, g the 3x3 filter and * the element-wise product. transforms.inc
// has the matrices. This header may contain only plain data, for the reason given in
// direct/isa_kernels.h.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

#include "pando/kernels/activation.h"

namespace pando::kernels::winograd {

constexpr int kLargestTile = 4;                 // outputs along an edge of a tile
constexpr int kLargestSize = kLargestTile + 2;  // pixels under a tile along an edge
constexpr int kMostPlanes = kLargestSize * kLargestSize;

// Transformed tiles: plane p of tile i starts at data + p * plane + i * stride and holds one float
// per channel, padded to whole vectors. The planes are the elements of a transformed tile,
// row-major.
struct Planes {
  float* data = nullptr;
  int64_t plane = 0;
  int64_t stride = 0;
};

// planes = B^T d B for neighbouring tiles of one row of tiles.
struct InputArgs {
  const float* row[kLargestSize] = {};  // pixel 0 of each row of pixels; null: zeros
  int64_t pixels = 0;                   // of a row
  int64_t first = 0;  // pixel of the first tile's first column; pixels outside are zeros
  int64_t tiles = 0;
  int64_t channels = 0;
  Planes planes;
};

// y = activation(A^T planes A + bias + residual).
struct OutputArgs {
  Planes planes;
  int64_t tiles = 0;
  float* row[kLargestTile] = {};  // the first tile's place in each row; null: no such row
  int64_t pixels = 0;             // left in a row from there; the last tile may have fewer columns
  int64_t channels = 0;
  const float* bias = nullptr;
  const float* residual[kLargestTile] = {};  // as row; null: none. output_pool takes none.
  Activation activation = Activation::none;
  float alpha = 0;
  uint8_t* index = nullptr;  // output_pool: row[0] gets the maximum of a tile, index its position
};

// planes = A dy A^T, the gradient of `planes` in OutputArgs.
struct OutputGradArgs {
  const float* row[kLargestTile] = {};
  int64_t pixels = 0;
  int64_t tiles = 0;
  int64_t channels = 0;
  Planes planes;
};

// Converts between the nine taps of one row of filter elements and its place in the planes.
struct KernelArgs {
  const float* from = nullptr;
  int64_t from_step = 0;  // floats from one tap or plane to the next
  float* to = nullptr;
  int64_t to_step = 0;
  int64_t channels = 0;
};

struct Transforms {
  int tile;    // outputs along an edge of a tile: 2 or 4
  int size;    // pixels under a tile along an edge
  int planes;  // elements of a transformed tile
  void (*input)(const InputArgs&);
  void (*output)(const OutputArgs&);
  void (*output_pool)(const OutputArgs&);  // null for tiles of 4x4
  void (*output_grad)(const OutputGradArgs&);
  void (*filter)(const KernelArgs&);          // planes = G taps G^T, padded to whole vectors
  void (*rotated_kernel)(const KernelArgs&);  // the same with the taps in reverse order
  void (*filter_grad)(const KernelArgs&);     // taps = G^T planes G
};

}  // namespace pando::kernels::winograd
