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

// The most that the cores can compute, for comparison; unknown if `threads` is 0.
struct MachinePeak {
  std::string isa;
  int threads = 0;
  double gflops = 0;       // of all threads
  double memory_rate = 0;  // GB/s of all threads, read and written; 0: not measured
  double per_thread() const { return threads == 0 ? 0 : gflops / threads; }
};

// Time that workers spent, summed over workers, and the work they did in it.
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

// Calls that a trace cannot tell apart, such as those of a layer that is applied twice, are one
// row.
struct OpTime {
  int call = 0;       // the first of them: its place in CompilationReport::ops
  int64_t times = 0;  // each tile of a call counts
  Spent spent;
};

struct LayerTime {
  std::string layer;
  int stage = 0;
  Spent forward;
  Spent backward;
};

// The ways in which a worker spends its time. `step` is the work of a step besides ops: feeding,
// handing over and gathering; `outside` is the time between executions.
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
bool is_work(Phase phase);  // false for waits and `outside`

using PhaseSeconds = std::array<double, kPhases>;

struct DeviceTime {
  int device = 0;
  int workers = 0;
  PhaseSeconds seconds = {};  // summed over its workers; in total workers * span
  double busy_share = 0;      // the part of that which is work
};

struct ExecutionReport {
  double span_seconds = 0;  // the time that the figures cover
  int workers = 0;
  int64_t events = 0;   // recorded in all
  int64_t dropped = 0;  // if any, the span ends where the first track was full
  int64_t steps = 0;    // a step is a micro-batch on each replica
  int64_t samples = 0;
  int64_t padding = 0;  // rows of micro-batches without a sample, which are computed too
  bool trains = false;  // has a backward pass
  int64_t updates = 0;
  int replicas = 0;
  MachinePeak peak;
  PhaseSeconds seconds = {};  // of all devices
  Spent forward;
  Spent backward;
  Spent update;
  std::vector<OpTime> ops;  // the ops that ran, in the order of the program
  std::vector<LayerTime> layers;
  std::vector<DeviceTime> devices;
  std::vector<profile::StageSummary> stages;  // of a pipeline, over the whole trace
  double other_seconds = 0;                   // ops of other programs

  double seconds_of(Phase phase) const { return seconds[static_cast<size_t>(phase)]; }
  // The share of the time of all workers.
  double share(double part) const { return span_seconds > 0 ? part / (span_seconds * workers) : 0; }
  double share(Phase phase) const { return share(seconds_of(phase)); }
  double busy_share() const;
  // The work of all workers on samples, without padding, over the span.
  Spent whole() const;
  // The part of what one thread can compute; 0 when that is unknown.
  double peak_fraction(const Spent& spent) const {
    return peak.gflops > 0 ? spent.gflops() / peak.per_thread() : 0;
  }
  double per_second(int64_t count) const {
    return span_seconds > 0 ? static_cast<double>(count) / span_seconds : 0;
  }
};

struct ExecutionReportOptions {
  int64_t micro_batch_size = 1;
  double update_bytes = 0;  // read and written by a weight update
  MachinePeak peak;
};

// Requires: the trace records ops.
ExecutionReport execution_report(const compiler::CompilationReport& compilation,
                                 const profile::Trace& trace,
                                 const ExecutionReportOptions& options);

std::string to_text(const ExecutionReport& report, const compiler::CompilationReport& compilation);
std::string to_json(const ExecutionReport& report, const compiler::CompilationReport& compilation);

}  // namespace pando::runtime
