// Chooses the variants that a run measures.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/benchmark/benchmark_options.h"
#include "pando/benchmark/result.h"

namespace pando::benchmark {

// The variants in their order, with their commands; without repetitions. One that cannot run says
// why (`skipped`). Requires: the benchmarks outlive the result. Throws UsageError for an unknown
// name, a benchmark that was named but cannot run, none at all, or too many.
std::vector<VariantResult> select_variants(const std::vector<Benchmark>& benchmarks,
                                           const BenchmarkOptions& options);

}  // namespace pando::benchmark
