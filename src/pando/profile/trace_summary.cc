// SPDX-License-Identifier: MIT
#include "pando/profile/trace_summary.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace pando::profile {

namespace {

struct Interval {
  int64_t begin;
  int64_t end;
};

double to_seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

// First begin of a phase to last end of a phase or update, over all devices.
Interval find_span(const std::vector<const TraceTrack*>& tracks) {
  Interval span = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (const TraceTrack* track : tracks) {
    if (track->device() == kHostDevice) continue;
    for (const TraceEvent& event : track->events()) {
      const bool is_phase = event.kind == EventKind::phase;
      if (is_phase) span.begin = std::min(span.begin, event.begin);
      if (is_phase || event.kind == EventKind::update) span.end = std::max(span.end, event.end);
    }
  }
  return span.begin < span.end ? span : Interval{0, 0};
}

// The time that at least one of the intervals covers inside `span`.
int64_t covered(std::vector<Interval> intervals, Interval span) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  int64_t total = 0;
  int64_t reached = span.begin;
  for (const Interval& interval : intervals) {
    const int64_t begin = std::max(interval.begin, reached);
    const int64_t end = std::min(interval.end, span.end);
    if (end > begin) total += end - begin;
    reached = std::max(reached, end);
  }
  return total;
}

DeviceSummary summarize_device(int device, const std::vector<const TraceTrack*>& tracks,
                               Interval span) {
  DeviceSummary summary = {.device = device};
  std::array<int64_t, kEventKinds> sums = {};
  std::vector<Interval> busy;
  std::vector<Interval> programs;
  bool has_ops = false;
  for (const TraceTrack* track : tracks) {
    if (track->device() != device) continue;
    ++summary.tracks;
    for (const TraceEvent& event : track->events()) {
      sums[static_cast<size_t>(event.kind)] += event.end - event.begin;
      const Interval interval = {event.begin, event.end};
      const bool is_op = event.kind == EventKind::op;
      const bool is_both = event.kind == EventKind::update || event.kind == EventKind::prologue;
      has_ops |= is_op;
      if (is_op || is_both) busy.push_back(interval);
      if (event.kind == EventKind::phase || is_both) programs.push_back(interval);
    }
  }
  for (size_t kind = 0; kind < kEventKinds; ++kind) summary.seconds[kind] = to_seconds(sums[kind]);
  summary.busy_seconds = to_seconds(covered(has_ops ? busy : programs, span));
  summary.program_seconds = to_seconds(covered(programs, span));
  return summary;
}

std::vector<StageSummary> summarize_stages(const std::vector<const TraceTrack*>& tracks) {
  std::map<std::pair<int, bool>, std::pair<int64_t, int64_t>> sums;  // visits, nanoseconds
  for (const TraceTrack* track : tracks) {
    for (const TraceEvent& event : track->events()) {
      if (event.kind != EventKind::phase) continue;
      auto& [visits, nanoseconds] = sums[{event.stage, event.backward}];
      ++visits;
      nanoseconds += event.end - event.begin;
    }
  }
  std::vector<StageSummary> stages;
  for (const auto& [key, sum] : sums) {
    stages.push_back({.stage = key.first,
                      .backward = key.second,
                      .visits = sum.first,
                      .mean_seconds = to_seconds(sum.second) / static_cast<double>(sum.first)});
  }
  return stages;
}

ExchangeSummary summarize_exchange(const std::vector<const TraceTrack*>& tracks, Interval span) {
  ExchangeSummary summary;
  std::vector<Interval> under_way;
  std::vector<Interval> waits;
  for (const TraceTrack* track : tracks) {
    for (const TraceEvent& event : track->events()) {
      if (event.kind == EventKind::exchange) under_way.push_back({event.begin, event.end});
      if (event.kind == EventKind::exchange_wait) waits.push_back({event.begin, event.end});
    }
  }
  summary.buckets = static_cast<int64_t>(under_way.size());
  summary.seconds = to_seconds(covered(std::move(under_way), span));
  summary.exposed_seconds = to_seconds(covered(std::move(waits), span));
  return summary;
}

// The kinds that occur, so that the table stays narrow.
std::vector<EventKind> used_kinds(const TraceSummary& summary) {
  std::vector<EventKind> kinds;
  for (size_t i = 0; i < kEventKinds; ++i) {
    const bool is_used = std::any_of(summary.devices.begin(), summary.devices.end(),
                                     [i](const DeviceSummary& row) { return row.seconds[i] > 0; });
    if (is_used) kinds.push_back(static_cast<EventKind>(i));
  }
  return kinds;
}

