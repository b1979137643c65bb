// Walks the outer rows of a part block by block.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "pando/kernels/direct/gather_plan.h"
#include "pando/kernels/part.h"

namespace pando::kernels::direct {

// Outer rows of one sample, or several whole samples.
struct Block {
  int64_t sample = 0;
  int64_t samples = 1;
  int64_t row = 0;
  int64_t rows = 0;
};

template <typename Function>
void for_each_block(const GatherPlan& plan, Part part, Function&& function) {
  const int64_t units = plan.units();
  const int64_t unit_rows = plan.spec.unit_rows;
  const int64_t end = part.end(plan.spec.batch * units);
  for (int64_t unit = part.begin(plan.spec.batch * units); unit < end;) {
    Block block{unit / units, 1, unit % units * unit_rows};
    const int64_t left = std::min(units - unit % units, end - unit);
    const int64_t count = std::min(plan.block_rows / unit_rows, left);
    if (count == units) block.samples = std::min(plan.block_samples, (end - unit) / units);
    block.rows = count * unit_rows;
    function(block);
    unit += count * block.samples;
  }
}

// The outer rows [begin, end) of a phase that lie in a block, relative to the phase's first row.
struct PhaseRows {
  PhaseRows(const Phase& phase, const Block& block)
      : begin(std::max(block.row, phase.begin[0]) - phase.begin[0]),
        end(std::min(block.row + block.rows, phase.begin[0] + phase.count[0]) - phase.begin[0]),
        samples(block.samples) {}

  bool empty() const { return begin >= end; }
  int64_t pixels(const Phase& phase) const {
    return samples * (end - begin) * phase.pixels_per_row();
  }

  int64_t begin;
  int64_t end;
  int64_t samples;
};

}  // namespace pando::kernels::direct
