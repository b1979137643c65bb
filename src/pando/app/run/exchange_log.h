// Logs what the exchange between instances costs.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "pando/app/record/run_log.h"
#include "pando/train/callback.h"

namespace pando::app {

// Logs after the first execution how many bytes an instance sends per weight update, and at the end
// of the fit how long devices did nothing but wait for the exchange. The log must outlive it.
std::shared_ptr<Callback> exchange_log(RunLog& log);

}  // namespace pando::app