std::string cell(EventKind kind, const std::string& text) {
  const size_t width = std::max<size_t>(9, std::string_view(to_string(kind)).size());
  return fmt::format(" {:>{}}", text, width);
}

std::string device_table(const TraceSummary& summary) {
  const std::vector<EventKind> kinds = used_kinds(summary);
  std::string text = fmt::format("{:<11} {:>6} {:>10} {:>6} {:>10}", "times in ms", "tracks",
                                 "busy", "idle %", "programs %");
  for (const EventKind kind : kinds) text += cell(kind, to_string(kind));
  text += "\n";
  for (const DeviceSummary& row : summary.devices) {
    if (row.device == kHostDevice) {
      text += fmt::format("{:<11} {:>6} {:>10} {:>6} {:>10}", "host", row.tracks, "-", "-", "-");
    } else {
      text += fmt::format("{:<11} {:>6} {:>10.3f} {:>6.1f} {:>10.1f}",
                          fmt::format("device {}", row.device), row.tracks, row.busy_seconds * 1e3,
                          row.idle_share * 100, row.program_share * 100);
    }
    for (const EventKind kind : kinds) {
      const double seconds = row.seconds_of(kind);
      text += cell(kind, seconds > 0 ? fmt::format("{:.3f}", seconds * 1e3) : "-");
    }
    text += "\n";
  }
  return text;
}

}  // namespace

TraceSummary summarize(const Trace& trace) {
  const std::vector<const TraceTrack*> tracks = trace.tracks();
  const Interval span = find_span(tracks);
  TraceSummary summary;
  summary.span_seconds = to_seconds(span.end - span.begin);
  summary.dropped = trace.dropped();
  summary.stages = summarize_stages(tracks);
  summary.exchange = summarize_exchange(tracks, span);
  std::vector<int> devices;
  for (const TraceTrack* track : tracks) {
    summary.events += static_cast<int64_t>(track->events().size());
    devices.push_back(track->device());
  }
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  double busy = 0;
  double program = 0;
  double available = 0;
  for (const int device : devices) {
    DeviceSummary& row = summary.devices.emplace_back(summarize_device(device, tracks, span));
    if (device == kHostDevice || summary.span_seconds <= 0) continue;
    row.idle_share = 1 - row.busy_seconds / summary.span_seconds;
    row.program_share = row.program_seconds / summary.span_seconds;
    busy += row.busy_seconds;
    program += row.program_seconds;
    available += summary.span_seconds;
  }
  if (available > 0) {
    summary.idle_share = 1 - busy / available;
    summary.program_share = program / available;
  }
  return summary;
}

std::string to_text(const TraceSummary& summary) {
  std::string text = fmt::format("trace: {:.3f} ms, idle {:.1f} %, inside programs {:.1f} %\n",
                                 summary.span_seconds * 1e3, summary.idle_share * 100,
                                 summary.program_share * 100);
  if (summary.dropped > 0) {
    text += fmt::format(
        "warning: {} events were recorded and {} dropped, because tracks were full; the figures "
        "include only the recorded ones\n",
        summary.events, summary.dropped);
  }
  text += device_table(summary);
  if (const ExchangeSummary& exchange = summary.exchange; exchange.buckets > 0) {
    const double span = std::max(summary.span_seconds, 1e-9);
    text += fmt::format(
        "between instances: {} buckets of gradients, in transit for {:.3f} ms; devices waited "
        "{:.3f} ms for other instances, {:.1f} % of the time\n",
        exchange.buckets, exchange.seconds * 1e3, exchange.exposed_seconds * 1e3,
        exchange.exposed_seconds / span * 100);
  }
  if (summary.stages.empty()) return text;
  text += fmt::format("{:<5} {:<8} {:>9} {:>12}\n", "stage", "pass", "visits", "mean ms");
  for (const StageSummary& row : summary.stages) {
    const bool whole = row.stage < 0;  // no pipeline: a visit is the whole step
    text += fmt::format("{:<5} {:<8} {:>9} {:>12.3f}\n", whole ? "-" : std::to_string(row.stage),
                        whole          ? "step"
                        : row.backward ? "backward"
                                       : "forward",
                        row.visits, row.mean_seconds * 1e3);
  }
  return text;
}

}  // namespace pando::profile
