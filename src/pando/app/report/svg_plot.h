// Draws numbers as SVG text: curves side by side, a heat map, and charts of dots. The pictures need
// no other file and no script, so browsers and README pages can show them.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pando::app {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x ascends; a point that is not finite is a gap
  bool joined = true;                             // false: only dots, in any order
};

struct Tick {
  double place = 0;
  std::string text;
};

struct Panel {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Curve> curves;
  std::vector<Tick> x_ticks = {};  // empty: round numbers
};

// Draws the panels from left to right, each with axes and a legend, or "no values".
std::string curves_svg(const std::vector<Panel>& panels);

// Rows and columns of shares from 0 to 1. Colours follow the square root of the share, so that
// small shares differ visibly from 0.
struct HeatMap {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<std::string> row_names;
  std::vector<std::string> column_names;
  std::vector<double> shares;      // row by row
  std::vector<std::string> texts;  // shown in the cells, row by row; or empty
  std::vector<std::string> hints;  // tooltips of the cells, row by row; or empty
};
std::string heat_map_svg(const HeatMap& map);

// A row of a chart: a value with its range, and a former value to compare with.
struct DotRow {
  std::string name;
  double value = 0;
  double low = 0;
  double high = 0;
  std::optional<double> former = {};
};
struct DotChart {
  std::string title;
  std::vector<DotRow> rows;
};
// Draws the charts one below the other: a dot per row, a line for its range, a circle for its
// former value. If all values of a chart are positive and differ by more than a factor of 20, its
// axis is logarithmic.
std::string dot_charts_svg(const std::vector<DotChart>& charts);

// About five round numbers within [low, high]; one if both are equal.
std::vector<double> axis_ticks(double low, double high);

}  // namespace pando::app
