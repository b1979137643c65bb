// SPDX-License-Identifier: MIT
#include "pando/app/html/curve_data.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "pando/app/record/log_line.h"
#include "pando/base/named_values.h"

namespace pando::app {
namespace {

using ValueOf = std::function<std::optional<double>(const HistoryRow&)>;

struct ChartCurve {
  std::string name;
  ValueOf value;
};

struct ChartKind {
  std::string title;
  std::string unit;
  std::vector<ChartCurve> curves;
  bool log = false;   // logarithmic at first
  bool zero = false;  // the axis begins at zero
};

ValueOf field(std::optional<double> HistoryRow::*member, double scale = 1) {
  return [member, scale](const HistoryRow& row) -> std::optional<double> {
    if (!(row.*member)) return std::nullopt;
    return scale * *(row.*member);
  };
}

ValueOf extra(const char* name, double scale = 1) {
  return [name, scale](const HistoryRow& row) -> std::optional<double> {
    const double* const found = find_named(row.extra, name);
    if (found == nullptr) return std::nullopt;
    return scale * *found;
  };
}

std::vector<ChartKind> chart_kinds(const Task& task) {
  const double scale = task.is_fraction ? 100 : 1;
  const std::string unit = task.is_fraction ? "%" : "";
  std::string title = task.metric;
  std::ranges::replace(title, '_', ' ');
  if (!title.empty())
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
  return {{.title = "Loss",
           .unit = "",
           .curves = {{"training", field(&HistoryRow::loss)},
                      {"validation", field(&HistoryRow::val_loss)}}},
          {.title = title,
           .unit = unit,
           .curves = {{"training", field(&HistoryRow::metric, scale)},
                      {"validation", field(&HistoryRow::val_metric, scale)}}},
          {.title = "Learning rate",
           .unit = "",
           .curves = {{"", field(&HistoryRow::learning_rate)}},
           .zero = true},
          {.title = "Throughput",
           .unit = "samples/s",
           .curves = {{"", field(&HistoryRow::throughput)}},
           .zero = true},
          {.title = "Loss-scaling factor",
           .unit = "",
           .curves = {{"", extra(kLossScalingColumn)}},
           .log = true}};
}

double finite_or_nan(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? *value : std::numeric_limits<double>::quiet_NaN();
}

// Nothing for a run without values.
std::optional<Json> curve_json(const RunRecord& run, int index, const ChartCurve& curve) {
  std::vector<const HistoryRow*> rows;
  std::vector<double> values;
  for (const HistoryRow& row : run.rows) {
    const std::optional<double> value = curve.value(row);
    if (!value) continue;
    rows.push_back(&row);
    values.push_back(finite_or_nan(value));
  }
  if (rows.empty()) return std::nullopt;
  Json::Items step, epoch, seconds, y;
  for (const size_t place : thinned(values)) {
    const HistoryRow& row = *rows[place];
    step.emplace_back(row.step);
    epoch.emplace_back(row.epoch);
    seconds.emplace_back(row.seconds ? Json(*row.seconds) : Json());
    y.emplace_back(values[place]);
  }
  return Json{
      {"run", index},
      {"name", curve.name},
      {"x",
       {{"step", std::move(step)}, {"epoch", std::move(epoch)}, {"seconds", std::move(seconds)}}},
      {"y", std::move(y)}};
}

}  // namespace

std::vector<size_t> thinned(std::span<const double> values, size_t most) {
  std::vector<size_t> kept;
  if (values.size() <= most) {
    for (size_t i = 0; i < values.size(); ++i) kept.push_back(i);
    return kept;
  }
  const size_t buckets = std::max<size_t>((most - 2) / 2, 1);
  kept.push_back(0);
  const size_t inner = values.size() - 2;
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    const size_t begin = 1 + inner * bucket / buckets, end = 1 + inner * (bucket + 1) / buckets;
    std::optional<size_t> least, largest;
    for (size_t i = begin; i < end; ++i) {
      if (!std::isfinite(values[i])) continue;
      if (!least || values[i] < values[*least]) least = i;
      if (!largest || values[i] > values[*largest]) largest = i;
    }
    if (!least) continue;
    kept.push_back(std::min(*least, *largest));
    if (*least != *largest) kept.push_back(std::max(*least, *largest));
  }
  kept.push_back(values.size() - 1);
  return kept;
}

Json curve_charts(std::span<const RunRecord> runs) {
  Json charts = Json::array();
  if (runs.empty()) return charts;
  std::vector<ChartKind> kinds;
  for (const RunRecord& run : runs) {  // runs of several tasks have a chart for each metric
    for (ChartKind& kind : chart_kinds(run.task())) {
      if (std::ranges::find(kinds, kind.title, &ChartKind::title) == kinds.end()) {
        kinds.push_back(std::move(kind));
      }
    }
  }
  for (const ChartKind& kind : kinds) {
    Json curves = Json::array();
    for (size_t i = 0; i < runs.size(); ++i) {
      const bool has_it =
          std::ranges::any_of(chart_kinds(runs[i].task()),
                              [&](const ChartKind& own) { return own.title == kind.title; });
      if (!has_it) continue;
      for (const ChartCurve& curve : kind.curves) {
        if (auto json = curve_json(runs[i], static_cast<int>(i), curve)) {
          curves.push_back(std::move(*json));
        }
      }
    }
    if (curves.items().empty()) continue;
    charts.push_back({{"title", kind.title},
                      {"unit", kind.unit},
                      {"log", kind.log},
                      {"zero", kind.zero},
                      {"curves", std::move(curves)}});
  }
  return charts;
}

}  // namespace pando::app
