// SPDX-License-Identifier: MIT
#include "pando/app/html/load_data.h"

#include <algorithm>
#include <cmath>

#include "pando/app/html/curve_data.h"
#include "pando/app/record/load_recorder.h"

namespace pando::app {
namespace {

struct LoadCurve {
  const char* name;
  double LoadRow::*value;
};

struct LoadChart {
  const char* title;
  const char* unit;
  std::vector<LoadCurve> curves;
};

std::vector<LoadChart> load_chart_kinds() {
  return {{"Processor",
           "%",
           {{"this run, 100 % is a core", &LoadRow::process_percent},
            {"all programs, of the machine", &LoadRow::machine_percent}}},
          {"Memory", "B", {{"", &LoadRow::resident_bytes}}},
          {"Disks, bytes per second",
           "B",
           {{"read", &LoadRow::read_per_second}, {"written", &LoadRow::written_per_second}}}};
}

// Where training was at a time: between the rows of the history around it.
class TimeMap {
 public:
  explicit TimeMap(const RunRecord& run) {
    points_.push_back({});
    for (const HistoryRow& row : run.rows) {
      if (row.seconds && *row.seconds > points_.back().seconds) {
        points_.push_back({*row.seconds, row.epoch, static_cast<double>(row.step)});
      }
    }
  }

  struct Point {
    double seconds = 0;
    double epoch = 0;
    double step = 0;
  };
  // After the last row the run only validates, so the epoch no longer changes.
  Point at(double seconds) const {
    const auto above = std::ranges::lower_bound(points_, seconds, {}, &Point::seconds);
    if (above == points_.begin()) return points_.front();
    if (above == points_.end()) return points_.back();
    const Point& below = *(above - 1);
    const double share = (seconds - below.seconds) / (above->seconds - below.seconds);
    return {seconds, std::lerp(below.epoch, above->epoch, share),
            std::lerp(below.step, above->step, share)};
  }

 private:
  std::vector<Point> points_;
};

Json load_curve(const std::vector<LoadRow>& rows, const TimeMap& times, const LoadCurve& curve) {
  std::vector<double> values;
  for (const LoadRow& row : rows) values.push_back(row.*(curve.value));
  Json::Items step, epoch, seconds, y;
  for (const size_t i : thinned(values)) {
    const TimeMap::Point at = times.at(rows[i].seconds);
    step.emplace_back(std::round(at.step));
    epoch.emplace_back(std::round(at.epoch * 1e4) / 1e4);
    seconds.emplace_back(rows[i].seconds);
    y.emplace_back(values[i]);
  }
  return {
      {"name", curve.name},
      {"x",
       {{"step", std::move(step)}, {"epoch", std::move(epoch)}, {"seconds", std::move(seconds)}}},
      {"y", std::move(y)}};
}

}  // namespace

Json load_charts(std::span<const RunRecord> runs) {
  std::vector<std::vector<LoadRow>> loads;
  for (const RunRecord& run : runs) loads.push_back(read_load(run.folder));
  Json charts = Json::array();
  for (const LoadChart& kind : load_chart_kinds()) {
    Json curves = Json::array();
    for (size_t i = 0; i < runs.size(); ++i) {
      if (loads[i].empty()) continue;
      const TimeMap times(runs[i]);
      for (const LoadCurve& curve : kind.curves) {
        Json json = load_curve(loads[i], times, curve);
        json["run"] = i;
        curves.push_back(std::move(json));
      }
    }
    if (curves.items().empty()) continue;
    charts.push_back({{"title", kind.title},
                      {"unit", kind.unit},
                      {"log", false},
                      {"zero", true},
                      {"curves", std::move(curves)}});
  }
  return charts;
}

}  // namespace pando::app
