// The optimizer that the options of `pando train` describe.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/app/train_options.h"
#include "pando/optim/optimizer.h"

namespace pando::app {

Optimizer make_optimizer(const TrainOptions& options, int64_t global_batch_size);

}  // namespace pando::app
