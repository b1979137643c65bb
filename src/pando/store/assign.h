// Decides which weight of a file goes to which weight of a model, before anything is changed.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pando/store/weights_file.h"

namespace pando::store {

// Entries of one layer are consecutive, in the order of the model.
struct ExpectedWeight {
  std::string layer;
  std::string name;
  Shape shape;
};

enum class MatchMode {
  strict,   // the n-th layer with weights of the file is the n-th of the model; names may differ
  by_name,  // layers with equal names; the others are not changed
};

struct AssignOptions {
  MatchMode mode = MatchMode::strict;
  bool skip_mismatch = false;  // by_name only: skip a layer whose weights do not fit
};

struct Assignment {
  std::vector<const Tensor*> sources;  // one for each expected weight; nullptr: not changed
  std::vector<std::string> skipped;    // "layer 'x': why", for layers of the model not changed
  std::vector<std::string> unused;     // layers of the file that no layer of the model uses
};

// Within a layer, weights are matched by name if both sides have the same names, else by order. The
// result points into `file`. Throws InvalidArgument if a count or a shape does not fit.
Assignment plan_assignment(std::span<const ExpectedWeight> expected, const WeightsFile& file,
                           const AssignOptions& options = {});

}  // namespace pando::store
