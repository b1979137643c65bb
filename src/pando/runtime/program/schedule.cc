// SPDX-License-Identifier: MIT
#include "pando/runtime/program/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "pando/base/error.h"

namespace pando {

const char* to_string(PipelineSchedule schedule) { return runtime::record_of(schedule).name; }

}  // namespace pando

namespace pando::runtime {
namespace {

std::string list_text(const std::vector<int>& numbers) {
  std::vector<std::string> parts;
  for (const int number : numbers) parts.push_back(std::to_string(number));
  return concat('[', join(parts, ", "), ']');
}

// How many visits a micro-batch makes: 2S in training, S without.
int visits_per_micro_batch(const PipelineShape& shape) {
  return shape.training ? 2 * shape.stages : shape.stages;
}

// The position along the pipeline: fwd 0, .., fwd S-1, bwd S-1, .., bwd 0.
int position(const PipelineShape& shape, const StageVisit& visit) {
  return visit.backward ? 2 * shape.stages - 1 - visit.stage : visit.stage;
}

StageVisit visit_at(const PipelineShape& shape, int position, int micro_batch) {
  const bool backward = position >= shape.stages;
  return {.stage = backward ? 2 * shape.stages - 1 - position : position,
          .backward = backward,
          .micro_batch = micro_batch};
}

// A micro-batch enters at every time step.
int64_t grouped_step(const PipelineShape& shape, const StageVisit& visit) {
  return visit.micro_batch + position(shape, visit);
}

// A micro-batch enters at every second time step. Without backward visits no device is used twice
// in a time step, so micro-batches then enter as in the grouped schedule.
int64_t interleaved_step(const PipelineShape& shape, const StageVisit& visit) {
  const int64_t interval = shape.training ? 2 : 1;
  return interval * visit.micro_batch + position(shape, visit);
}

int64_t sequential_step(const PipelineShape& shape, const StageVisit& visit) {
  const int64_t interval = visits_per_micro_batch(shape);
  return interval * visit.micro_batch + position(shape, visit);
}

constexpr std::array kSchedules = {ScheduleRecord{.schedule = PipelineSchedule::grouped,
                                                  .name = "grouped",
                                                  .in_flight = "keeps most in flight",
                                                  .time_step = grouped_step},
                                   ScheduleRecord{.schedule = PipelineSchedule::interleaved,
                                                  .name = "interleaved",
                                                  .in_flight = "about half of it",
                                                  .time_step = interleaved_step},
                                   ScheduleRecord{.schedule = PipelineSchedule::sequential,
                                                  .name = "sequential",
                                                  .in_flight = "one micro-batch",
                                                  .time_step = sequential_step,
                                                  .one_at_a_time = true}};

int64_t step_of(const PipelineShape& shape, const StageVisit& visit) {
  return record_of(shape.schedule).time_step(shape, visit);
}

// The visits for which `wanted` holds, in the order of the schedule.
template <typename Predicate>
std::vector<StageVisit> ordered_visits(const PipelineShape& shape, Predicate wanted) {
  std::vector<StageVisit> visits;
  for (int m = 0; m < shape.micro_batches; ++m) {
    for (int p = 0; p < visits_per_micro_batch(shape); ++p) {
      const StageVisit visit = visit_at(shape, p, m);
      if (wanted(visit)) visits.push_back(visit);
    }
  }
  const auto key = [&](const StageVisit& visit) {
    return std::tuple(step_of(shape, visit), -position(shape, visit));
  };
  std::sort(visits.begin(), visits.end(),
            [&](const StageVisit& a, const StageVisit& b) { return key(a) < key(b); });
  return visits;
}

// Like device_of(), without its checks.
int device_at(const PipelineShape& shape, int stage) {
  return shape.device_of_stage.empty() ? stage : shape.device_of_stage[static_cast<size_t>(stage)];
}

std::string visit_text(const StageVisit& visit, bool name_stage) {
  std::string text = concat(visit.backward ? 'B' : 'F', visit.micro_batch);
  if (name_stage) text += concat('@', visit.stage);
  return text;
}

void check_seconds(const PipelineShape& shape, const std::vector<StageSeconds>& stages) {
  if (stages.size() != static_cast<size_t>(shape.stages)) {
    throw InvalidArgument("pipeline: expected the durations of ", shape.stages, " stages, got ",
                          stages.size());
  }
  for (size_t s = 0; s < stages.size(); ++s) {
    for (const double seconds : {stages[s].forward, stages[s].backward}) {
      if (std::isfinite(seconds) && seconds >= 0) continue;
      throw InvalidArgument("pipeline: stage ", s,
                            ": expected a finite number of seconds, at least 0, got ", seconds);
    }
  }
}

struct Cuts {
  double cost = 0;
  std::vector<int> firsts;  // of each stage after the first
};

// The cheapest cut of layers into stages; `ends[i]` are the seconds of the layers before i.
// `extend(cost of the stages before, seconds of one more stage)` is the cost with that stage.
template <typename Extend>
Cuts cheapest_cuts(const std::vector<double>& ends, int stages, Extend extend) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const size_t layers = ends.size() - 1;
  std::vector<double> before(layers + 1, kNever);  // of the first `stage` stages
  before[0] = 0;
  std::vector<std::vector<size_t>> first_of(static_cast<size_t>(stages));
  for (std::vector<size_t>& first : first_of) {
    std::vector<double> cost(layers + 1, kNever);
    first.resize(layers + 1, 0);
    for (size_t end = 1; end <= layers; ++end) {
      for (size_t begin = 0; begin < end; ++begin) {
        if (before[begin] == kNever) continue;
        const double extended = extend(before[begin], ends[end] - ends[begin]);
        if (extended >= cost[end]) continue;
        cost[end] = extended;
        first[end] = begin;
      }
    }
    before = std::move(cost);
  }
  Cuts cuts{.cost = before[layers], .firsts = {}};
  size_t end = layers;
  for (size_t stage = first_of.size(); stage-- > 1;) {
    end = first_of[stage][end];
    cuts.firsts.insert(cuts.firsts.begin(), static_cast<int>(end));
  }
  return cuts;
}

}  // namespace

