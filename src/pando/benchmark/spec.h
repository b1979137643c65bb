// The content of a file of benchmarks: one entry per benchmark, with its command, the parameters
// that vary and the metrics in its output.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pando/benchmark/pattern.h"
#include "pando/benchmark/reduction.h"

namespace pando::benchmark {

using Settings = std::vector<std::pair<std::string, std::string>>;  // names with their values

// A number that a regular expression finds in the output.
struct Metric {
  std::string name;
  std::string regexp;
  std::shared_ptr<const Pattern> pattern;
  int skip = 0;  // the number of first values that are the warm-up
  const Reduction* reduction = nullptr;
  bool lower_is_better = false;
  bool required = true;  // a program that does not print it has failed
};

// A number that is computed from others.
struct DerivedMetric {
  std::string name;
  std::string expr;                // {name} stands for a metric or a parameter
  std::string reduction = "mean";  // only the name under which it is reported
  bool lower_is_better = false;
  bool required = true;
};

struct Metrics {
  std::vector<Metric> data;
  std::vector<DerivedMetric> derived;
};

// Either rows of values, or values of each name that are combined with all of the others.
struct Parameters {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;     // each as many as names
  std::vector<std::vector<std::string>> choices;  // instead: one list per name
};

struct Benchmark {
  std::string name;
  std::string place;  // "file:line:column"
  std::string path;   // of the file, absolute
  std::string cmd;    // a format string; empty in entries that others only refer to
  Parameters parameters;
  Metrics metrics;
  Settings env;
  std::optional<double> timeout;  // seconds
  std::string location;           // the folder where it runs, relative to that of the file
  std::string description;
  bool needs_datasets = true;      // DATASETS_DIR has to be set
  std::vector<std::string> needs;  // programs and files without which it cannot run
  bool allow_wandb = false;
  std::vector<std::string> notes;  // on keys without effect
};

// Whether a metric of this name is better if it is lower, unless its `better` says otherwise.
bool is_lower_better(const std::string& name);

// Reads the files one after the other. Throws UsageError with the place for a key that is unknown
// (and names the nearest), a wrong value, or a benchmark that two files define.
std::vector<Benchmark> load_specs(const std::vector<std::string>& paths);

// Reads a file with only `data` and `derived`: metrics for all benchmarks, none of them required.
Metrics load_custom_metrics(const std::string& path);

}  // namespace pando::benchmark
