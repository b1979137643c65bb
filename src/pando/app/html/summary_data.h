// The top of a page about a run: its result, how it ended, the model, the data and the options.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "pando/app/html/run_record.h"
#include "pando/base/json.h"

namespace pando::app {

// {name, state, cause, best, metric, last, seconds, command, machine, facts, options, problems,
// ...}
Json run_summary(const RunRecord& run);

// The options whose values differ: [{name, values: [text of each run]}]. An option that a run lacks
// is null. Places that each run has for itself, such as its directory, are left out.
Json differing_options(std::span<const RunRecord> runs);

}  // namespace pando::app
