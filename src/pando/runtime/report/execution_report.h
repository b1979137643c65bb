// Where the time of a traced run went: per op, layer, part of the step and device, with the rates
// of arithmetic and memory that were reached.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <vector>

#include "pando/compiler/compilation_report.h"
#include "pando/profile/trace_summary.h"

namespace pando::runtime {

// What the cores can compute at most, to compare with; unknown without threads.
struct MachinePeak {
  std::string isa;
  int threads = 0;
  double gflops = 0;  // of all threads
  double per_thread() const { return threads == 0 ? 0 : gflops / threads; }
};

// Time that workers spent, added over them, and the work they did in it.
struct Spent {
  double seconds = 0;
  double flops = 0;
  double bytes = 0;

  double gflops() const { return seconds > 0 ? flops / seconds * 1e-9 : 0; }  // of one worker
  double gbytes() const { return seconds > 0 ? bytes / seconds * 1e-9 : 0; }
  void add(const Spent& more) {
    seconds += more.seconds;
    flops += more.flops;
    bytes += more.bytes;
  }
};

// Calls that a trace cannot tell apart, as those of a layer that is applied twice, are one row.
struct OpTime {
  int call = 0;  // the first of them: its place in CompilationReport::ops
  int64_t times = 0;
  Spent spent;
};

struct LayerTime {
  std::string layer;
  int stage = 0;
  Spent forward;
  Spent backward;
};

// What a worker does or waits for. `step` is what it does in a step beside ops: it feeds, hands
// over and gathers; `outside` lies between executions.
enum class Phase {
  forward,
  backward,
  update,
  prologue,
  step,
  feed_wait,
  data_wait,
  barrier_wait,
  exchange_wait,
  outside
};
inline constexpr size_t kPhases = 10;
std::string to_string(Phase phase);
bool is_work(Phase phase);  // the others are waits and what is outside

using PhaseSeconds = std::array<double, kPhases>;

struct DeviceTime {
  int device = 0;
  int workers = 0;
  PhaseSeconds seconds = {};  // added over its workers; together workers * span
  double busy_share = 0;      // of that: neither waiting nor outside
};

struct ExecutionReport {
  double span_seconds = 0;  // that the figures are about
  int workers = 0;
  int64_t events = 0;   // recorded in all
  int64_t dropped = 0;  // if any, the span ends where the first track was full
  int64_t steps = 0;    // a step is a micro-batch on each replica
  int64_t samples = 0;
  int64_t padding = 0;  // rows of micro-batches that are no samples, but computed as well
  bool trains = false;  // has a backward pass
  int64_t updates = 0;
  int replicas = 0;
  MachinePeak peak;
  PhaseSeconds seconds = {};  // of all devices
  Spent forward;
  Spent backward;
  Spent update;
  std::vector<OpTime> ops;  // those that ran, in the order of the program
  std::vector<LayerTime> layers;
  std::vector<DeviceTime> devices;
  std::vector<profile::StageSummary> stages;  // of a pipeline, of the whole trace
  double other_seconds = 0;                   // ops of other programs

  double seconds_of(Phase phase) const { return seconds[static_cast<size_t>(phase)]; }
  // Of all time of all workers.
  double share(double part) const { return span_seconds > 0 ? part / (span_seconds * workers) : 0; }
  double share(Phase phase) const { return share(seconds_of(phase)); }
  double busy_share() const;
  // The work on samples, in all the time of all workers together.
  Spent whole() const;
  // Of what one thread can compute; 0 when that is unknown.
  double peak_fraction(const Spent& spent) const {
    return peak.gflops > 0 ? spent.gflops() / peak.per_thread() : 0;
  }
  double per_second(int64_t count) const {
    return span_seconds > 0 ? static_cast<double>(count) / span_seconds : 0;
  }
};

struct ExecutionReportOptions {
  int64_t micro_batch_size = 1;
  double update_bytes = 0;  // that a weight update reads and writes
  MachinePeak peak;
};

// Requires: the trace records ops.
ExecutionReport execution_report(const compiler::CompilationReport& compilation,
                                 const profile::Trace& trace,
                                 const ExecutionReportOptions& options);

std::string to_text(const ExecutionReport& report, const compiler::CompilationReport& compilation);
std::string to_json(const ExecutionReport& report, const compiler::CompilationReport& compilation);

}  // namespace pando::runtime
