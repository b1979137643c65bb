// The stages that a benchmark measures. Private to the folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pando/data/dataset.h"
#include "pando/datasets/tools/benchmark.h"

namespace pando::datasets {

// What one call of a stage did.
struct StageCount {
  int64_t samples = 0;
  double in = 0;  // bytes
  double out = 0;
};

// Does all work up to a stage for unit `unit` of the data set: a sample or a few. Used by one
// thread.
using StageWork = std::function<StageCount(int64_t unit)>;

struct Stage {
  std::string name;
  std::string what;
  std::function<StageWork()> make;  // the work with the memory of one thread
};

struct Pipeline {
  int64_t units = 0;
  int64_t samples = 0;
  std::vector<Stage> stages;
  std::optional<Dataset> batches;  // what batches are made of, in the order of training
};

}  // namespace pando::datasets
