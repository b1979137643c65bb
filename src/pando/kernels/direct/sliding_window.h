// Walks the outer rows of a part block by block and gives each block its source: the tensor itself,
// or a zero-bordered copy that slides along the sample.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "pando/kernels/direct/gather_plan.h"
#include "pando/kernels/part.h"

namespace pando::kernels::direct {

struct Block {
  int64_t sample = 0;
  int64_t row = 0;  // first outer row
  int64_t rows = 0;
  const float* window = nullptr;
};

class SlidingWindow {
 public:
  // `memory`: plan.window_floats() floats.
  SlidingWindow(const GatherPlan& plan, const float* source, float* memory)
      : plan_(plan), source_(source), memory_(memory) {}

  const float* move_to(int64_t sample, int64_t row, int64_t rows);

 private:
  void load_plane(const float* sample, int64_t position, float* to) const;

  const GatherPlan& plan_;
  const float* source_;
  float* memory_;
  int64_t sample_ = -1;
  int64_t begin_ = 0;  // source positions held: [begin_, end_)
  int64_t end_ = 0;
};

template <typename Function>
void for_each_block(const GatherPlan& plan, SlidingWindow window, Part part, Function&& function) {
  const int64_t units = plan.units();
  const int64_t unit_rows = plan.spec.unit_rows;
  const int64_t end = part.end(plan.spec.batch * units);
  for (int64_t unit = part.begin(plan.spec.batch * units); unit < end;) {
    const int64_t sample = unit / units;
    const int64_t first = unit % units;
    const int64_t count = std::min({plan.block_rows / unit_rows, units - first, end - unit});
    Block block{sample, first * unit_rows, count * unit_rows};
    block.window = window.move_to(sample, block.row, block.rows);
    function(block);
    unit += count;
  }
}

}  // namespace pando::kernels::direct
