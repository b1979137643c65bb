// What the exchange between instances costs, for the log of a run.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "pando/app/record/run_log.h"
#include "pando/train/callback.h"

namespace pando::app {

// Says after the first execution how many bytes an instance sends per weight update, and at the end
// of the fit how long devices only waited for it. The log must outlive it.
std::shared_ptr<Callback> exchange_log(RunLog& log);

}  // namespace pando::app
