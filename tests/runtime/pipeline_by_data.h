// Random pipelines, and a plain way to run the orders of their devices.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "pando/runtime/program/schedule.h"

namespace pando::runtime {

constexpr PipelineSchedule kSchedules[] = {PipelineSchedule::grouped, PipelineSchedule::interleaved,
                                           PipelineSchedule::sequential};

inline PipelineShape random_shape(std::mt19937& random) {
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  PipelineShape shape{.schedule = kSchedules[draw(0, 2)],
                      .stages = draw(1, 7),
                      .micro_batches = draw(1, 19),
                      .training = draw(0, 3) > 0,
                      .device_of_stage = {}};
  if (draw(0, 2) == 0) return shape;
  const int devices = draw(1, shape.stages);
  for (int s = 0; s < shape.stages; ++s) {
    shape.device_of_stage.push_back(s < devices ? s : draw(0, devices - 1));
  }
  std::shuffle(shape.device_of_stage.begin(), shape.device_of_stage.end(), random);
  return shape;
}

using VisitKey = std::tuple<int, bool, int>;
inline VisitKey key_of(const StageVisit& visit) {
  return {visit.stage, visit.backward, visit.micro_batch};
}

// The visit whose result this one needs; stage -1 for none.
inline StageVisit needed_by(const PipelineShape& shape, StageVisit visit) {
  if (!visit.backward) return {visit.stage - 1, false, visit.micro_batch};
  if (visit.stage == shape.stages - 1) return {visit.stage, false, visit.micro_batch};
  return {visit.stage + 1, true, visit.micro_batch};
}

// Runs the devices' orders as threads would: each continues as far as its data allows. Returns the
// end of every visit that was reached; the sequential schedule also waits for the previous
// micro-batch.
inline std::map<VisitKey, double> run_by_data(const PipelineShape& shape,
                                              const std::vector<StageSeconds>& stages) {
  const int last_stage = shape.training ? 0 : shape.stages - 1;
  const auto devices = static_cast<size_t>(device_count(shape));
  std::map<VisitKey, double> ends;
  std::vector<std::vector<StageVisit>> orders;
  for (size_t d = 0; d < devices; ++d) orders.push_back(device_order(shape, static_cast<int>(d)));
  std::vector<size_t> next(devices, 0);
  std::vector<double> free(devices, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t d = 0; d < devices; ++d) {
      for (; next[d] < orders[d].size(); ++next[d]) {
        const StageVisit& visit = orders[d][next[d]];
        std::vector<StageVisit> needs = {needed_by(shape, visit)};
        if (shape.schedule == PipelineSchedule::sequential && visit.micro_batch > 0) {
          needs.push_back({last_stage, shape.training, visit.micro_batch - 1});
        }
        double begin = free[d];
        bool ready = true;
        for (const StageVisit& need : needs) {
          if (need.stage < 0) continue;
          const auto found = ends.find(key_of(need));
          ready = ready && found != ends.end();
          if (found != ends.end()) begin = std::max(begin, found->second);
        }
        if (!ready) break;
        const StageSeconds& stage = stages[static_cast<size_t>(visit.stage)];
        free[d] = begin + (visit.backward ? stage.backward : stage.forward);
        EXPECT_TRUE(ends.emplace(key_of(visit), free[d]).second) << "twice";
        moved = true;
      }
    }
  }
  return ends;
}

}  // namespace pando::runtime
