// Changes the spatial extents of a tensor to `size`, by the rules of ONNX's Resize. Element o of an
// axis is at the position p(o) of the input, where scale is that of `scales` or, without them, the
// quotient of the extents:
//   half_pixel            (o + 0.5) / scale - 0.5
//   half_pixel_symmetric  the same, moved by input / 2 * (1 - output / (input * scale)), so that
//   the
//                         middles of both axes meet where input * scale is no whole number
//   pytorch_half_pixel    as half_pixel; 0 if the axis has one element after resizing
//   align_corners         o * (input - 1) / (output - 1); 0 if it has one element after resizing
//   asymmetric            o / scale
// Mode "nearest" takes the element at p rounded by `nearest`, mode "linear" mixes the two elements
// around p. Positions outside the input count as its first or last element.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/resize_rules.h"
#include "pando/ops/shape_rules.h"
#include "pando/ops/window.h"

namespace pando::ops {

namespace {

// Every element of an axis has a source: a file of few bytes must not ask for endless lists.
constexpr int64_t kMostResized = int64_t{1} << 24;

struct ResizeRequest {
  int64_t input = 0;
  int64_t output = 0;
  double scale = 0;  // 0: output / input
  bool linear = false;
  std::string coordinates;
  std::string nearest;
};

double source_position(const ResizeRequest& r, int64_t at) {
  const auto o = static_cast<double>(at);
  const auto input = static_cast<double>(r.input);
  const auto output = static_cast<double>(r.output);
  if (r.coordinates == "align_corners") return r.output == 1 ? 0 : o * (input - 1) / (output - 1);
  if (r.coordinates == "pytorch_half_pixel" && r.output == 1) return 0;
  const auto divided = [&](double position) {
    return r.scale > 0 ? position / r.scale : position * input / output;
  };
  if (r.coordinates == "asymmetric") return divided(o);
  const double half_pixel = divided(o + 0.5) - 0.5;
  if (r.coordinates != "half_pixel_symmetric" || !(r.scale > 0)) return half_pixel;
  return half_pixel + input / 2 * (1 - output / (input * r.scale));
}

double rounded(double position, const std::string& nearest) {
  if (nearest == "floor") return std::floor(position);
  if (nearest == "ceil") return std::ceil(position);
  return nearest == "round_prefer_ceil" ? std::floor(position + 0.5) : std::ceil(position - 0.5);
}

ResizeAxis resize_axis(const ResizeRequest& r) {
  ResizeAxis axis{.input = r.input, .sources = {}};
  for (int64_t o = 0; o < r.output; ++o) {
    const double position = std::clamp(source_position(r, o), -1.0, static_cast<double>(r.input));
    const double below = r.linear ? std::floor(position) : rounded(position, r.nearest);
    const auto inside = [&](double index) {
      return std::clamp<int64_t>(static_cast<int64_t>(index), 0, r.input - 1);
    };
    axis.sources.push_back({.first = inside(below),
                            .second = inside(r.linear ? below + 1 : below),
                            .weight = r.linear ? position - below : 0});
  }
  return axis;
}

bool is_grad(const ir::Node& node) { return node.op() == "resize_grad"; }

// Checks a list of extents, one per spatial axis.
ir::Ints checked_extents(const ir::Node& node, const std::string& name) {
  require_length(node, name, static_cast<size_t>(node.input(0)->shape().rank()) - 2);
  ir::Ints extents = ints_attribute(node, name);
  for (const int64_t extent : extents) {
    if (extent < 1 || extent > kMostResized) {
      throw InvalidArgument(node.label(), ": ", name, ": expected 1 to ", kMostResized, ", got ",
                            ir::to_text(extents));
    }
  }
  return extents;
}

std::vector<ir::TensorType> infer_resize(const ir::Node& node) {
  require_dtype(node, 0, DType::f32);
  require_rank(node, 0, 3, 5);
  const Shape& x = node.input(0)->shape();
  resize_axes(node);
  const ir::Ints size = ints_attribute(node, "size");
  if (!is_grad(node)) return {f32(channels_last(x[0], size, x.back()))};
  require_shape(node, 0, channels_last(x[0], size, x.back()));
  return {f32(channels_last(x[0], ints_attribute(node, "input"), x.back()))};
}

std::vector<AttributeSpec> resize_attributes() {
  return {
      {"size", ir::Ints{}, {}},
      {"scales", ir::Numbers{}, {}},
      {"mode", std::string("nearest"), {"nearest", "linear"}},
      {"coordinates",
       std::string("half_pixel"),
       {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"}},
      {"nearest",
       std::string("round_prefer_floor"),
       {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}}};
}

}  // namespace

std::vector<ResizeAxis> resize_axes(const ir::Node& node) {
  const ir::Ints size = checked_extents(node, "size");
  const ir::Ints input =
      is_grad(node) ? checked_extents(node, "input") : spatial_extents(node.input(0)->shape());
  const ir::Numbers scales = numbers_attribute(node, "scales");
  if (!scales.empty() && scales.size() != size.size()) {
    throw InvalidArgument(node.label(), ": scales: expected ", size.size(), " items, got ",
                          scales.size());
  }
  std::vector<ResizeAxis> axes;
  for (size_t i = 0; i < size.size(); ++i) {
    if (input[i] < 1) {
      throw InvalidArgument(node.label(), ": input ", node.input(0)->shape(), " is empty");
    }
    if (!scales.empty() && !(scales[i] > 0)) {
      throw InvalidArgument(node.label(), ": scales: expected more than 0, got ", scales[i]);
    }
    axes.push_back(resize_axis({.input = input[i],
                                .output = size[i],
                                .scale = scales.empty() ? 0 : scales[i],
                                .linear = text_attribute(node, "mode") == "linear",
                                .coordinates = text_attribute(node, "coordinates"),
                                .nearest = text_attribute(node, "nearest")}));
  }
  return axes;
}

OpDef resize_op() {
  return {.name = "resize",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = resize_attributes(),
          .infer = infer_resize,
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            ir::Attributes attributes = node.attributes();
            attributes.set("input", spatial_extents(node.input(0)->shape()));
            grad.add(node.input(0), grad.emit("resize_grad", {dy[0]}, attributes)->output());
          }};
}

// `input` holds the spatial extents of x.
OpDef resize_grad_op() {
  auto attributes = resize_attributes();
  attributes.push_back({"input", ir::Ints{}, {}});
  return {.name = "resize_grad",
          .inputs = {{"dy"}},
          .outputs = {"dx"},
          .attributes = std::move(attributes),
          .traits = {Trait::no_grad},
          .infer = infer_resize};
}

}  // namespace pando::ops
