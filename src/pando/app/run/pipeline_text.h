// What users read of a pipeline before it trains: the order of the devices and the idle time that
// it brings.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/profile/trace_summary.h"
#include "pando/runtime/program/schedule.h"

namespace pando::app {

// The timeline of one weight update; only a line without it above 16 micro-batches.
std::string timeline_of(const runtime::PipelineShape& shape);

// The idle share to expect when these are the times of the stages; empty: all stages take the same,
// and backward twice as long as forward.
std::string expected_idle(const runtime::PipelineShape& shape,
                          const std::vector<runtime::StageSeconds>& seconds);

// A row per stage, in milliseconds.
std::string stage_table(const std::vector<runtime::StageSeconds>& seconds);

// How much work a trace is about.
struct TracedWork {
  int stages = 1;
  int workers = 1;            // of a device
  int64_t micro_batches = 1;  // of all replicas
};

// The time that each stage took for a micro-batch, waits not counted.
std::vector<runtime::StageSeconds> stage_seconds(const profile::TraceSummary& summary,
                                                 const TracedWork& work);

}  // namespace pando::app
