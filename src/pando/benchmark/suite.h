// Runs the chosen benchmarks and writes their results.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>

#include "pando/benchmark/benchmark_options.h"

namespace pando::benchmark {

// Returns an exit code. Prints to `out`, and the time that passes to `err` if that is a terminal.
// Requires: this process has one thread and no children. Throws UsageError before anything runs,
// IoError if logs or results cannot be written.
int run_benchmarks(const BenchmarkOptions& options, std::ostream& out, std::ostream& err);

}  // namespace pando::benchmark
