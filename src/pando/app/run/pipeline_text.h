// Describes a pipeline for users before it trains: the order of the devices and their idle time.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/profile/trace_summary.h"
#include "pando/runtime/program/schedule.h"

namespace pando::app {

// The timeline of one weight update; above 16 micro-batches only its first line.
std::string timeline_of(const runtime::PipelineShape& shape);

// The expected idle share for these times of the stages. If `seconds` is empty, all stages take the
// same time, and backward takes twice as long as forward.
std::string expected_idle(const runtime::PipelineShape& shape,
                          const std::vector<runtime::StageSeconds>& seconds);

// A table with a row per stage, in milliseconds.
std::string stage_table(const std::vector<runtime::StageSeconds>& seconds);

// How much work a trace covers.
struct TracedWork {
  int stages = 1;
  int workers = 1;            // of a device
  int64_t micro_batches = 1;  // of all replicas
};

// The time that each stage took for a micro-batch, without waiting.
std::vector<runtime::StageSeconds> stage_seconds(const profile::TraceSummary& summary,
                                                 const TracedWork& work);

}  // namespace pando::app
