// The loops behind evaluate and predict, and what they share with fit.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "pando/runtime/program/placement.h"
#include "pando/train/model.h"
#include "pando/train/progress.h"

namespace pando::train {

// The share of this instance in the micro-batches of every global batch.
BatchShare share_of(const runtime::Placement& placement);

int64_t batches_of(const Dataset& dataset, int64_t batch);
// Throw an InvalidArgument whose message begins with `what`, for empty data or a batch size out of
// range, for data without end, and for a number of data workers out of range.
void check_data(const char* what, const Dataset& dataset, int64_t batch);
void check_finite(const char* what, const Dataset& dataset);
void check_data_workers(const char* what, int workers);

struct EvaluationRequest {
  int64_t batch = 1;
  int64_t steps_per_execution = 0;
  bool drop_remainder = false;
  int data_workers = 0;
  Progress* progress = nullptr;
  std::string prefix = {};
  profile::Trace* trace = nullptr;
  std::function<void(int64_t done, const Logs& logs)> on_execution_end = {};
};
Logs evaluate_with(Model::Impl& impl, const Dataset& dataset, const EvaluationRequest& request);

Logs run_evaluate(Model::Impl& impl, const Dataset& dataset, const EvaluateOptions& options);
std::vector<Tensor> run_predict(Model::Impl& impl, const Dataset& dataset,
                                const PredictOptions& options);

}  // namespace pando::train
