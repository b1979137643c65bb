// SPDX-License-Identifier: MIT
#include "pando/app/report/layered_layout.h"

#include <algorithm>
#include <numeric>

#include "pando/base/error.h"

namespace pando::app {

namespace {

constexpr int kOrderSweeps = 6;
constexpr int kPlaceSweeps = 24;
constexpr double kPathWidth = 6;  // of an edge that passes a layer

// A box, or the place where a long edge passes a layer.
struct Vertex {
  double width = 0;
  size_t layer = 0;
  bool is_box = false;
  std::vector<size_t> above;  // in the layer before
  std::vector<size_t> below;
  double x = 0;  // of the middle
};

class Layering {
 public:
  Layering(const LayoutGraph& graph, const LayoutGaps& gaps) : gaps_(gaps) {
    add_boxes(graph);
    for (size_t to = 0; to < graph.sources.size(); ++to) {
      for (const size_t from : graph.sources[to]) add_edge(from, to);
    }
    layers_.resize(vertices_.empty() ? 0 : 1 + last_layer());
    for (size_t v = 0; v < vertices_.size(); ++v) layers_[vertices_[v].layer].push_back(v);
    for (int i = 0; i < kOrderSweeps; ++i) order(i % 2 == 0);
    for (auto& layer : layers_) pack(layer);
    for (int i = 0; i < kPlaceSweeps; ++i) place(i % 2 == 0);
  }

  Layout result(size_t boxes) {
    Layout layout;
    shift_to_margin(layout);
    for (size_t v = 0; v < boxes; ++v) layout.boxes.push_back(upper(v));
    for (const std::vector<size_t>& path : paths_) {
      LayoutEdge edge{.from = path.front(), .to = path.back(), .points = {lower(path.front())}};
      for (size_t i = 1; i + 1 < path.size(); ++i) {
        edge.points.push_back(upper(path[i]));
        edge.points.push_back(lower(path[i]));
      }
      edge.points.push_back(upper(path.back()));
      layout.edges.push_back(std::move(edge));
    }
    return layout;
  }

 private:
  void add_boxes(const LayoutGraph& graph) {
    for (size_t i = 0; i < graph.widths.size(); ++i) {
      size_t layer = 0;
      for (const size_t from : graph.sources[i]) {
        PANDO_CHECK(from < i);
        layer = std::max(layer, vertices_[from].layer + 1);
      }
      vertices_.push_back({.width = graph.widths[i], .layer = layer, .is_box = true});
    }
  }

  size_t last_layer() const {
    return std::ranges::max_element(vertices_, {}, &Vertex::layer)->layer;
  }

  void add_edge(size_t from, size_t to) {
    std::vector<size_t> path = {from};
    for (size_t layer = vertices_[from].layer + 1; layer < vertices_[to].layer; ++layer) {
      vertices_.push_back({.width = kPathWidth, .layer = layer});
      path.push_back(vertices_.size() - 1);
    }
    path.push_back(to);
    for (size_t i = 1; i < path.size(); ++i) {
      vertices_[path[i]].above.push_back(path[i - 1]);
      vertices_[path[i - 1]].below.push_back(path[i]);
    }
    paths_.push_back(std::move(path));
  }

  // Sorts every layer by the mean place of the neighbours in the layer before, or after it.
  void order(bool downwards) {
    std::vector<double> places(vertices_.size());
    const auto remember = [&](const std::vector<size_t>& layer) {
      for (size_t i = 0; i < layer.size(); ++i) places[layer[i]] = static_cast<double>(i);
    };
    for (const auto& layer : layers_) remember(layer);
    for (size_t i = 0; i < layers_.size(); ++i) {
      std::vector<size_t>& layer = layers_[downwards ? i : layers_.size() - 1 - i];
      std::vector<std::pair<double, size_t>> keys;
      for (const size_t v : layer) {
        const std::vector<size_t>& near = downwards ? vertices_[v].above : vertices_[v].below;
        double sum = 0;
        for (const size_t other : near) sum += places[other];
        keys.emplace_back(near.empty() ? places[v] : sum / static_cast<double>(near.size()), v);
      }
      std::ranges::stable_sort(keys, {}, &std::pair<double, size_t>::first);
      for (size_t k = 0; k < keys.size(); ++k) layer[k] = keys[k].second;
      remember(layer);
    }
  }

  double distance(size_t left, size_t right) const {
    return (vertices_[left].width + vertices_[right].width) / 2 + gaps_.between_boxes;
  }

  void pack(const std::vector<size_t>& layer) {
    for (size_t i = 1; i < layer.size(); ++i) {
      vertices_[layer[i]].x = vertices_[layer[i - 1]].x + distance(layer[i - 1], layer[i]);
    }
  }

  // Moves the vertices of every layer below, or above, the mean of their neighbours, as far as the
  // order and the distances allow: the mean of the placements that give way only to the right and
  // only to the left keeps both.
  void place(bool downwards) {
    for (size_t i = 0; i < layers_.size(); ++i) {
      const std::vector<size_t>& layer = layers_[downwards ? i : layers_.size() - 1 - i];
      std::vector<double> right;
      for (const size_t v : layer) right.push_back(wanted(v, downwards));
      std::vector<double> left = right;
      for (size_t k = 1; k < layer.size(); ++k) {
        right[k] = std::max(right[k], right[k - 1] + distance(layer[k - 1], layer[k]));
      }
      for (size_t k = layer.size() - 1; k > 0; --k) {
        left[k - 1] = std::min(left[k - 1], left[k] - distance(layer[k - 1], layer[k]));
      }
      for (size_t k = 0; k < layer.size(); ++k) vertices_[layer[k]].x = (left[k] + right[k]) / 2;
    }
  }

  double wanted(size_t v, bool downwards) const {
    const std::vector<size_t>& near = downwards ? vertices_[v].above : vertices_[v].below;
    if (near.empty()) return vertices_[v].x;
    double sum = 0;
    for (const size_t other : near) sum += vertices_[other].x;
    return sum / static_cast<double>(near.size());
  }

  void shift_to_margin(Layout& layout) {
    double left = 0;
    double right = 0;
    for (size_t v = 0; v < vertices_.size(); ++v) {
      const Vertex& vertex = vertices_[v];
      left = v == 0 ? vertex.x - vertex.width / 2 : std::min(left, vertex.x - vertex.width / 2);
      right = v == 0 ? vertex.x + vertex.width / 2 : std::max(right, vertex.x + vertex.width / 2);
    }
    for (Vertex& vertex : vertices_) vertex.x += gaps_.margin - left;
    const auto layers = static_cast<double>(layers_.size());
    layout.size = {right - left + 2 * gaps_.margin,
                   layers * gaps_.box_height + std::max(layers - 1, 0.0) * gaps_.between_layers +
                       2 * gaps_.margin};
  }

  Place upper(size_t v) const {
    const double layer = static_cast<double>(vertices_[v].layer);
    return {vertices_[v].x, gaps_.margin + layer * (gaps_.box_height + gaps_.between_layers)};
  }
  Place lower(size_t v) const {
    const Place top = upper(v);
    return {top.x, top.y + gaps_.box_height};
  }

  LayoutGaps gaps_;
  std::vector<Vertex> vertices_;
  std::vector<std::vector<size_t>> layers_;
  std::vector<std::vector<size_t>> paths_;  // of the edges
};

}  // namespace

Layout lay_out(const LayoutGraph& graph, const LayoutGaps& gaps) {
  PANDO_CHECK(graph.widths.size() == graph.sources.size());
  return Layering(graph, gaps).result(graph.widths.size());
}

}  // namespace pando::app
