// Pictures of numbers as SVG text: curves beside each other, and a heat map. They need no other
// file and no script, so every browser and README shows them.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pando::app {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x rises; one that is not finite is a gap
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
  std::vector<Tick> x_ticks = {};  // none: round numbers
};

// The panels from left to right, each with axes and a legend. One without points says so.
std::string curves_svg(const std::vector<Panel>& panels);

// Rows and columns of shares from 0 to 1. Colours grow with the root of the share, so that small
// ones differ from none.
struct HeatMap {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<std::string> row_names;
  std::vector<std::string> column_names;
  std::vector<double> shares;      // row by row
  std::vector<std::string> texts;  // in the cells, row by row; or empty
  std::vector<std::string> hints;  // shown under the mouse, row by row; or empty
};
std::string heat_map_svg(const HeatMap& map);

// Round numbers within [low, high], about five of them; one when both are the same.
std::vector<double> axis_ticks(double low, double high);

}  // namespace pando::app
