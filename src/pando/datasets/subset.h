// Some classes and some samples of a data set (--dataset-classes, --train-samples,
// --test-samples).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pando/datasets/preparation.h"

namespace pando::datasets {

struct SubsetOptions {
  std::vector<std::string> classes;  // names or numbers; they get the labels 0, 1, ... Empty: all
  int64_t train = 0;                 // samples, spread evenly over the classes; 0: all
  int64_t test = 0;

  bool on() const { return !classes.empty() || train > 0 || test > 0; }
};

// Leaves only these samples, in their order. Which ones does not depend on the seed of a run. Reads
// every sample once for its label. Throws UsageError, which names the flag, for labels that are not
// single classes, for data that are read as a stream, an unknown class, and more samples than there
// are.
void take_subset(TrainingData& data, const SubsetOptions& options);

}  // namespace pando::datasets
