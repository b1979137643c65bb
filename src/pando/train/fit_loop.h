// The loops behind fit, evaluate and predict: data in, executions, logs and callbacks out.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/train/model.h"

namespace pando::train {

History run_fit(Model& model, Model::Impl& impl, const Dataset& dataset, const FitOptions& options);
Logs run_evaluate(Model::Impl& impl, const Dataset& dataset, const EvaluateOptions& options);
Tensor run_predict(Model::Impl& impl, const Tensor& x, int64_t batch_size);

}  // namespace pando::train
