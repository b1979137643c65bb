// The loop behind fit: data in, executions, logs and callbacks out.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/train/model.h"

namespace pando::train {

History run_fit(Model& model, Model::Impl& impl, const Dataset& dataset, const FitOptions& options);

}  // namespace pando::train
