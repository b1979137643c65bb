// Makes the Model for one run of an estimator: described, spread over devices, compiled.
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
  std::function<void(std::string_view)> tell = {};  // receives notes for the user
};

// Throws InvalidArgument, in training also if there are several replicas but no
// CrossReplicaOptimizer.
Model make_model(const Description& description, const RunModelRequest& request);

// Sets the weights of the model to those of the file, by name. Throws InvalidArgument if one is
// missing or has another shape.
void assign_weights(Model& model, const store::WeightsFile& file);

// Throws InvalidArgument if a weight of the file `path` has a different shape than the model's.
void check_shape(const std::string& name, const Tensor& saved, const Tensor& own,
                 const std::string& path);

// Copies the weights of the first instance to all instances of a job.
void share_weights(Model& model);

}  // namespace pando::estimator
