// Places the boxes of a directed graph without cycles in layers, each below the boxes that it
// follows, so that edges run downwards and rarely cross.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "pando/app/report/svg_text.h"

namespace pando::app {

struct LayoutGraph {
  std::vector<double> widths;                // of the boxes
  std::vector<std::vector<size_t>> sources;  // of every box: the earlier boxes that lead to it
};

struct LayoutGaps {
  double box_height = 34;
  double between_layers = 26;
  double between_boxes = 18;
  double margin = 16;
};

struct LayoutEdge {
  size_t from = 0;
  size_t to = 0;
  std::vector<Place> points;  // from the lower edge of one box to the upper edge of the other
};

struct Layout {
  std::vector<Place> boxes;  // their upper middles
  std::vector<LayoutEdge> edges;
  Place size;
};

// Requires: the sources of box i are less than i.
Layout lay_out(const LayoutGraph& graph, const LayoutGaps& gaps = {});

}  // namespace pando::app
