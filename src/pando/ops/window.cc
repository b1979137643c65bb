// SPDX-License-Identifier: MIT
#include "pando/ops/window.h"

#include <algorithm>
#include <limits>

#include "pando/base/checked.h"
#include "pando/base/error.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/conv_operands.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

// The limit of windows, strides, dilations, pads and inputs: sums and products of two fit.
constexpr int64_t kMostExtent = std::numeric_limits<int32_t>::max();

// The attributes of a node before they are checked. Messages call the window `what`.
struct WindowRequest {
  std::string what;
  ir::Ints input;
  ir::Ints window;
  ir::Ints strides;
  ir::Ints dilations;
  std::string padding;
  ir::Ints pads;  // low of all axes, then high
  bool ceil = false;
};

std::string extents_text(const ir::Ints& extents) {
  std::vector<std::string> parts;
  for (const int64_t extent : extents) parts.push_back(std::to_string(extent));
  return join(parts, "x");
}

// Returns `fallback` if `given` is empty; otherwise checks that it has one positive number per
// axis.
ir::Ints per_axis(const ir::Node& node, std::string_view name, const ir::Ints& given,
                  const ir::Ints& fallback) {
  if (given.empty()) return fallback;
  if (given.size() != fallback.size()) {
    throw InvalidArgument(node.label(), ": ", name, ": expected ", fallback.size(), " items, got ",
                          ir::to_text(given));
  }
  for (const int64_t item : given) {
    if (item < 1 || item > kMostExtent) {
      throw InvalidArgument(node.label(), ": ", name, ": expected 1 to ", kMostExtent, ", got ",
                            ir::to_text(given));
    }
  }
  return given;
}

void check_pads(const ir::Node& node, const WindowRequest& request) {
  const size_t wanted = request.padding == "explicit" ? 2 * request.input.size() : 0;
  if (request.pads.size() != wanted) {
    throw InvalidArgument(node.label(), ": pads: expected ", wanted, " items with padding \"",
                          request.padding, "\", got ", ir::to_text(request.pads));
  }
  for (const int64_t pad : request.pads) {
    if (pad < 0 || pad > kMostExtent) {
      throw InvalidArgument(node.label(), ": pads: expected 0 to ", kMostExtent, ", got ",
                            ir::to_text(request.pads));
    }
  }
}

// Adds a window for what is left of the input, unless that window would begin behind it. The
// padding is extended to the end of the last window.
void place_partial_windows(WindowAxis& axis, int64_t room) {
  const int64_t more = room + axis.stride - 1;
  axis.output = more < 0 ? 0 : more / axis.stride + 1;
  if ((axis.output - 1) * axis.stride >= axis.input + axis.pad_low) --axis.output;
  const int64_t end = (axis.output - 1) * axis.stride + axis.span();
  axis.pad_high = std::max(axis.pad_high, end - axis.input - axis.pad_low);
}

void place_windows(WindowAxis& axis, const WindowRequest& request, size_t index) {
  if (request.padding == "same") {
    axis.output = (axis.input + axis.stride - 1) / axis.stride;
    const int64_t total =
        std::max<int64_t>((axis.output - 1) * axis.stride + axis.span() - axis.input, 0);
    axis.pad_low = total / 2;
    axis.pad_high = total - axis.pad_low;
    return;
  }
  if (request.padding == "explicit") {
    axis.pad_low = request.pads[index];
    axis.pad_high = request.pads[index + request.input.size()];
  }
  const int64_t room = axis.input + axis.pad_low + axis.pad_high - axis.span();
  if (request.ceil) return place_partial_windows(axis, room);
  axis.output = room < 0 ? 0 : room / axis.stride + 1;
}

void check_fit(const ir::Node& node, const WindowRequest& request, const Windows& windows) {
  ir::Ints spans, padded;
  for (const WindowAxis& axis : windows) {
    spans.push_back(axis.span());
    padded.push_back(axis.input + axis.pad_low + axis.pad_high);
  }
  for (const WindowAxis& axis : windows) {
    if (axis.input < 1) {
      throw InvalidArgument(node.label(), ": input ", extents_text(request.input), " is empty");
    }
    if (axis.output < 1) {
      throw InvalidArgument(node.label(), ": ", request.what, " ", extents_text(spans),
                            " exceeds padded input ", extents_text(padded));
    }
  }
}

