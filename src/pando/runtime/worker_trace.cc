// SPDX-License-Identifier: MIT
#include "pando/runtime/worker_trace.h"

#include "pando/base/strings.h"

namespace pando::runtime {

TraceNames::TraceNames(profile::Trace& trace, const compiler::Program& program)
    : pipelined_(program.pipelined()) {
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    kinds_[kind] = trace.name_id(profile::to_string(static_cast<profile::EventKind>(kind)));
  }
  const int stages = pipelined_ ? program.stages() : 1;
  for (int stage = 0; stage < stages; ++stage) {
    for (const char* direction : {"forward", "backward"}) {
      phases_.push_back(trace.name_id(pipelined_ ? concat(direction, " ", stage) : "step"));
    }
  }
}

void WorkerTrace::add(profile::EventKind kind, int64_t begin) const {
  if (track_ == nullptr) return;
  track_->add({.begin = begin,
               .end = track_->now(),
               .name = names_->of(kind),
               .replica = replica_,
               .kind = kind});
}

void WorkerTrace::add_phase(const StageVisit& visit, int64_t begin) const {
  if (track_ == nullptr) return;
  track_->add({.begin = begin,
               .end = track_->now(),
               .name = names_->of(visit),
               .micro_batch = visit.micro_batch,
               .replica = replica_,
               .stage = static_cast<int16_t>(names_->pipelined() ? visit.stage : -1),
               .kind = profile::EventKind::phase,
               .backward = visit.backward});
}

void WorkerTrace::end_wait(profile::EventKind kind) const {
  if (track_ == nullptr) return;
  constexpr int64_t kWorthTelling = 1000;  // nanoseconds
  if (track_->now() - wait_begin_ >= kWorthTelling) add(kind, wait_begin_);
}

}  // namespace pando::runtime
