// The plans of one convolution and the loops over their blocks.
// SPDX-License-Identifier: MIT
#include "pando/kernels/winograd/winograd_conv.h"

#include <algorithm>

#include "pando/base/error.h"
#include "pando/kernels/direct/scratch.h"
#include "pando/kernels/winograd/block.h"

namespace pando::kernels {
namespace {

using winograd::Block;
using winograd::kMostPlanes;
using winograd::plane_floats;
using winograd::Planes;
using winograd::planes_at;
using winograd::TilePlan;

std::string why_unsupported_by_winograd(const ConvGeometry& g) {
  std::string why_not;
  if (!DirectConv::supports(g, &why_not)) return why_not;
  if (g.filter != ConvGeometry::Extents{1, 3, 3} || g.in[0] != 1 || g.out[0] != 1) {
    return "the filter is not 2-D 3x3";
  }
  if (g.stride != ConvGeometry::Extents{1, 1, 1} || g.dilation != ConvGeometry::Extents{1, 1, 1} ||
      g.groups != 1) {
    return "a stride, a dilation or the number of groups is not 1";
  }
  return "";
}

int64_t source_floats(const TilePlan& plan) {
  return plan.transforms.planes * plane_floats(plan.block_tiles, plan.source_stride);
}
int64_t output_floats(const TilePlan& plan) {
  return plan.transforms.planes * plane_floats(plan.block_tiles, plan.output_stride);
}
int64_t gradient_floats(const TilePlan& plan) {
  return plan.transforms.planes * plane_floats(plan.spec.source_channels, plan.output_stride);
}

}  // namespace

struct WinogradConv::Plans {
  Plans(const ConvGeometry& g, int tile)
      : geometry(g),
        forward(winograd::forward_tiles(g), tile, direct::choose_isa()),
        backward_input(winograd::backward_input_tiles(g), tile, forward.isa) {}

