// Records the events of a worker in the trace of an execution.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "pando/compiler/program.h"
#include "pando/profile/trace.h"
#include "pando/runtime/program/schedule.h"

namespace pando::runtime {

// The names of events in one trace.
class TraceNames {
 public:
  TraceNames() = default;  // for executions without a trace
  TraceNames(profile::Trace& trace, const compiler::Program& program);

  int32_t of(profile::EventKind kind) const { return kinds_[static_cast<size_t>(kind)]; }
  int32_t of(const StageVisit& visit) const {
    return phases_[2 * static_cast<size_t>(visit.stage) + (visit.backward ? 1 : 0)];
  }
  bool pipelined() const { return pipelined_; }

 private:
  std::array<int32_t, profile::kEventKinds> kinds_ = {};
  std::vector<int32_t> phases_;  // [stage][direction]
  bool pipelined_ = false;
};

// Used only by its worker. Without a track it records nothing and costs a comparison per call.
class WorkerTrace {
 public:
  WorkerTrace() = default;
  // Requires: track and names outlive it. With `ops`, kernel calls are recorded too.
  WorkerTrace(profile::TraceTrack& track, const TraceNames& names, int replica, bool ops)
      : track_(&track), names_(&names), replica_(replica), ops_(ops) {}

  // Where kernel calls are recorded; null: nowhere.
  profile::TraceTrack* op_track() const { return ops_ ? track_ : nullptr; }

  // The beginning of an event that is added later.
  int64_t now() const { return track_ == nullptr ? 0 : track_->now(); }
  void add(profile::EventKind kind, int64_t begin) const;
  void add_phase(const StageVisit& visit, int64_t begin) const;

  // A wait that ends at once is not recorded.
  void begin_wait() {
    if (track_ != nullptr) wait_begin_ = track_->now();
  }
  void end_wait(profile::EventKind kind) const;

 private:
  profile::TraceTrack* track_ = nullptr;
  const TraceNames* names_ = nullptr;
  int replica_ = 0;
  bool ops_ = false;
  int64_t wait_begin_ = 0;
};

}  // namespace pando::runtime