Windows resolve(const ir::Node& node, const WindowRequest& request) {
  const size_t rank = request.input.size();
  const ir::Ints ones(rank, 1);
  if (request.window.size() != rank) {
    throw InvalidArgument(node.label(), ": ", request.what, ": expected ", rank, " items, got ",
                          ir::to_text(request.window));
  }
  const ir::Ints window = per_axis(node, request.what, request.window, ones);
  const ir::Ints strides = per_axis(node, "strides", request.strides, ones);
  const ir::Ints dilations = per_axis(node, "dilations", request.dilations, ones);
  check_pads(node, request);
  for (const int64_t extent : request.input) {
    if (extent <= kMostExtent) continue;
    throw InvalidArgument(node.label(), ": input: expected extents up to ", kMostExtent, ", got ",
                          extents_text(request.input));
  }
  Windows windows;
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis axis{.input = request.input[i],
                    .window = window[i],
                    .stride = strides[i],
                    .dilation = dilations[i]};
    place_windows(axis, request, i);
    windows.push_back(axis);
  }
  check_fit(node, request, windows);
  return windows;
}

ir::Ints kernel_extents(const Shape& filter) { return {filter.begin(), filter.end() - 2}; }

}  // namespace

std::vector<AttributeSpec> padding_attributes() {
  return {{"padding", std::string("valid"), {"valid", "same", "explicit"}},
          {"pads", ir::Ints{}, {}}};
}

std::vector<AttributeSpec> conv_attributes() {
  auto attributes = padding_attributes();
  attributes.push_back({"strides", ir::Ints{}, {}});
  attributes.push_back({"dilations", ir::Ints{}, {}});
  attributes.push_back({"groups", int64_t{1}, {}});
  return attributes;
}

Windows conv_windows(const ir::Node& node) {
  const ConvOperands operands = conv_operands(node);
  const std::string extents = node.op() == "conv_transpose" ? "output" : "input";
  if (operands.input_grad) {
    require_length(node, extents, static_cast<size_t>(node.input(0)->shape().rank()) - 2);
  }
  return resolve(node, {.what = "filter",
                        .input = operands.input_grad ? ints_attribute(node, extents)
                                                     : spatial_extents(operands.x->shape()),
                        .window = operands.filter_grad ? ints_attribute(node, "filter")
                                                       : kernel_extents(operands.filter->shape()),
                        .strides = ints_attribute(node, "strides"),
                        .dilations = ints_attribute(node, "dilations"),
                        .padding = text_attribute(node, "padding"),
                        .pads = ints_attribute(node, "pads")});
}

Windows pool_windows(const ir::Node& node) {
  const ir::Ints window = ints_attribute(node, "window");
  if (node.op().starts_with("conv_pool")) {
    return resolve(node, {.what = "window",
                          .input = output_extents(conv_windows(node)),
                          .window = window,
                          .strides = window,
                          .dilations = {},
                          .padding = "valid",
                          .pads = {}});
  }
  const bool grad = node.op() == "max_pool_grad" || node.op() == "avg_pool_grad";
  if (grad) require_length(node, "input", static_cast<size_t>(node.input(0)->shape().rank()) - 2);
  const ir::Ints strides = ints_attribute(node, "strides");
  const int64_t ceil = int_attribute(node, "ceil_mode");
  if (ceil != 0 && ceil != 1) {
    throw InvalidArgument(node.label(), ": ceil_mode: expected 0 or 1, got ", ceil);
  }
  Windows windows = resolve(node, {.what = "window",
                                   .input = grad ? ints_attribute(node, "input")
                                                 : spatial_extents(node.input(0)->shape()),
                                   .window = window,
                                   .strides = strides.empty() ? window : strides,
                                   .dilations = {},
                                   .padding = text_attribute(node, "padding"),
                                   .pads = ints_attribute(node, "pads"),
                                   .ceil = ceil == 1});
  for (const WindowAxis& axis : windows) {
    if (axis.pad_low >= axis.window || axis.pad_high >= axis.window) {
      throw InvalidArgument(node.label(), ": pads ", ir::to_text(ints_attribute(node, "pads")),
                            " must be smaller than window ", ir::to_text(window));
    }
  }
  return windows;
}

bool are_tiles(const Windows& windows) {
  return std::all_of(windows.begin(), windows.end(), [](const WindowAxis& axis) {
    return axis.stride == axis.window && axis.pad_low == 0 && axis.pad_high == 0;
  });
}

int64_t positions(const Windows& windows) {
  int64_t count = 1;
  for (const WindowAxis& axis : windows) {
    count = product_of({count, axis.window}).value_or(std::numeric_limits<int64_t>::max());
  }
  return count;
}

ir::Ints spatial_extents(const Shape& shape) { return {shape.begin() + 1, shape.end() - 1}; }

Shape channels_last(int64_t batch, const ir::Ints& spatial, int64_t channels) {
  std::vector<int64_t> dims = {batch};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  dims.push_back(channels);
  return Shape(std::move(dims));
}

ir::Ints input_extents(const Windows& windows) {
  ir::Ints extents;
  for (const WindowAxis& axis : windows) extents.push_back(axis.input);
  return extents;
}

ir::Ints output_extents(const Windows& windows) {
  ir::Ints extents;
  for (const WindowAxis& axis : windows) extents.push_back(axis.output);
  return extents;
}

}  // namespace pando::ops
