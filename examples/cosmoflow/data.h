// The volumes: one random volume that is repeated, or files.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <pando/pando.h>

#include "config.h"

namespace cosmo {

struct Data {
  pando::Dataset train;                      // repeated without end, in the order of training
  pando::Dataset epoch;                      // each training sample once
  std::optional<pando::Dataset> validation;  // none if n_valid is 0
};

// Every instance of a job opens all of the data. Model and Estimator divide the batches among the
// instances, so nothing is divided here. Throws IoError, or UsageError if a number does not fit.
Data open_data(const Config& config);

// The mean absolute error on the validation data of a prediction that is always the mean of the
// training targets. A network must beat this. Reads at most 512 samples of each. Requires:
// validation data.
double error_of_mean(const Data& data);

}  // namespace cosmo