std::span<const ScheduleRecord> schedules() { return kSchedules; }

const ScheduleRecord& record_of(PipelineSchedule schedule) {
  const auto found =
      std::find_if(kSchedules.begin(), kSchedules.end(),
                   [&](const ScheduleRecord& record) { return record.schedule == schedule; });
  PANDO_CHECK(found != kSchedules.end(), "no pipeline schedule ", static_cast<int>(schedule));
  return *found;
}

void check(const PipelineShape& shape) {
  if (shape.stages < 1) {
    throw InvalidArgument("pipeline: expected at least 1 stage, got ", shape.stages);
  }
  if (shape.micro_batches < 1) {
    throw InvalidArgument("pipeline: expected at least 1 micro-batch, got ", shape.micro_batches);
  }
  const std::vector<int>& devices = shape.device_of_stage;
  if (devices.empty()) return;
  if (devices.size() != static_cast<size_t>(shape.stages)) {
    throw InvalidArgument("device mapping ", list_text(devices),
                          ": expected one device for each of ", shape.stages, " stages, got ",
                          devices.size());
  }
  std::vector<int> used = devices;
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  if (used.front() < 0) {
    throw InvalidArgument("device mapping ", list_text(devices),
                          ": expected device numbers from 0, got ", used.front());
  }
  for (size_t id = 0; id < used.size(); ++id) {
    if (used[id] == static_cast<int>(id)) continue;
    throw InvalidArgument("device mapping ", list_text(devices), ": device ", id,
                          " has no stage; use all device numbers from 0 to ", used.back());
  }
}

int device_count(const PipelineShape& shape) {
  check(shape);
  if (shape.device_of_stage.empty()) return shape.stages;
  return 1 + *std::max_element(shape.device_of_stage.begin(), shape.device_of_stage.end());
}

int device_of(const PipelineShape& shape, int stage) {
  check(shape);
  if (stage < 0 || stage >= shape.stages) {
    throw InvalidArgument("pipeline: expected a stage from 0 to ", shape.stages - 1, ", got ",
                          stage);
  }
  return shape.device_of_stage.empty() ? stage : shape.device_of_stage[static_cast<size_t>(stage)];
}

int64_t time_step(const PipelineShape& shape, const StageVisit& visit) {
  device_of(shape, visit.stage);
  if (visit.micro_batch < 0 || visit.micro_batch >= shape.micro_batches) {
    throw InvalidArgument("pipeline: expected a micro-batch from 0 to ", shape.micro_batches - 1,
                          ", got ", visit.micro_batch);
  }
  if (visit.backward && !shape.training) {
    throw InvalidArgument("pipeline: a backward visit requires training");
  }
  return step_of(shape, visit);
}

int64_t time_steps(const PipelineShape& shape) {
  check(shape);
  const int last = visits_per_micro_batch(shape) - 1;
  return 1 + step_of(shape, visit_at(shape, last, shape.micro_batches - 1));
}

std::vector<StageVisit> device_order(const PipelineShape& shape, int device) {
  const int devices = device_count(shape);
  if (device < 0 || device >= devices) {
    throw InvalidArgument("pipeline: expected a device from 0 to ", devices - 1, ", got ", device);
  }
  return ordered_visits(
      shape, [&](const StageVisit& visit) { return device_at(shape, visit.stage) == device; });
}

