// SPDX-License-Identifier: MIT
#include "pando/benchmark/outcome.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/base/named_values.h"
#include "pando/benchmark/expression.h"

namespace pando::benchmark {
namespace {

constexpr const char* kCompileTime = "total_compiling_time";

// Why the values of a metric cannot be used, or nothing.
std::string fault_of(const Metric& metric, const Found& found, int64_t lines) {
  const auto say = [&](const auto&... parts) { return concat(metric.name, ": ", parts...); };
  if (found.too_slow) return say("regexp '", metric.regexp, "' takes too long on a line");
  if (found.too_many) return say("regexp '", metric.regexp, "' has more than 1,000,000 matches");
  if (!found.no_number.empty()) return say("expected a number, got ", found.no_number);
  if (found.values.empty()) {
    return say("regexp '", metric.regexp, "' matches nothing in ", counted(lines, "line"));
  }
  const auto wrong = std::find_if(found.values.begin(), found.values.end(),
                                  [](double value) { return !std::isfinite(value); });
  if (wrong != found.values.end()) return say("expected finite numbers, got ", *wrong);
  if (found.values.size() <= static_cast<size_t>(metric.skip)) {
    return say("expected more than ", counted(metric.skip, "value"),
               ", which skip leaves out, got ", found.values.size());
  }
  return "";
}

Outcome outcome_of(const Metric& metric, const OutputScan& scan, size_t index, int processes) {
  Outcome outcome{metric.name, metric.reduction->name, metric.lower_is_better, {}, {}};
  Found found = scan.found(index);
  std::string fault = fault_of(metric, found, scan.lines());
  if (!fault.empty()) {
    if (metric.required) outcome.failure = std::move(fault);
    return outcome;
  }
  found.values.erase(found.values.begin(), found.values.begin() + metric.skip);
  outcome.value = metric.reduction->apply(found.values);
  if (metric.name == "throughput") *outcome.value *= processes;
  return outcome;
}

Outcome outcome_of(const DerivedMetric& metric, const std::vector<Outcome>& before,
                   const Variant& variant) {
  Outcome outcome{metric.name, metric.reduction, metric.lower_is_better, {}, {}};
  const auto value_of = [&](const std::string& name) -> std::optional<std::string> {
    if (const std::string* const found = find_named(variant.parameters, name)) return *found;
    for (const Outcome& one : before) {
      if (one.name != name) continue;
      if (!one.value) throw InvalidArgument("'", name, "' has no value");
      // Brackets, because a negative value may follow an operator.
      return fmt::format("({})", *one.value);
    }
    return std::nullopt;
  };
  try {
    outcome.value = evaluate_expression(fill_in(metric.expr, value_of, "expr"));
  } catch (const InvalidArgument& error) {
    if (metric.required) outcome.failure = concat(metric.name, ": ", error.what());
  }
  return outcome;
}

bool has_compile_time(const std::vector<Outcome>& outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(),
                     [](const Outcome& one) { return one.name == kCompileTime; });
}

}  // namespace

std::vector<Outcome> outcomes_of(const Metrics& metrics, const OutputScan& scan,
                                 const Variant& variant, int processes) {
  std::vector<Outcome> outcomes;
  for (size_t i = 0; i < metrics.data.size(); ++i) {
    outcomes.push_back(outcome_of(metrics.data[i], scan, i, processes));
  }
  for (const DerivedMetric& metric : metrics.derived) {
    outcomes.push_back(outcome_of(metric, outcomes, variant));
  }
  if (!has_compile_time(outcomes)) {
    outcomes.push_back({kCompileTime, "mean", true, scan.compile_seconds(), ""});
  }
  return outcomes;
}

std::vector<Outcome> missing_outcomes(const Metrics& metrics) {
  std::vector<Outcome> outcomes;
  for (const Metric& metric : metrics.data) {
    outcomes.push_back({metric.name, metric.reduction->name, metric.lower_is_better, {}, {}});
  }
  for (const DerivedMetric& metric : metrics.derived) {
    outcomes.push_back({metric.name, metric.reduction, metric.lower_is_better, {}, {}});
  }
  if (!has_compile_time(outcomes)) outcomes.push_back({kCompileTime, "mean", true, {}, {}});
  return outcomes;
}

}  // namespace pando::benchmark
