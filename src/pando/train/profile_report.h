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
  int64_t batch_size = 32;    // as the fit, evaluate or predict had it
  std::vector<Field> fields;  // of its data
  // Recorded by it (FitOptions::trace, EvaluateOptions::trace); null: the compilation report alone.
  const profile::Trace* trace = nullptr;
  // How long the multiply-add peak of the cores is measured, for fractions of it; 0: not at all.
  double peak_seconds = 0.1;
};

// The same figures for people and for programs.
struct ProfileReport {
  std::string text;
  std::string json;
};

// What a trace for a report needs: enough for some hundred steps of most models, in memory and in a
// file that a viewer opens quickly. What comes later is counted, and the report says so.
inline constexpr profile::TraceOptions kProfileTrace = {.events_per_track = size_t{1} << 16};

struct ProfileFiles {
  std::string text;
  std::string json;
  std::string trace;  // empty without one
};

// Writes <name>_report.txt, <name>_report.json and, with a trace, <name>_trace.json (Chrome's trace
// format) into the folder, which is made if need be, each as a whole, and tells their paths. Throws
// IoError. Of the instances of a job one should write, or each under its own name.
ProfileFiles write_profile(Model& model, const std::string& folder, const std::string& name,
                           const ProfileRequest& request);

}  // namespace pando
