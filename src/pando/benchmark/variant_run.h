// Runs a variant once and finds its metrics.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pando/app/record/append_file.h"
#include "pando/benchmark/benchmark_options.h"
#include "pando/benchmark/result.h"
#include "pando/launch/signal_inbox.h"

namespace pando::benchmark {

struct RunContext {
  const BenchmarkOptions& options;
  const Metrics& custom_metrics;
  launch::SignalInbox& signals;
  app::AppendFile& all_output;  // of all variants
  std::function<void(double seconds)> show_progress = {};
};

// Ends a program that writes more than this, so that it does not fill the disk.
constexpr int64_t kMostOutput = int64_t{1} << 30;

// The folder that the variant runs in.
std::string working_folder(const Benchmark& benchmark);

// Writes stdout.log and stderr.log into `folder`, which is made, or emptied if it is that of an
// earlier run. A failure of the program is part of the result. Returns nothing if a signal stopped
// the run. Throws IoError if the logs cannot be written; the program is then ended.
std::optional<Repetition> run_variant(const VariantResult& variant, const std::string& folder,
                                      const RunContext& context);

}  // namespace pando::benchmark
