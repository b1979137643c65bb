// SPDX-License-Identifier: MIT
#include "pando/runtime/report/execution_report.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "pando/base/error.h"

namespace pando::runtime {

namespace {

using compiler::CompilationReport;
using compiler::OpReport;
using compiler::StepPart;
using profile::EventKind;
using profile::TraceEvent;
using profile::TraceTrack;

double to_seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

// Finds the row of an op's event by its name in the trace and the section it ran in.
class OpRows {
 public:
  OpRows(const CompilationReport& compilation, const profile::Trace& trace)
      : program_(*compilation.program), trace_(trace) {
    for (const OpReport& op : compilation.ops) {
      if (op.part == StepPart::prologue) continue;
      const compiler::Call& call = program_.calls()[static_cast<size_t>(op.call)];
      const int section = call.section;
      const auto [place, is_new] =
          by_name_.try_emplace({op.op + " " + op.name, section}, static_cast<int>(rows_.size()));
      if (is_new) rows_.push_back({.time = {.call = op.call}});
      Row& row = rows_[static_cast<size_t>(place->second)];
      row.calls += static_cast<int>(call.tiles);
      row.work.flops += op.flops;
      row.work.bytes += static_cast<double>(op.bytes_read + op.bytes_written);
    }
  }

  // Null for an op of another program.
  OpTime* find(const TraceEvent& event) {
    const bool pipelined = program_.pipelined();
    const int section = pipelined ? program_.section(event.stage, event.backward) : 0;
    const auto [place, is_new] = by_id_.try_emplace({event.name, section}, -1);
    if (is_new) {
      const auto found = by_name_.find({trace_.name(event.name), section});
      if (found != by_name_.end()) place->second = found->second;
    }
    return place->second < 0 ? nullptr : &rows_[static_cast<size_t>(place->second)].time;
  }

  // The rows with the work of all their events. In parts, each event is only a share of the call.
  std::vector<OpTime> take() {
    std::vector<OpTime> times;
    for (Row& row : rows_) {
      const double parts = program_.in_parts() ? program_.slices() : 1;
      const double whole = static_cast<double>(row.time.times) / (row.calls * parts);
      row.time.spent.flops = row.work.flops * whole;
      row.time.spent.bytes = row.work.bytes * whole;
      if (row.time.times > 0) times.push_back(row.time);
    }
    return times;
  }

 private:
  struct Row {
    OpTime time;
    Spent work;     // of one run of all calls
    int calls = 0;  // each tile of a call counts
  };
  const compiler::Program& program_;
  const profile::Trace& trace_;
  std::vector<Row> rows_;
  std::map<std::pair<std::string, int>, int> by_name_;
  std::map<std::pair<int32_t, int>, int> by_id_;
};

struct Interval {
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = std::numeric_limits<int64_t>::min();
};

std::vector<const TraceTrack*> device_tracks(const profile::Trace& trace) {
  std::vector<const TraceTrack*> tracks;
  for (const TraceTrack* track : trace.tracks()) {
    if (track->device() != profile::kHostDevice) tracks.push_back(track);
  }
  return tracks;
}

// From the first event to the last, or to where the first track was full: later events are missing
// for some workers.
Interval span_of(const std::vector<const TraceTrack*>& tracks) {
  Interval span;
  int64_t full = std::numeric_limits<int64_t>::max();
  for (const TraceTrack* track : tracks) {
    for (const TraceEvent& event : track->events()) {
      span.begin = std::min(span.begin, event.begin);
      span.end = std::max(span.end, event.end);
    }
    if (track->dropped() > 0) full = std::min(full, track->events().back().end);
  }
  span.end = std::min(span.end, full);
  return span.begin < span.end ? span : Interval{0, 0};
}

// The time of one worker. Ops and waits are recorded before the visit, update or prologue that
// contains them; its own time is what they leave of it.
class TrackTimes {
 public:
  PhaseSeconds seconds = {};
  int64_t first_visits = 0;  // forward visits of the first stage
  int64_t updates = 0;
  std::set<int32_t> replicas;

