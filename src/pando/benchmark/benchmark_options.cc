// SPDX-License-Identifier: MIT
#include "pando/benchmark/benchmark_options.h"

#include "pando/options/command_line.h"
#include "pando/options/usage_error.h"

namespace pando::benchmark {
namespace {

constexpr const char* kHelpHead =
    R"(usage: pando benchmark [--spec FILE...] [--benchmark NAME...] [flags]

Runs the benchmarks of a YAML file and finds their metrics in what they print. Each benchmark has a
command, parameters that make variants of it, and regular expressions for its metrics. Writes the
output of each variant, and all results as JSON, CSV, JUnit XML and a picture, into a log folder.

examples:
  pando benchmark --spec benchmarks.yml --list
  pando benchmark --spec benchmarks.yml --benchmark train_small_gen --repetitions 5
  pando benchmark --compare log_old/benchmark_results.json --regression-limit 3

A command runs in the folder of its file. `pando` as its first word is this program, whatever PATH
says. $PANDO_BENCHMARK_DIR is the folder of the variant's logs, for files that the command writes.

exit codes: 0 if all variants passed and none got worse, 1 if one failed or got worse, 2 for a wrong
flag or file, 75 if a signal stopped the run; what was measured until then is written.

)";

// Flags of the original for hardware and services that are not there.
struct IdleFlags {
  bool no_code_sync = false;
  bool gc_monitor = false;
  bool remove_dirs_after = false;
  std::string requirements_file;
  std::vector<std::string> upload_checkpoints;
};

void add_choice_of_benchmarks(OptionTable& table, BenchmarkOptions& options) {
  table.begin_group("What to run");
  table.add("spec", options.specs, "YAML files with benchmarks").with_hint("FILE");
  table.add("benchmark", options.benchmarks, "names of benchmarks; none: all").with_hint("NAME");
  table.add("include-convergence", options.include_convergence,
            "also run benchmarks with _conv in their name, which train to the end");
  table.add("list", options.list, "show the variants and their commands, and run none");
}

void add_running(OptionTable& table, BenchmarkOptions& options) {
  table.begin_group("How to run");
  table
      .add("repetitions", options.repetitions,
           "run every variant so often, in turn; results are medians, with their range")
      .with_hint("N")
      .at_least(1)
      .at_most(1000);
  table.add("timeout", options.timeout, "seconds after which a variant is ended and has failed")
      .with_hint("S")
      .above(0);
  table.add("stop-on-error", options.stop_on_error, "run no more after a variant has failed");
  table.add("compile-only", options.compile_only,
            "add --compile-only to every command, and look for no metrics");
  table.add(
      "profile", options.profile,
      "add --profile to every `pando train`, but not within sh -c '...'; its reports are beside "
      "the logs");
  table.add("allow-wandb", options.allow_wandb,
            "leave flags that begin with --wandb in the commands");
}

void add_output(OptionTable& table, BenchmarkOptions& options) {
  table.begin_group("Output");
  table.add("log-dir", options.log_dir, "the folder of logs and results; default: log_<time>")
      .with_hint("DIR");
  table.add("additional-metrics", options.additional_metrics,
            "more columns in the CSV: duration, loss, result, command, environment, commit");
  table.add("csv-metrics", options.csv_metrics, "metrics that get a column in the CSV")
      .with_hint("NAME");
  table
      .add("custom-metrics-files", options.custom_metrics_files,
           "YAML files with data and derived: metrics to look for in every benchmark, which none "
           "has to print")
      .with_hint("FILE");
  table.add_choice("logging", options.logging,
                   {{"DEBUG", Level::debug},
                    {"INFO", Level::info},
                    {"WARNING", Level::warning},
                    {"ERROR", Level::error},
                    {"CRITICAL", Level::error}},
                   "how much to print; console.log has all");
  table
      .add("progress-trace-period", options.progress_period,
           "seconds between two updates of the time that a terminal shows")
      .with_hint("S")
      .above(0);
}

void add_comparison(OptionTable& table, BenchmarkOptions& options) {
  table.begin_group("Comparison");
  table.add("compare", options.compare, "a benchmark_results.json to compare the results with")
      .with_hint("FILE");
  table
      .add("regression-limit", options.regression_limit,
           "percent by which a metric may get worse before it counts as a regression")
      .with_hint("P")
      .at_least(0);
}

void add_idle(OptionTable& table, IdleFlags& flags) {
  table.begin_group("Ignored flags");
  table.add("no-code-sync", flags.no_code_sync, "ignored: no code is copied to other hosts");
  table.add("gc-monitor", flags.gc_monitor,
            "ignored: devices are cores, whose use by others is always noted");
  table.add("remove-dirs-after", flags.remove_dirs_after,
            "ignored: no folders are made on other hosts");
  table.add("requirements-file", flags.requirements_file, "ignored: no packages are installed")
      .with_hint("FILE");
  table
      .add("upload-checkpoints", flags.upload_checkpoints,
           "ignored: nothing is sent to any service")
      .with_hint("NAME");
}

}  // namespace

std::optional<BenchmarkOptions> parse_benchmark_options(std::span<const std::string> args,
                                                        std::ostream& out) {
  BenchmarkOptions options;
  IdleFlags idle;
  CommonOptions common;
  OptionTable table;
  add_choice_of_benchmarks(table, options);
  add_running(table, options);
  add_output(table, options);
  add_comparison(table, options);
  add_idle(table, idle);
  add_help_option(table, common);
  parse_command_line(table, common, args);
  if (common.help) {
    out << kHelpHead << help_text(table);
    return std::nullopt;
  }
  if (options.specs.empty()) throw UsageError("--spec: expected a file, got none");
  for (const std::string& place : idle.upload_checkpoints) {
    if (place != "wandb" && place != "s3") {
      throw UsageError("--upload-checkpoints: expected wandb or s3, got '", place, "'");
    }
  }
  for (const Option& option : table.options()) {
    const bool is_given = option.origin.kind == Origin::Kind::command_line;
    if (option.group == "Ignored flags" && is_given) {
      options.idle.push_back("--" + option.name + ": " + option.help);
    }
  }
  return options;
}

}  // namespace pando::benchmark
