// Reports on the programs of a model: what the compiler made of them, what lies where in memory,
// and, from a trace, where the time of a run went.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/data/source.h"
#include "pando/profile/trace.h"
#include "pando/train/run_mode.h"

namespace pando {

class Model;

struct ProfileRequest {
  RunMode mode = RunMode::train;
  int64_t batch_size = 32;    // the samples of a step of fit, evaluate or predict
  std::vector<Field> fields;  // the fields of the data
  // The trace of that run (FitOptions::trace, EvaluateOptions::trace); null: only the compilation
  // report.
  const profile::Trace* trace = nullptr;
  // Seconds to measure the multiply-add peak of the cores, and again the rate of the memory; 0:
  // does not measure them.
  double peak_seconds = 0.1;
  std::string run;  // the id of the run, for the file of the trace; empty: none
};

// The same figures for people and for programs.
struct ProfileReport {
  std::string text;
  std::string json;
};

// Options of a trace for a report: enough events for some dozens to some hundreds of steps, few
// enough for memory and for a file that a viewer opens quickly. Later events are only counted, and
// the report says so.
inline constexpr profile::TraceOptions kProfileTrace = {.events_per_track = size_t{1} << 16};

struct ProfileFiles {
  std::string text;
  std::string json;
  std::string trace;  // empty without one
};

// Writes <name>_report.txt, <name>_report.json and, with a trace, <name>_trace.json (Chrome's trace
// format) into the folder, which is made if necessary, each file as a whole. Returns their paths.
// Throws IoError. In a job, one instance should write, or each under its own name.
ProfileFiles write_profile(Model& model, const std::string& folder, const std::string& name,
                           const ProfileRequest& request);

}  // namespace pando