  void add_inner(const TraceEvent& event, Phase phase) {
    const double time = to_seconds(event.end - event.begin);
    seconds[static_cast<size_t>(phase)] += time;
    inner_.emplace_back(event.begin, time);
  }

  void add_outer(const TraceEvent& event, Phase phase) {
    double time = to_seconds(event.end - event.begin);
    for (const auto& [begin, inside] : inner_) time -= begin >= event.begin ? inside : 0;
    seconds[static_cast<size_t>(phase)] += std::max(time, 0.0);
    inner_.clear();
  }

 private:
  std::vector<std::pair<int64_t, double>> inner_;
};

class Collector {
 public:
  Collector(const CompilationReport& compilation, const profile::Trace& trace,
            const ExecutionReportOptions& options)
      : compilation_(compilation),
        options_(options),
        counted_samples_(trace.samples()),
        rows_(compilation, trace) {
    report_.peak = options.peak;
    report_.dropped = trace.dropped();
    if (compilation.program->pipelined()) report_.stages = profile::summarize(trace).stages;
  }

  ExecutionReport run(const std::vector<const TraceTrack*>& tracks) {
    const Interval span = span_of(tracks);
    report_.span_seconds = to_seconds(span.end - span.begin);
    report_.workers = static_cast<int>(tracks.size());
    for (const TraceTrack* track : tracks) add_track(*track, span);
    std::sort(report_.devices.begin(), report_.devices.end(),
              [](const DeviceTime& a, const DeviceTime& b) { return a.device < b.device; });
    for (DeviceTime& device : report_.devices) finish(device);
    count_steps();
    report_.update = {.seconds = report_.seconds_of(Phase::update),
                      .bytes = options_.update_bytes * static_cast<double>(report_.updates)};
    report_.ops = rows_.take();
    sum_layers();
    return std::move(report_);
  }

 private:
  void add_track(const TraceTrack& track, Interval span) {
    TrackTimes times;
    report_.events += static_cast<int64_t>(track.events().size());
    for (const TraceEvent& event : track.events()) {
      if (event.end <= span.end) add_event(event, times);
    }
    DeviceTime& device = device_of(track.device());
    ++device.workers;
    for (size_t i = 0; i < kPhases; ++i) device.seconds[i] += times.seconds[i];
    report_.updates = std::max(report_.updates, times.updates);
    first_visits_[track.device()] += times.first_visits;
    replicas_.insert(times.replicas.begin(), times.replicas.end());
  }

  void add_event(const TraceEvent& event, TrackTimes& track) {
    switch (event.kind) {
      case EventKind::op: return track.add_inner(event, add_op(event));
      case EventKind::phase:
        if (event.stage <= 0 && !event.backward) ++track.first_visits;
        track.replicas.insert(event.replica);
        return track.add_outer(event, Phase::step);
      case EventKind::update: ++track.updates; return track.add_outer(event, Phase::update);
      case EventKind::prologue: return track.add_outer(event, Phase::prologue);
      case EventKind::feed_wait: return track.add_inner(event, Phase::feed_wait);
      case EventKind::data_wait: return track.add_inner(event, Phase::data_wait);
      case EventKind::barrier_wait: return track.add_inner(event, Phase::barrier_wait);
      case EventKind::exchange_wait: return track.add_inner(event, Phase::exchange_wait);
      case EventKind::host:
      case EventKind::exchange: return;  // not done by workers
    }
  }

  Phase add_op(const TraceEvent& event) {
    const double seconds = to_seconds(event.end - event.begin);
    OpTime* row = rows_.find(event);
    if (row == nullptr) {
      report_.other_seconds += seconds;
      return Phase::step;
    }
    ++row->times;
    row->spent.seconds += seconds;
    return part(*row) == StepPart::backward ? Phase::backward : Phase::forward;
  }

  StepPart part(const OpTime& op) const {
    return compilation_.ops[static_cast<size_t>(op.call)].part;
  }

  DeviceTime& device_of(int number) {
    std::vector<DeviceTime>& devices = report_.devices;
    const auto found = std::find_if(devices.begin(), devices.end(), [&](const DeviceTime& device) {
      return device.device == number;
    });
    return found != devices.end() ? *found : devices.emplace_back(DeviceTime{.device = number});
  }