  ConvGeometry geometry;
  TilePlan forward;
  TilePlan backward_input;
};

bool WinogradConv::supports(const ConvGeometry& geometry, std::string* why_not) {
  std::string reason = why_unsupported_by_winograd(geometry);
  const bool supported = reason.empty();
  if (why_not != nullptr) *why_not = std::move(reason);
  return supported;
}

WinogradConv::WinogradConv(const ConvGeometry& geometry, int tile) {
  const std::string reason = why_unsupported_by_winograd(geometry);
  if (!reason.empty()) throw Unsupported("Winograd convolution: ", reason);
  PANDO_CHECK(tile == 2 || tile == 4, "tiles of ", tile);
  plans_ = std::make_shared<const Plans>(geometry, tile);
}

const ConvGeometry& WinogradConv::geometry() const { return plans_->geometry; }

int WinogradConv::tile() const { return plans_->forward.transforms.tile; }

std::string WinogradConv::isa_name() const { return plans_->forward.isa.name; }

size_t WinogradConv::forward_kernel_floats() const {
  const TilePlan& plan = plans_->forward;
  return static_cast<size_t>(plan.transforms.planes * plan.kernel_plane());
}

size_t WinogradConv::backward_kernel_floats() const {
  const TilePlan& plan = plans_->backward_input;
  return static_cast<size_t>(plan.transforms.planes * plan.kernel_plane());
}

size_t WinogradConv::forward_scratch_bytes() const {
  const TilePlan& plan = plans_->forward;
  return direct::scratch_bytes({source_floats(plan), output_floats(plan)});
}

size_t WinogradConv::backward_input_scratch_bytes() const {
  const TilePlan& plan = plans_->backward_input;
  return direct::scratch_bytes({source_floats(plan), output_floats(plan)});
}

size_t WinogradConv::backward_kernel_scratch_bytes() const {
  const TilePlan& plan = plans_->forward;
  return direct::scratch_bytes({source_floats(plan), output_floats(plan), gradient_floats(plan)});
}

void WinogradConv::pack_forward(const float* filter, float* packed, Part part) const {
  const TilePlan& plan = plans_->forward;
  const int64_t in = plan.spec.source_channels;
  const int64_t out = plan.spec.output_channels;
  winograd::KernelArgs args;
  args.from_step = in * out;
  args.to_step = plan.kernel_plane();
  for (int64_t c = part.begin(in); c < part.end(in); ++c) {
    for (const direct::Column& column : plan.columns) {
      args.from = filter + c * out + column.first;
      args.to = packed + column.first * in + c * plan.width(column);
      args.channels = plan.channels(column);
      plan.transforms.filter(args);
    }
  }
}

namespace {

// Transforming and transposing one square at a time keeps it in the first-level cache, with tiles
// of 4x4 (36 KiB) at least in the second.
constexpr int64_t kSquare = 16;

// Packs output channels [first, first + count) of the convolution, which are rows of the backward
// panels.
void pack_backward_rows(const TilePlan& plan, const float* filter, float* packed, int64_t first) {
  const int64_t in = plan.spec.output_channels;
  const int64_t out = plan.spec.source_channels;
  const int64_t count = std::min(kSquare, out - first);
  float square[kMostPlanes * kSquare * kSquare];
  winograd::KernelArgs args{.from_step = in * out, .to_step = kSquare * kSquare, .channels = count};
  for (const direct::Column& column : plan.columns) {
    const int64_t width = plan.width(column);
    for (int64_t c = 0; c < width; c += kSquare) {
      const int64_t channels = std::clamp<int64_t>(plan.channels(column) - c, 0, kSquare);
      for (int64_t i = 0; i < channels; ++i) {
        args.from = filter + (column.first + c + i) * out + first;
        args.to = square + i * kSquare;
        plan.transforms.rotated_kernel(args);
      }
      const int64_t padded = std::min(kSquare, width - c);
      for (int64_t p = 0; p < plan.transforms.planes; ++p) {
        const float* from = square + p * kSquare * kSquare;
        float* to = packed + p * plan.kernel_plane() + column.first * out + first * width + c;
        plan.isa.transpose({from, kSquare, channels, count, to, width});
        for (int64_t i = 0; i < count; ++i) {
          std::fill(to + i * width + channels, to + i * width + padded, 0.0f);
        }
      }
    }
  }
}

}  // namespace

void WinogradConv::pack_backward(const float* filter, float* packed, Part part) const {
  const TilePlan& plan = plans_->backward_input;
  const int64_t squares = (plan.spec.source_channels + kSquare - 1) / kSquare;
  for (int64_t i = part.begin(squares); i < part.end(squares); ++i) {
    pack_backward_rows(plan, filter, packed, i * kSquare);
  }
}

namespace {

void convolve(const TilePlan& plan, const WinogradConv::Input& input,
              const winograd::Output& output, std::byte* scratch, Part part) {
  direct::Scratch memory(scratch);
  const Planes source =
      planes_at(memory.take(source_floats(plan)), plan.block_tiles, plan.source_stride);
  const Planes product =
      planes_at(memory.take(output_floats(plan)), plan.block_tiles, plan.output_stride);
  const winograd::Grid& grid = output.index != nullptr ? plan.pool_tiles : plan.tiles;
  winograd::for_each_block(plan, grid, part, [&](int64_t first, int64_t end) {
    const Block block{grid, first, end};
    const int64_t tiles = transform_source(plan, block, input.x, source);
    multiply(plan, {source, input.packed, product, tiles});
    transform_product(plan, block, product, output);
  });
}

}  // namespace

void WinogradConv::forward(const Input& input, float* y, std::byte* scratch, Part part) const {
  convolve(plans_->forward, input, {input.epilogue, y}, scratch, part);
}

void WinogradConv::forward_pool(const Input& input, const DirectConv::PoolOutput& pooled,
                                std::byte* scratch, Part part) const {
  PANDO_CHECK(tile() == 2, "pooling by tiles of ", tile());
  convolve(plans_->forward, input, {input.epilogue, pooled.y, pooled.index}, scratch, part);
}

void WinogradConv::backward_input(const Input& input, float* dx, std::byte* scratch,
                                  Part part) const {
  convolve(plans_->backward_input, input, {input.epilogue, dx}, scratch, part);
}

namespace {

// Adds source^T * output_grad to the planes of the gradient.
struct GradientSum {
  Planes source;
  Planes output_grad;
  Planes gradient;
  int64_t tiles;
  bool first;  // overwrites
};

// The first elements that one column of one plane needs.
struct PlaceInPlanes {
  const float* source;
  const float* output_grad;
  float* gradient;
};

void add_panel(const TilePlan& plan, const GradientSum& sum, const PlaceInPlanes& at, int vectors) {
  direct::PanelArgs args;
  args.x = at.source;
  args.row_offset = plan.channel_offset.data();
  args.rows = plan.spec.source_channels;
  args.k_offset = plan.tile_offset.data();
  args.k_count = sum.tiles;
  args.w = at.output_grad;
  args.w_stride = sum.output_grad.stride;
  args.y = at.gradient;
  args.y_stride = sum.gradient.stride;
  args.last_lanes = plan.lanes;
  args.accumulate = !sum.first;
  plan.isa.panel[vectors - 1](args);
}

void add_transposed(const TilePlan& plan, const GradientSum& sum, const PlaceInPlanes& at,
                    int vectors) {
  winograd::ProductArgs args;
  args.x = at.source;
  args.x_stride = sum.source.stride;
  args.rows = plan.spec.source_channels;
  args.k_count = sum.tiles;
  args.w = at.output_grad;
  args.w_stride = sum.output_grad.stride;
  args.y = at.gradient;
  args.y_stride = sum.gradient.stride;
  args.accumulate = !sum.first;
  while (vectors > 0) {
    const int two = std::min(vectors, 2);
    plan.isa.products.transposed[two - 1](args);
    args.w += two * plan.lanes;
    args.y += two * plan.lanes;
    vectors -= two;
  }
}

void add_products(const TilePlan& plan, const GradientSum& sum) {
  const winograd::Products& products = plan.isa.products;
  const bool transposed =
      products.transposed[0] != nullptr && plan.spec.source_channels >= products.fewest_rows;
  for (int64_t plane = 0; plane < plan.transforms.planes; ++plane) {
    for (const direct::Column& column : plan.columns) {
      const PlaceInPlanes at = {sum.source.data + plane * sum.source.plane,
                                sum.output_grad.data + plane * sum.output_grad.plane + column.first,
                                sum.gradient.data + plane * sum.gradient.plane + column.first};
      (transposed ? add_transposed : add_panel)(plan, sum, at, column.vectors);
    }
  }
}

}  // namespace

void WinogradConv::backward_kernel(const float* x, const float* dy,
                                   const DirectConv::FilterGradient& gradient, std::byte* scratch,
                                   Part part) const {
  const TilePlan& plan = plans_->forward;
  const int64_t in = plan.spec.source_channels;
  const int64_t out = plan.spec.output_channels;
  direct::Scratch memory(scratch);
  GradientSum sum{planes_at(memory.take(source_floats(plan)), plan.block_tiles, plan.source_stride),
                  planes_at(memory.take(output_floats(plan)), plan.block_tiles, plan.output_stride),
                  planes_at(memory.take(gradient_floats(plan)), in, plan.output_stride), 0, true};
  if (gradient.bias != nullptr) std::fill_n(gradient.bias, out, 0.0f);
  winograd::for_each_block(plan, plan.tiles, part, [&](int64_t first, int64_t end) {
    const Block block{plan.tiles, first, end};
    sum.tiles = transform_source(plan, block, x, sum.source);
    transform_output_grad(plan, block, dy, sum.output_grad);
    add_products(plan, sum);
    if (gradient.bias != nullptr) add_output_grad(plan, block, dy, gradient.bias);
    sum.first = false;
  });
  if (sum.first) {  // this part has no tiles
    std::fill_n(gradient.filter, 9 * in * out, 0.0f);
    return;
  }
  winograd::KernelArgs args{.from_step = sum.gradient.plane, .to_step = in * out, .channels = out};
  for (int64_t c = 0; c < in; ++c) {
    args.from = sum.gradient.data + c * sum.gradient.stride;
    args.to = gradient.filter + c * out;
    plan.transforms.filter_grad(args);
  }
}

}  // namespace pando::kernels
