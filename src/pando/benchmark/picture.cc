// SPDX-License-Identifier: MIT
#include "pando/benchmark/picture.h"

#include <algorithm>

#include "pando/app/report/svg_plot.h"

namespace pando::benchmark {
namespace {

std::optional<double> old_value(const Comparison* comparison, const std::string& variant,
                                const std::string& metric) {
  if (comparison == nullptr) return std::nullopt;
  for (const Row& row : comparison->rows) {
    if (row.variant == variant && row.metric == metric && row.before) return row.before->value;
  }
  return std::nullopt;
}

app::DotChart& chart_of(const Spread& spread, std::vector<app::DotChart>& charts) {
  const std::string title =
      spread.name + (spread.lower_is_better ? " (lower is better)" : " (higher is better)");
  const auto found = std::find_if(charts.begin(), charts.end(),
                                  [&](const app::DotChart& one) { return one.title == title; });
  if (found != charts.end()) return *found;
  charts.push_back({.title = title, .rows = {}});
  return charts.back();
}

}  // namespace

std::string results_svg(const std::vector<VariantResult>& results, const Comparison* comparison) {
  std::vector<app::DotChart> charts;
  for (const VariantResult& one : results) {
    for (const Spread& spread : one.spreads()) {
      if (spread.values.empty()) continue;
      chart_of(spread, charts)
          .rows.push_back({.name = one.variant.name,
                           .value = spread.middle(),
                           .low = spread.low(),
                           .high = spread.high(),
                           .former = old_value(comparison, one.variant.name, spread.name)});
    }
  }
  return app::dot_charts_svg(charts);
}

}  // namespace pando::benchmark