int held_micro_batches(const PipelineShape& shape, int stage) {
  device_of(shape, stage);
  if (!shape.training) return 1;
  int held = 0;
  int most = 0;
  for (const StageVisit& visit :
       ordered_visits(shape, [&](const StageVisit& other) { return other.stage == stage; })) {
    held += visit.backward ? -1 : 1;
    most = std::max(most, held);
  }
  return most;
}

std::string timeline_text(const PipelineShape& shape) {
  const auto devices = static_cast<size_t>(device_count(shape));
  const auto steps = static_cast<size_t>(time_steps(shape));
  const bool name_stages = device_count(shape) < shape.stages;
  std::vector<std::vector<std::string>> cells(devices, std::vector<std::string>(steps));
  for (const StageVisit& visit : ordered_visits(shape, [](const StageVisit&) { return true; })) {
    const auto device = static_cast<size_t>(device_at(shape, visit.stage));
    cells[device][static_cast<size_t>(step_of(shape, visit))] += visit_text(visit, name_stages);
  }
  std::vector<std::string> rows;
  for (size_t d = 0; d < devices; ++d) rows.push_back(concat("dev", d));
  for (size_t t = 0; t < steps; ++t) {
    size_t width = 0;
    for (const std::string& row : rows) width = std::max(width, row.size());
    for (size_t d = 0; d < devices; ++d) {
      rows[d].resize(width + 1, ' ');
      rows[d] += cells[d][t].empty() ? "." : cells[d][t];
    }
  }
  return join(rows, "\n") + "\n";
}

double Playback::idle_share() const {
  const double all = seconds * static_cast<double>(busy.size());
  if (all <= 0) return 0;
  return std::max(0.0, 1 - std::accumulate(busy.begin(), busy.end(), 0.0) / all);
}

Playback play(const PipelineShape& shape, const std::vector<StageSeconds>& stages) {
  const auto devices = static_cast<size_t>(device_count(shape));
  check_seconds(shape, stages);
  Playback result{.seconds = 0,
                  .busy = std::vector<double>(devices, 0),
                  .stage_ends = std::vector<double>(stages.size(), 0)};
  std::vector<double> device_free(devices, 0);
  std::vector<double> data_ready(static_cast<size_t>(shape.micro_batches), 0);
  const bool one_at_a_time = record_of(shape.schedule).one_at_a_time;
  // In this order a visit comes after the one whose result it needs, and the visits of a device
  // come in the device's order, so that one walk finds every beginning.
  for (const StageVisit& visit : ordered_visits(shape, [](const StageVisit&) { return true; })) {
    const auto device = static_cast<size_t>(device_at(shape, visit.stage));
    const StageSeconds& stage = stages[static_cast<size_t>(visit.stage)];
    const double duration = visit.backward ? stage.backward : stage.forward;
    double& ready = data_ready[static_cast<size_t>(visit.micro_batch)];
    double begin = std::max(device_free[device], ready);
    if (one_at_a_time) begin = std::max(begin, result.seconds);
    ready = begin + duration;
    device_free[device] = ready;
    result.stage_ends[static_cast<size_t>(visit.stage)] = ready;
    result.busy[device] += duration;
    result.seconds = std::max(result.seconds, ready);
  }
  return result;
}

std::vector<int> balance_stages(const std::vector<double>& layer_seconds, int stages) {
  if (stages < 1) {
    throw InvalidArgument("pipeline: expected at least 1 stage, got ", stages);
  }
  if (static_cast<size_t>(stages) > layer_seconds.size()) {
    throw InvalidArgument("pipeline: expected at least one layer per stage, got ", stages,
                          " stages for ", layer_seconds.size(), " layers; use fewer stages");
  }
  std::vector<double> ends = {0};
  for (size_t i = 0; i < layer_seconds.size(); ++i) {
    if (!std::isfinite(layer_seconds[i]) || layer_seconds[i] < 0) {
      throw InvalidArgument("pipeline: layer ", i,
                            ": expected a finite number of seconds, at least 0, got ",
                            layer_seconds[i]);
    }
    ends.push_back(ends.back() + layer_seconds[i]);
  }
  const double longest = cheapest_cuts(ends, stages, [](double cost, double stage) {
                           return std::max(cost, stage);
                         }).cost;
  const double unit = longest > 0 ? longest : 1;
  const auto unevenness = [&](double cost, double stage) {
    if (stage > longest) return std::numeric_limits<double>::infinity();
    return cost + (stage / unit) * (stage / unit);
  };
  return cheapest_cuts(ends, stages, unevenness).firsts;
}

}  // namespace pando::runtime
