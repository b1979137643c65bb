// The work on one block of tiles: its transforms and its products, one for each plane.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/direct/direct_conv.h"
#include "pando/kernels/winograd/tile_plan.h"

namespace pando::kernels::winograd {

inline int64_t plane_floats(int64_t rows, int64_t stride) { return rows * stride + kPlaneGap; }

inline Planes planes_at(float* data, int64_t rows, int64_t stride) {
  return {data, plane_floats(rows, stride), stride};
}

// Units [first, end) of a grid.
struct Block {
  const Grid& grid;
  int64_t first;
  int64_t end;
};

// Each returns the number of tiles in the block.
int64_t transform_source(const TilePlan& plan, const Block& block, const float* source,
                         const Planes& planes);
int64_t transform_output_grad(const TilePlan& plan, const Block& block, const float* dy,
                              const Planes& planes);

// Adds the output gradients of the block to `sums`, by channel.
void add_output_grad(const TilePlan& plan, const Block& block, const float* dy, float* sums);

// product = source planes * packed filter.
struct Product {
  Planes source;
  const float* packed;
  Planes product;
  int64_t tiles;
};
void multiply(const TilePlan& plan, const Product& product);

struct Output {
  Epilogue epilogue;
  float* y = nullptr;
  uint8_t* index = nullptr;  // not null: max pooling over tiles
};
void transform_product(const TilePlan& plan, const Block& block, const Planes& product,
                       const Output& output);

}  // namespace pando::kernels::winograd
