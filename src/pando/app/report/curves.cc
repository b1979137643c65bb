// SPDX-License-Identifier: MIT
#include "pando/app/report/curves.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <span>

#include "pando/app/report/svg_plot.h"
#include "pando/store/atomic_file.h"
#include "pando/zoo/task.h"

namespace pando::app {
namespace {

// Sorts the points by epoch, because validation after training adds rows of earlier epochs.
Curve curve_of(const char* name, const std::vector<HistoryRow>& rows,
               std::optional<double> HistoryRow::*field, double scale) {
  Curve curve{.name = name, .points = {}};
  for (const HistoryRow& row : rows) {
    if (row.*field) curve.points.emplace_back(row.epoch, scale * *(row.*field));
  }
  std::stable_sort(curve.points.begin(), curve.points.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return curve;
}

// Leaves out curves that have no values.
Panel panel_of(std::string title, std::string y_label, const std::vector<Curve>& curves) {
  Panel panel{std::move(title), "epoch", std::move(y_label), {}};
  for (const Curve& curve : curves) {
    if (!curve.points.empty()) panel.curves.push_back(curve);
  }
  return panel;
}

}  // namespace

std::string history_svg(const std::vector<HistoryRow>& rows) {
  const Task& task = task_of_metric(rows.empty() ? "accuracy" : rows.back().metric_name);
  const double scale = task.is_fraction ? 100 : 1;
  std::string title = task.metric;
  title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
  return curves_svg({panel_of("Loss", "loss",
                              {curve_of("training", rows, &HistoryRow::loss, 1),
                               curve_of("validation", rows, &HistoryRow::val_loss, 1)}),
                     panel_of(title, task.metric + (task.is_fraction ? " in %" : ""),
                              {curve_of("training", rows, &HistoryRow::metric, scale),
                               curve_of("validation", rows, &HistoryRow::val_metric, scale)})});
}

void write_curves(const std::filesystem::path& run_directory) {
  const std::string svg = history_svg(
      read_history(run_directory / "history.json", std::numeric_limits<int64_t>::max()));
  store::replace_file((run_directory / "curves.svg").string(), {std::as_bytes(std::span(svg))});
}

}  // namespace pando::app
