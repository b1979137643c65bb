// SPDX-License-Identifier: MIT
#include "pando/benchmark/comparison.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/core.h>

namespace pando::benchmark {
namespace {

// Relative to the old value; a change from 0 is one of 100 %.
double change_in_percent(double before, double now) {
  if (before == now) return 0;
  if (before == 0) return now > 0 ? 100 : -100;
  return 100 * (now - before) / std::abs(before);
}

Verdict verdict_of(const Row& row, double limit) {
  if (!row.before) return Verdict::added;
  if (!row.now) return Verdict::missing;
  const double change = *row.change();
  if (std::abs(change) <= limit) return Verdict::same;
  const bool overlap = row.now->low <= row.before->high && row.before->low <= row.now->high;
  if (overlap) return Verdict::unclear;
  return (change < 0) == row.lower_is_better ? Verdict::better : Verdict::worse;
}

void add_rows(const VariantResult& result, const OldResults& before, double limit,
              Comparison& comparison) {
  for (const Spread& spread : result.spreads()) {
    Row row{result.variant.name, spread.name, spread.lower_is_better, {}, {}};
    if (!spread.values.empty()) {
      row.now = Measured{spread.middle(), spread.low(), spread.high()};
    }
    const auto old = before.metrics.find({row.variant, row.metric});
    if (old != before.metrics.end()) row.before = old->second;
    if (!row.before && !row.now) continue;
    row.verdict = verdict_of(row, limit);
    comparison.rows.push_back(std::move(row));
  }
}

std::string value_cell(const std::optional<Measured>& value) {
  if (!value) return "-";
  return fmt::format("{:.6g}", value->value);
}

std::string change_cell(const Row& row) {
  const auto change = row.change();
  return change ? fmt::format("{:+.1f} %", *change) : "-";
}

Json measured_json(const std::optional<Measured>& value) {
  if (!value) return {};
  return {{"high", value->high}, {"low", value->low}, {"value", value->value}};
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::same: return "same";
    case Verdict::better: return "better";
    case Verdict::worse: return "WORSE";
    case Verdict::unclear: return "unclear";
    case Verdict::added: return "new";
    case Verdict::missing: return "MISSING";
  }
  return "";
}

std::optional<double> Row::change() const {
  if (!before || !now) return std::nullopt;
  return change_in_percent(before->value, now->value);
}

size_t Comparison::regressions() const {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [](const Row& row) {
    return row.verdict == Verdict::worse || row.verdict == Verdict::missing;
  }));
}

Comparison compare(const std::vector<VariantResult>& results, const OldResults& before,
                   double limit) {
  Comparison comparison;
  std::set<std::string> ran;
  for (const VariantResult& one : results) {
    if (one.repetitions.empty()) continue;
    ran.insert(one.variant.name);
    add_rows(one, before, limit, comparison);
  }
  const std::string machine = machine_json().dump();
  for (const std::string& other : before.machines) {
    if (other != machine) {
      comparison.notes.push_back("the old results are of another machine: " + other);
    }
  }
  int64_t not_run = 0;
  for (const auto& [name, passed] : before.passed) not_run += ran.count(name) == 0 ? 1 : 0;
  if (not_run > 0) {
    comparison.notes.push_back(counted(not_run, "variant") + " of the old results did not run");
  }
  return comparison;
}

std::string to_text(const Comparison& comparison, double limit) {
  size_t widest = 8;
  size_t widest_metric = 6;
  for (const Row& row : comparison.rows) {
    widest = std::max(widest, row.variant.size());
    widest_metric = std::max(widest_metric, row.metric.size());
  }
  const auto line = [&](const auto&... cells) {
    return fmt::format("{:<{}}  {:<{}}  {:>12}  {:>12}  {:>9}  {}\n", cells...);
  };
  std::string text =
      line("variant", widest, "metric", widest_metric, "old", "new", "change", "verdict");
  for (const Row& row : comparison.rows) {
    text += line(row.variant, widest, row.metric, widest_metric, value_cell(row.before),
                 value_cell(row.now), change_cell(row), to_string(row.verdict));
  }
  for (const std::string& note : comparison.notes) text += "note: " + note + "\n";
  return text + fmt::format("{} beyond {:g} %\n",
                            counted(static_cast<int64_t>(comparison.regressions()), "regression"),
                            limit);
}

Json to_json(const Comparison& comparison, double limit) {
  Json rows = Json::array();
  for (const Row& row : comparison.rows) {
    const auto change = row.change();
    rows.push_back({{"better", row.lower_is_better ? "lower" : "higher"},
                    {"change_percent", change ? Json(*change) : Json()},
                    {"metric", row.metric},
                    {"new", measured_json(row.now)},
                    {"old", measured_json(row.before)},
                    {"variant", row.variant},
                    {"verdict", to_lower(to_string(row.verdict))}});
  }
  return {{"limit_percent", limit},
          {"notes", comparison.notes},
          {"regressions", comparison.regressions()},
          {"rows", rows}};
}

}  // namespace pando::benchmark
