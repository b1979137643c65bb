// The options of `pando benchmark`.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace pando::benchmark {

enum class Level { debug, info, warning, error };

struct BenchmarkOptions {
  std::vector<std::string> specs = {"benchmarks.yml"};
  std::vector<std::string> benchmarks;  // empty: all
  bool include_convergence = false;
  bool list = false;

  int repetitions = 1;
  std::optional<double> timeout;  // seconds, of any variant
  bool stop_on_error = false;
  bool compile_only = false;
  bool profile = false;
  bool allow_wandb = false;

  std::string log_dir;  // empty: ./log_<time>
  bool additional_metrics = false;
  std::vector<std::string> csv_metrics;
  std::vector<std::string> custom_metrics_files;
  Level logging = Level::info;
  double progress_period = 1;  // seconds

  std::string compare;          // a benchmark_results.json; empty: none
  double regression_limit = 5;  // percent

  std::vector<std::string> idle;  // flags that were given but are ignored
};

// Returns nothing after it printed the help. Throws UsageError.
std::optional<BenchmarkOptions> parse_benchmark_options(std::span<const std::string> args,
                                                        std::ostream& out);

}  // namespace pando::benchmark