  // Time without an event is outside; this includes waits shorter than a microsecond.
  void finish(DeviceTime& device) {
    const double all = report_.span_seconds * device.workers;
    double inside = 0;
    for (const double seconds : device.seconds) inside += seconds;
    device.seconds[static_cast<size_t>(Phase::outside)] = std::max(all - inside, 0.0);
    double busy = 0;
    for (size_t i = 0; i < kPhases; ++i) {
      report_.seconds[i] += device.seconds[i];
      if (is_work(static_cast<Phase>(i))) busy += device.seconds[i];
    }
    device.busy_share = all > 0 ? busy / all : 0;
  }

  // Either every slice is a visit, or every worker makes one visit for all its slices.
  void count_steps() {
    const compiler::Program& program = *compilation_.program;
    report_.replicas = std::max(static_cast<int>(replicas_.size()), 1);
    int64_t micro_batches = 0;
    for (const DeviceTime& device : report_.devices) {
      const int visits = program.depth_first() ? program.slices() : device.workers;
      micro_batches += first_visits_[device.device] / visits;
    }
    report_.steps = micro_batches / report_.replicas;
    // The trace counts samples even after it is full; without a count all micro-batches are assumed
    // to be full.
    const int64_t rows = micro_batches * options_.micro_batch_size;
    report_.samples = counted_samples_ > 0 ? std::min(rows, counted_samples_) : rows;
    report_.padding = rows - report_.samples;
    report_.trains = std::any_of(compilation_.ops.begin(), compilation_.ops.end(),
                                 [](const OpReport& op) { return op.part == StepPart::backward; });
  }

  void sum_layers() {
    std::map<std::string, size_t> index;
    for (const compiler::LayerReport& layer : compilation_.layers) {
      index.emplace(layer.layer, report_.layers.size());
      report_.layers.push_back({.layer = layer.layer, .stage = layer.stage});
    }
    for (const OpTime& op : report_.ops) {
      const bool backward = part(op) == StepPart::backward;
      LayerTime& layer =
          report_.layers[index.at(compilation_.ops[static_cast<size_t>(op.call)].layer)];
      (backward ? layer.backward : layer.forward).add(op.spent);
      (backward ? report_.backward : report_.forward).add(op.spent);
    }
    std::erase_if(report_.layers, [](const LayerTime& layer) {
      return layer.forward.seconds + layer.backward.seconds <= 0;
    });
  }

  const CompilationReport& compilation_;
  const ExecutionReportOptions& options_;
  const int64_t counted_samples_;
  OpRows rows_;
  ExecutionReport report_;
  std::map<int, int64_t> first_visits_;  // by device
  std::set<int32_t> replicas_;
};

}  // namespace

bool is_work(Phase phase) { return phase <= Phase::step; }

std::string to_string(Phase phase) {
  switch (phase) {
    case Phase::forward: return "forward";
    case Phase::backward: return "backward";
    case Phase::update: return "weight update";
    case Phase::prologue: return "packing";
    case Phase::step: return "feeding and handing over";
    case Phase::feed_wait: return "feed wait";
    case Phase::data_wait: return "data wait";
    case Phase::barrier_wait: return "barrier wait";
    case Phase::exchange_wait: return "exchange wait";
    case Phase::outside: return "between executions";
  }
  PANDO_CHECK(false, static_cast<int>(phase));
}

double ExecutionReport::busy_share() const {
  double share_of_work = 0;
  for (size_t i = 0; i < kPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    if (is_work(phase)) share_of_work += share(phase);
  }
  return share_of_work;
}

Spent ExecutionReport::whole() const {
  const auto rows = static_cast<double>(std::max<int64_t>(samples + padding, 1));
  return {.seconds = span_seconds,
          .flops = (forward.flops + backward.flops) * static_cast<double>(samples) / rows,
          .bytes = forward.bytes + backward.bytes + update.bytes};
}

ExecutionReport execution_report(const compiler::CompilationReport& compilation,
                                 const profile::Trace& trace,
                                 const ExecutionReportOptions& options) {
  return Collector(compilation, trace, options).run(device_tracks(trace));
}

}  // namespace pando::runtime
