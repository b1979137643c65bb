// What a page shows of the reports of --profile and --trace: time, memory and the compiled graph.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/app/html/run_record.h"
#include "pando/base/json.h"

namespace pando::app {

inline constexpr size_t kMostDrawnBlocks = 3000;  // of memory, the largest

// {time, memory, graph, trace, schedule, missing}, each null if it was not recorded. Reads the
// folder of --profile or, if the run has moved, the folder with the same name in the run directory.
// Files that cannot be read become problems of the run. What another run wrote to the same place is
// left out, and `missing` says so.
Json profile_data(RunRecord& run);

}  // namespace pando::app
