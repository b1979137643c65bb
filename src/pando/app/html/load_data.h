// How much of the machine runs used, as charts beside their curves.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "pando/app/html/run_record.h"
#include "pando/base/json.h"

namespace pando::app {

// Charts in the form of curve_charts() (curve_data.h): processor, memory, disks over the time of
// the runs, from load.csv. Steps and epochs are those of the history at that time.
Json load_charts(std::span<const RunRecord> runs);

}  // namespace pando::app
