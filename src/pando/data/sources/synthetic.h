// Random samples that never change, for benchmarks and tests without files.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/data/dataset.h"

namespace pando {

struct SyntheticOptions {
  int64_t size = 10000;
  Shape x_shape = {28, 28, 1};
  int64_t classes = 10;  // labels "y" i32 below this; 0: targets "y" f32 of shape y_shape instead
  Shape y_shape = {};
  uint64_t seed = 0;
  int64_t distinct = 64;  // how many samples are kept in memory; sample i is i mod distinct
};

// x and f32 targets are normal with mean 0 and deviation 1, labels are uniform: all a pure
// function of the options.
Dataset synthetic(const SyntheticOptions& options = {});

}  // namespace pando
