// SPDX-License-Identifier: MIT
#include "pando/app/report/target_report.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/core.h>

#include "pando/app/report/svg_plot.h"
#include "pando/base/strings.h"
#include "pando/store/atomic_file.h"

namespace pando::app {
namespace {

constexpr int64_t kMostPanels = 8;
constexpr int64_t kMostDots = 1000;

// One target of all samples.
struct Column {
  const TargetValues& values;
  int64_t target;

  size_t place(int64_t sample) const {
    return static_cast<size_t>(sample * values.targets + target);
  }
  double predicted(int64_t sample) const { return values.predicted[place(sample)]; }
  double actual(int64_t sample) const { return values.actual[place(sample)]; }
};

TargetFigures figures_of_column(const Column& column, int64_t samples) {
  const auto count = static_cast<double>(samples);
  double mean = 0;
  for (int64_t i = 0; i < samples; ++i) mean += column.actual(i) / count;
  TargetFigures figures;
  double squares = 0, spread = 0;
  for (int64_t i = 0; i < samples; ++i) {
    const double error = column.predicted(i) - column.actual(i);
    const double away = column.actual(i) - mean;
    figures.mean_error += std::abs(error) / count;
    figures.error_of_mean += std::abs(away) / count;
    squares += error * error;
    spread += away * away;
  }
  figures.root_error = std::sqrt(squares / count);
  figures.r2 = spread > 0 ? 1 - squares / spread : 0;
  return figures;
}

Panel panel_of(const Column& column, int64_t samples) {
  const int64_t step = (samples + kMostDots - 1) / kMostDots;
  Curve dots{.name = "samples", .points = {}, .joined = false};
  double low = column.actual(0), high = low;
  for (int64_t i = 0; i < samples; i += step) {
    dots.points.emplace_back(column.actual(i), column.predicted(i));
    low = std::min(low, column.actual(i));
    high = std::max(high, column.actual(i));
  }
  return {.title = fmt::format("Target {}", column.target),
          .x_label = "true",
          .y_label = "predicted",
          .curves = {dots, {.name = "perfect", .points = {{low, low}, {high, high}}}}};
}

// Five digits are enough for a picture.
double shortened(double value) {
  return parse_double(fmt::format("{:.5g}", value)).value_or(value);
}

Json points_of(const Column& column, int64_t samples) {
  const int64_t step = (samples + kMostDots - 1) / kMostDots;
  Json points = Json::array();
  for (int64_t i = 0; i < samples; i += step) {
    points.push_back(Json::Items{shortened(column.actual(i)), shortened(column.predicted(i))});
  }
  return points;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  store::replace_file(path.string(), {std::as_bytes(std::span(text))});
}

}  // namespace

std::vector<TargetFigures> figures_of(const TargetValues& values) {
  std::vector<TargetFigures> all;
  for (int64_t target = 0; target < values.targets; ++target) {
    all.push_back(figures_of_column({values, target}, values.samples()));
  }
  return all;
}

std::string to_text(const TargetValues& values) {
  std::string text = fmt::format("{:>6} {:>12} {:>12} {:>8} {:>12}\n", "target", "mean error",
                                 "root error", "r2", "of the mean");
  const std::vector<TargetFigures> all = figures_of(values);
  for (size_t i = 0; i < all.size(); ++i) {
    text += fmt::format("{:>6} {:>12.4f} {:>12.4f} {:>8.4f} {:>12.4f}\n", i, all[i].mean_error,
                        all[i].root_error, all[i].r2, all[i].error_of_mean);
  }
  return text +
         fmt::format("{} samples; \"of the mean\": the mean error of always giving the mean\n",
                     values.samples());
}

std::string targets_svg(const TargetValues& values) {
  std::vector<Panel> panels;
  for (int64_t target = 0; target < std::min(values.targets, kMostPanels); ++target) {
    panels.push_back(panel_of({values, target}, values.samples()));
  }
  return curves_svg(panels);
}

Json target_record(const TargetValues& values) {
  Json targets = Json::array();
  for (const TargetFigures& figures : figures_of(values)) {
    const auto target = std::ssize(targets.items());
    targets.push_back(
        {{"mean_error", figures.mean_error},
         {"root_error", figures.root_error},
         {"r2", figures.r2},
         {"error_of_mean", figures.error_of_mean},
         {"points",
          target < kMostPanels ? points_of({values, target}, values.samples()) : Json::array()}});
  }
  return {{"version", 1}, {"samples", values.samples()}, {"targets", std::move(targets)}};
}

void write_target_report(const std::filesystem::path& folder, const TargetValues& values) {
  write_text(folder / "target_report.txt", to_text(values));
  write_text(folder / kTargetRecordFile, target_record(values).dump() + "\n");
  write_text(folder / "targets.svg", targets_svg(values));
}

}  // namespace pando::app
