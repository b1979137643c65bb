// SPDX-License-Identifier: MIT
#include "pando/app/report/network_svg.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "pando/app/report/layered_layout.h"
#include "pando/app/report/svg_text.h"
#include "pando/base/strings.h"

namespace pando::app {

namespace {

constexpr double kCharacter = 6.7;  // width of a character of the font, at most
constexpr double kBold = 7.7;
constexpr size_t kLongest = 60;  // characters of a name that are shown

std::string shown_name(const std::string& name) {
  return name.size() <= kLongest ? name : "..." + name.substr(name.size() - kLongest + 3);
}

std::string second_line(const LayerInfo& layer) {
  return concat(layer.class_name, "  ", layer.output_shape);
}

double width_of(const LayerInfo& layer) {
  const double name = static_cast<double>(shown_name(layer.name).size()) * kBold;
  const double rest = static_cast<double>(second_line(layer).size()) * kCharacter;
  return std::max({90.0, name + 16, rest + 16});
}

// Layers with weights of products, normalisations, inputs, and all others.
const char* colour_of(const LayerInfo& layer) {
  const std::string& kind = layer.class_name;
  const auto has = [&](const char* word) { return kind.find(word) != std::string::npos; };
  if (has("Input")) return "#d9ead3";
  if (has("Conv") || has("Dense") || has("MatMul")) return "#cfe2f3";
  if (has("Norm")) return "#fff2cc";
  if (has("Pool")) return "#f4cccc";
  if (has("Add") || has("Concat") || has("Multiply")) return "#d9d2e9";
  return "#efefef";
}

std::string box_of(const LayerInfo& layer, Place top, double height) {
  const double width = width_of(layer);
  const std::string hint = fmt::format("<title>{}: {} parameters</title>", xml_text(layer.name),
                                       with_thousands(layer.parameters()));
  return svg_box({top.x - width / 2, top.y}, {width, height}, colour_of(layer), hint) +
         svg_label({top.x, top.y + 14}, shown_name(layer.name),
                   " text-anchor=\"middle\" font-weight=\"bold\"") +
         svg_label({top.x, top.y + 28}, second_line(layer), " text-anchor=\"middle\"");
}

// Straight beside boxes, bent between layers.
std::string edge_path(const LayoutEdge& edge) {
  std::string path = fmt::format("M{:.1f} {:.1f}", edge.points[0].x, edge.points[0].y);
  for (size_t i = 1; i < edge.points.size(); ++i) {
    const Place& from = edge.points[i - 1];
    const Place& to = edge.points[i];
    const double middle = (from.y + to.y) / 2;
    path += from.x == to.x ? fmt::format(" L{:.1f} {:.1f}", to.x, to.y)
                           : fmt::format(" C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", from.x,
                                         middle, to.x, middle, to.x, to.y);
  }
  const Place& end = edge.points.back();
  const std::string head =
      fmt::format("<path d=\"M{:.1f} {:.1f} l-4 -7 h8 z\" fill=\"#555\"/>\n", end.x, end.y);
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#555\" stroke-width=\"1.2\"/>\n",
                     path) +
         head;
}

}  // namespace

std::string network_svg(const Network& network) {
  LayoutGraph graph;
  std::map<std::string, size_t> places;
  for (const LayerInfo& layer : network.layers()) {
    std::vector<size_t> sources;
    for (const std::string& name : layer.inbound) {
      const auto found = places.find(name);
      if (found == places.end()) continue;  // a shared layer that is called later
      if (std::ranges::find(sources, found->second) == sources.end()) {
        sources.push_back(found->second);
      }
    }
    places.emplace(layer.name, graph.widths.size());
    graph.widths.push_back(width_of(layer));
    graph.sources.push_back(std::move(sources));
  }
  const LayoutGaps gaps;
  const Layout layout = lay_out(graph, gaps);
  std::string content;
  for (const LayoutEdge& edge : layout.edges) content += edge_path(edge);
  for (size_t i = 0; i < layout.boxes.size(); ++i) {
    content += box_of(network.layers()[i], layout.boxes[i], gaps.box_height);
  }
  return svg_document(layout.size, content);
}

}  // namespace pando::app
