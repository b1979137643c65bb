// A run of the list as the page gets it.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/base/json.h"
#include "pando/board/run_list.h"

namespace pando::board {

// {id, name, state, cause, problem, model, dataset, metric, best: {value, text, epoch,
// of_validation}, epoch, epochs, seconds, started_ms, touched_ms, points, ...}; unknown values are
// left out or null.
Json entry_json(const RunEntry& entry);

}  // namespace pando::board
