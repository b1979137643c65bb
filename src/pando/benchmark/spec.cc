// SPDX-License-Identifier: MIT
#include "pando/benchmark/spec.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "pando/benchmark/spec_reader_impl.h"
#include "pando/options/option_types.h"
#include "pando/options/usage_error.h"

namespace pando::benchmark {
namespace {

// Names that users have for what takes, costs or misses something.
constexpr std::array<std::string_view, 9> kLowerNames = {
    "latency", "loss", "time", "duration", "seconds", "error", "memory", "bytes", "_ms"};

const std::vector<std::string>& entry_keys() {
  static const std::vector<std::string> keys = {"cmd",
                                                "parameters",
                                                "data",
                                                "derived",
                                                "env",
                                                "timeout",
                                                "location",
                                                "description",
                                                "output",
                                                "generated",
                                                "synthetic",
                                                "allow_wandb",
                                                "notebook",
                                                "reference_directory",
                                                "requirements_file",
                                                "needs",
                                                "requirements_path"};
  return keys;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool is_true(const ConfigValue& entry, const std::string& key) {
  const ConfigValue* value = find_set(entry, key);
  return value != nullptr && read_truth(*value, key);
}

double read_seconds(const ConfigValue& value) {
  double seconds = 0;
  if (OptionType<double>::read(value, seconds) && seconds > 0) return seconds;
  throw UsageError(value.place, ": timeout: expected seconds, more than 0, got ", to_yaml(value));
}

Settings read_env(const ConfigValue& value) {
  expect_map(value, "env");
  Settings env;
  for (size_t i = 0; i < value.keys.size(); ++i) {
    const std::string& name = value.keys[i];
    if (name.empty() || contains(name, "=")) {
      throw UsageError(value.items[i].place, ": '", name, "' cannot be an environment variable");
    }
    env.emplace_back(name, read_text(value.items[i], name));
  }
  return env;
}

// A notebook is run by Jupyter, whose Markdown has what the cells print.
void read_notebook(const ConfigValue& value, Benchmark& benchmark) {
  std::string file;
  if (value.kind == ConfigValue::Kind::map) {
    check_keys(value, {"file", "working_directory", "timeout"});
    const ConfigValue* name = find_set(value, "file");
    if (name == nullptr) throw UsageError(value.place, ": notebook: expected the key file");
    file = read_text(*name, "file");
    if (const ConfigValue* folder = find_set(value, "working_directory")) {
      benchmark.location = read_text(*folder, "working_directory");
    }
    if (const ConfigValue* seconds = find_set(value, "timeout")) {
      benchmark.timeout = read_seconds(*seconds);
    }
  } else {
    file = read_text(value, "notebook");
  }
  if (!benchmark.cmd.empty()) {
    throw UsageError(value.place, ": '", benchmark.name, "' has cmd and notebook; remove one");
  }
  benchmark.cmd = "jupyter nbconvert --to markdown --execute --stdout '" + file + "'";
}

void note_idle_keys(const ConfigValue& entry, Benchmark& benchmark) {
  for (const char* key : {"requirements_file", "requirements_path"}) {
    if (find_set(entry, key) == nullptr) continue;
    benchmark.notes.push_back(concat(key, " is ignored: no Python packages are installed"));
  }
  if (find_set(entry, "reference_directory") != nullptr) {
    benchmark.notes.emplace_back(
        "reference_directory is ignored: commands run in the folder of their file; use location");
  }
  if (find_set(entry, "output") != nullptr) {
    benchmark.notes.emplace_back(
        "output is ignored: the result files have all metrics, and --csv-metrics gives them "
        "columns");
  }
}

std::vector<std::string> read_needs(const ConfigValue& value) {
  if (value.kind != ConfigValue::Kind::list) return {read_text(value, "needs")};
  std::vector<std::string> needs;
  for (const ConfigValue& item : value.items) needs.push_back(read_text(item, "needs"));
  return needs;
}

Benchmark read_entry(const std::string& name, const ConfigValue& entry, const std::string& path) {
  expect_map(entry, name);
  check_keys(entry, entry_keys());
  Benchmark benchmark{.name = name, .place = entry.place, .path = path};
  const auto text = [&](const char* key) {
    const ConfigValue* value = find_set(entry, key);
    return value == nullptr ? std::string() : read_text(*value, key);
  };
  benchmark.cmd = text("cmd");
  benchmark.location = text("location");
  benchmark.description = text("description");
  if (const ConfigValue* value = find_set(entry, "parameters")) {
    benchmark.parameters = read_parameters(*value);
  }
  benchmark.metrics = read_metrics(entry);
  if (const ConfigValue* value = find_set(entry, "env")) benchmark.env = read_env(*value);
  if (const ConfigValue* value = find_set(entry, "timeout"))
    benchmark.timeout = read_seconds(*value);
  if (const ConfigValue* value = find_set(entry, "notebook")) read_notebook(*value, benchmark);
  benchmark.needs_datasets = !is_true(entry, "generated") && !is_true(entry, "synthetic") &&
                             !contains(name, "gen") && !contains(name, "synth");
  if (const ConfigValue* value = find_set(entry, "needs")) benchmark.needs = read_needs(*value);
  benchmark.allow_wandb = is_true(entry, "allow_wandb");
  note_idle_keys(entry, benchmark);
  return benchmark;
}

}  // namespace

bool is_lower_better(const std::string& name) {
  const std::string lowered = to_lower(name);
  return std::any_of(kLowerNames.begin(), kLowerNames.end(),
                     [&](std::string_view part) { return contains(lowered, part); });
}

std::vector<Benchmark> load_specs(const std::vector<std::string>& paths) {
  std::vector<Benchmark> benchmarks;
  std::map<std::string, std::string> places;
  for (const std::string& path : paths) {
    const ConfigValue file = load_yaml(path);
    if (file.kind != ConfigValue::Kind::map) {
      throw UsageError(path, ": expected names of benchmarks with their keys, got no map");
    }
    const std::string absolute = std::filesystem::absolute(path).lexically_normal().string();
    for (size_t i = 0; i < file.keys.size(); ++i) {
      const auto [place, is_new] = places.emplace(file.keys[i], file.items[i].place);
      if (!is_new) {
        throw UsageError(file.items[i].place, ": '", file.keys[i], "' occurs twice, first at ",
                         place->second);
      }
      benchmarks.push_back(read_entry(file.keys[i], file.items[i], absolute));
    }
  }
  return benchmarks;
}

Metrics load_custom_metrics(const std::string& path) {
  const ConfigValue file = load_yaml(path);
  expect_map(file, path);
  check_keys(file, {"data", "derived"});
  Metrics metrics = read_metrics(file);
  for (Metric& metric : metrics.data) metric.required = false;
  for (DerivedMetric& metric : metrics.derived) metric.required = false;
  return metrics;
}

}  // namespace pando::benchmark
