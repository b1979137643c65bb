// SPDX-License-Identifier: MIT
#include "pando/app/html/summary_data.h"

#include <algorithm>
#include <array>

#include "pando/app/record/log_line.h"
#include "pando/base/named_values.h"

namespace pando::app {
namespace {

// These options differ between any two runs, so they do not explain different results.
constexpr std::array kPlaces = {"run-dir", "trace", "profile", "checkpoint-output-dir", "report"};

Json machine_json(const MachineFacts& machine) {
  return {{"host", machine.host},   {"processor", machine.processor}, {"isa", machine.isa},
          {"cores", machine.cores}, {"memory", machine.memory_bytes}, {"system", machine.system}};
}

Json best_json(const RunRecord& run) {
  const std::optional<BestValue> best = best_value(run.rows, run.task());
  if (!best) return nullptr;
  return {{"value", best->value},
          {"text", figure_text(run.task(), best->value)},
          {"epoch", best->epoch},
          {"of_validation", best->of_validation}};
}

// The newest value of a column; null without one.
Json last_of(const RunRecord& run, std::optional<double> HistoryRow::*column) {
  for (auto row = run.rows.rbegin(); row != run.rows.rend(); ++row) {
    if ((*row).*column) return *((*row).*column);
  }
  return nullptr;
}

// Validations after training have rows of earlier epochs.
Json last_epoch(const RunRecord& run) {
  if (run.rows.empty()) return nullptr;
  return std::ranges::max_element(run.rows, {}, &HistoryRow::epoch)->epoch;
}

Json mean_throughput(const RunRecord& run) {
  double sum = 0;
  int64_t count = 0;
  for (const HistoryRow& row : run.rows) {
    if (!row.throughput) continue;
    sum += *row.throughput;
    ++count;
  }
  return count == 0 ? Json() : Json(sum / static_cast<double>(count));
}

}  // namespace

Json run_summary(const RunRecord& run) {
  const RunFacts& facts = run.facts;
  const Task& task = run.task();
  Json options = Json::array();
  for (const auto& option : run.options) options.push_back(option);
  return {{"name", run.name},
          {"folder", std::filesystem::absolute(run.folder).lexically_normal().string()},
          {"state", to_string(run.summary.state)},
          {"cause", run.summary.cause},
          {"activity", facts.activity},
          {"task", task.name},
          {"metric", task.metric},
          {"is_fraction", task.is_fraction},
          {"best", best_json(run)},
          {"epochs", last_epoch(run)},
          {"loss", last_of(run, &HistoryRow::loss)},
          {"val_loss", last_of(run, &HistoryRow::val_loss)},
          {"seconds", last_of(run, &HistoryRow::seconds)},
          {"throughput", mean_throughput(run)},
          {"rows", run.rows.size()},
          {"model", facts.model},
          {"dataset", facts.dataset},
          {"seed", facts.seed},
          {"train_samples", facts.train_samples},
          {"test_samples", facts.test_samples},
          {"parameters", facts.parameters},
          {"global_batch_size", facts.global_batch_size},
          {"instances", facts.instances},
          {"compile_seconds", facts.compile_seconds},
          {"command", facts.command},
          {"version", facts.version},
          {"started_ms", 1e3 * run.summary.started},
          {"updated_ms", 1e3 * run.summary.updated},
          {"machine", machine_json(facts.machine)},
          {"options", std::move(options)},
          {"problems", run.problems}};
}

Json differing_options(std::span<const RunRecord> runs) {
  std::vector<std::string> names;
  for (const RunRecord& run : runs) {
    for (const auto& [name, text] : run.options) {
      if (std::ranges::find(kPlaces, name) != kPlaces.end()) continue;
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  Json rows = Json::array();
  for (const std::string& name : names) {
    Json::Items values;
    bool differs = false;
    for (const RunRecord& run : runs) {
      const std::string* const found = find_named(run.options, name);
      const std::string* const first = find_named(runs[0].options, name);
      const bool has = found != nullptr;
      differs = differs || has != (first != nullptr) || (has && *found != *first);
      values.push_back(has ? Json(*found) : Json());
    }
    if (differs) rows.push_back({{"name", name}, {"values", std::move(values)}});
  }
  return rows;
}

}  // namespace pando::app
