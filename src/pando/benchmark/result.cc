// SPDX-License-Identifier: MIT
#include "pando/benchmark/result.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <fmt/core.h>

#include "pando/app/record/run_facts.h"
#include "pando/benchmark/processor_watch.h"
#include "pando/benchmark/reduction.h"

namespace pando::benchmark {
namespace {

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json repetition_json(const Repetition& repetition) {
  std::map<std::string, Json> metrics;
  for (const Outcome& one : repetition.outcomes) metrics[one.name] = number_or_null(one.value);
  return {{"exitcode", repetition.code},
          {"failure", repetition.failure.empty() ? Json() : Json(repetition.failure)},
          {"metrics", metrics},
          {"other_cores", repetition.other_cores},
          {"seconds", repetition.seconds}};
}

std::map<std::string, Json> spread_json(const std::vector<Spread>& spreads) {
  std::map<std::string, Json> all;
  for (const Spread& spread : spreads) {
    if (spread.values.empty()) continue;
    all[spread.name] = {{"better", spread.lower_is_better ? "lower" : "higher"},
                        {"high", spread.high()},
                        {"low", spread.low()},
                        {"values", spread.values}};
  }
  return all;
}

}  // namespace

double Spread::middle() const { return median(values); }
double Spread::low() const { return *std::min_element(values.begin(), values.end()); }
double Spread::high() const { return *std::max_element(values.begin(), values.end()); }

bool VariantResult::has_failed() const { return code() != 0; }

std::string VariantResult::failure() const {
  for (const Repetition& one : repetitions) {
    if (one.code != 0) return one.failure;
  }
  return "";
}

int VariantResult::code() const {
  for (const Repetition& one : repetitions) {
    if (one.code != 0) return one.code;
  }
  return 0;
}

double VariantResult::seconds() const {
  std::vector<double> all;
  for (const Repetition& one : repetitions) all.push_back(one.seconds);
  return all.empty() ? 0 : median(std::move(all));
}

std::vector<Spread> VariantResult::spreads() const {
  std::vector<Spread> spreads;
  if (repetitions.empty()) return spreads;
  for (const Outcome& one : repetitions.front().outcomes) {
    spreads.push_back({one.name, one.reduction, one.lower_is_better, {}});
  }
  for (const Repetition& repetition : repetitions) {
    if (repetition.code != 0) continue;
    for (size_t i = 0; i < spreads.size(); ++i) {
      const Outcome& outcome = repetition.outcomes[i];
      if (outcome.value) spreads[i].values.push_back(*outcome.value);
    }
  }
  return spreads;
}

std::vector<std::string> VariantResult::notes() const {
  std::vector<std::string> all = benchmark->notes;
  for (const Repetition& one : repetitions) {
    for (const std::string& note : one.notes) {
      if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(note);
    }
  }
  return all;
}

Json machine_json() {
  const app::MachineFacts machine = app::this_machine();
  return {{"cores", machine.cores}, {"isa", machine.isa}, {"processor", machine.processor}};
}

Json to_json(const VariantResult& result) {
  std::map<std::string, Json> results;
  std::optional<double> compile_seconds;
  for (const Spread& spread : result.spreads()) {
    const bool has_value = !spread.values.empty();
    results[spread.name] = {{spread.reduction, has_value ? Json(spread.middle()) : Json()}};
    if (spread.name == "total_compiling_time" && has_value) compile_seconds = spread.middle();
  }
  Json repetitions = Json::array();
  for (const Repetition& one : result.repetitions) repetitions.push_back(repetition_json(one));
  const std::string failure = result.failure();
  const auto map_of = [](const Settings& settings) {
    return Json(std::map<std::string, std::string>(settings.begin(), settings.end()));
  };
  return {{"benchmark_name", result.benchmark->name},
          {"benchmark_path", result.benchmark->path},
          {"command", result.command},
          // The original writes seconds here, too, and the word None for none.
          {"compilation_end_time", compile_seconds ? Json(*compile_seconds).dump() : "None"},
          {"end_time", result.repetitions.back().end_time},
          {"env", map_of(result.benchmark->env)},
          {"exitcode", result.code()},
          {"failure", failure.empty() ? Json() : Json(failure)},
          {"git_commit_hash", result.git_commit},
          {"log_paths",
           {{"err", result.folder + "/stderr.log"}, {"out", result.folder + "/stdout.log"}}},
          {"machine", machine_json()},
          {"notes", result.notes()},
          {"params", map_of(result.variant.parameters)},
          {"ranges", spread_json(result.spreads())},
          {"repetitions", repetitions},
          {"results", results},
          {"start_time", result.repetitions.front().start_time},
          {"test_duration", fmt::format("{:.6f}", result.seconds())},
          {"variant_name", result.variant.name}};
}

std::string time_text() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const std::time_t seconds = micro / 1'000'000;
  std::tm parts = {};
  localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return fmt::format("{}.{:06}", text, micro % 1'000'000);
}

}  // namespace pando::benchmark
