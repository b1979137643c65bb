// train_schedule.json of a folder of --profile: the planned order of a pipeline's devices, with the
// measured times of the stages, so that a report can play it against what was measured.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/base/json.h"
#include "pando/runtime/program/schedule.h"

namespace pando::app {

inline constexpr const char* kScheduleFile = "train_schedule.json";

// {version, schedule, stages, micro_batches, one_at_a_time, planned_seconds, planned_idle,
//  stage_seconds: [[forward, backward]], devices: [[[stage, backward, micro_batch]]]}. Orders are
//  of
// one weight update; of many micro-batches they are left out. Requires: seconds has an entry per
// stage.
Json schedule_record(const runtime::PipelineShape& shape,
                     const std::vector<runtime::StageSeconds>& seconds);

}  // namespace pando::app
