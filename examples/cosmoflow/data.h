// The volumes: one that repeats, or files.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <pando/pando.h>

#include "config.h"

namespace cosmo {

struct Data {
  pando::Dataset train;                      // without end, in the order of training
  pando::Dataset epoch;                      // each training sample once
  std::optional<pando::Dataset> validation;  // none where n_valid is 0
};

// Every instance of a job opens the whole data: Model and Estimator share the batches among the
// instances, so that here nothing is divided. Throws IoError, UsageError with the rule.
Data open_data(const Config& config);

// The mean absolute error on the validation data of always answering with the mean targets of
// training: what a network has to beat. Of both at most 512 samples are read. Requires: validation
// data.
double error_of_mean(const Data& data);

}  // namespace cosmo
