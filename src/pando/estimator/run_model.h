// A Model for one run of an estimator: described, spread over devices, compiled.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/estimator/description.h"
#include "pando/store/weights_file.h"
#include "pando/train/model.h"

namespace pando::estimator {

struct RunModelRequest {
  RunMode mode = RunMode::train;
  int64_t batch = 1;          // samples of a micro-batch on each replica
  std::vector<Field> fields;  // of the data
  const RunConfig* config = nullptr;
  std::function<void(std::string_view)> tell = {};  // gets what the user did not ask for by name
};

// Throws InvalidArgument, in training also for replicas whose gradients nobody sums up.
Model make_model(const Description& description, const RunModelRequest& request);

// Gives the model the weights of the file by their names. Throws InvalidArgument when one is
// missing or has another shape.
void assign_weights(Model& model, const store::WeightsFile& file);

// Throws InvalidArgument when a weight of the file `path` has another shape than the model's.
void check_shape(const std::string& name, const Tensor& saved, const Tensor& own,
                 const std::string& path);

// Gives all instances of a job the weights of the first.
void share_weights(Model& model);

}  // namespace pando::estimator
