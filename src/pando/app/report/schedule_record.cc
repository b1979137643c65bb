// SPDX-License-Identifier: MIT
#include "pando/app/report/schedule_record.h"

namespace pando::app {

Json schedule_record(const runtime::PipelineShape& shape,
                     const std::vector<runtime::StageSeconds>& seconds) {
  constexpr int kMostVisits = 4000;
  const runtime::Playback played = runtime::play(shape, seconds);
  Json times = Json::array(), devices = Json::array();
  for (const runtime::StageSeconds& stage : seconds) {
    times.push_back(Json::Items{stage.forward, stage.backward});
  }
  const bool is_drawn = 2 * shape.stages * shape.micro_batches <= kMostVisits;
  for (int device = 0; is_drawn && device < runtime::device_count(shape); ++device) {
    Json visits = Json::array();
    for (const runtime::StageVisit& visit : runtime::device_order(shape, device)) {
      visits.push_back(Json::Items{visit.stage, visit.backward ? 1 : 0, visit.micro_batch});
    }
    devices.push_back(std::move(visits));
  }
  return {{"version", 1},
          {"schedule", to_string(shape.schedule)},
          {"stages", shape.stages},
          {"micro_batches", shape.micro_batches},
          {"one_at_a_time", runtime::record_of(shape.schedule).one_at_a_time},
          {"planned_seconds", played.seconds},
          {"planned_idle", played.idle_share()},
          {"stage_seconds", std::move(times)},
          {"devices", std::move(devices)}};
}

}  // namespace pando::app
