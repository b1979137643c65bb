// The plans of one convolution and the loops over their blocks.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/direct_conv.h"

#include <algorithm>
#include <limits>

#include "pando/base/error.h"
#include "pando/kernels/direct/backward_kernel.h"
#include "pando/kernels/direct/blocks.h"
#include "pando/kernels/direct/forward_pool.h"
#include "pando/kernels/direct/gather_plan.h"
#include "pando/kernels/direct/pack.h"
#include "pando/kernels/direct/panels.h"
#include "pando/kernels/direct/scratch.h"
#include "pando/ops/pool_rules.h"

namespace pando::kernels {
namespace {

using Extents = ConvGeometry::Extents;

std::string why_unsupported_by_direct(const ConvGeometry& g) {
  if (g.batch < 1 || g.in_channels < 1 || g.out_channels < 1 || g.groups < 1) {
    return concat("batch ", g.batch, ", channels ", g.in_channels, " -> ", g.out_channels,
                  " and groups ", g.groups, " must be at least 1");
  }
  if (g.in_channels % g.groups != 0 || g.out_channels % g.groups != 0) {
    return concat("channels ", g.in_channels, " -> ", g.out_channels, " do not divide into ",
                  g.groups, " groups");
  }
  for (size_t axis = 0; axis < 3; ++axis) {
    if (g.in[axis] < 1 || g.filter[axis] < 1 || g.stride[axis] < 1 || g.dilation[axis] < 1 ||
        g.pad_low[axis] < 0 || g.pad_high[axis] < 0) {
      return concat("axis ", axis, ": an extent, stride, dilation or padding is out of range");
    }
    const int64_t padded = g.in[axis] + g.pad_low[axis] + g.pad_high[axis];
    const int64_t reach = (g.filter[axis] - 1) * g.dilation[axis] + 1;
    if (padded < reach || g.out[axis] != (padded - reach) / g.stride[axis] + 1) {
      return concat("axis ", axis, ": output extent ", g.out[axis], " does not follow from input ",
                    g.in[axis], " and filter ", g.filter[axis]);
    }
  }
  const auto elements = [](const Extents& e, int64_t channels) {
    return static_cast<double>(e[0]) * static_cast<double>(e[1]) * static_cast<double>(e[2]) *
           static_cast<double>(channels);
  };
  const double filter =
      elements(g.filter, g.in_channels / g.groups) * static_cast<double>(g.out_channels);
  if (std::max({elements(g.in, g.in_channels), elements(g.out, g.out_channels), filter}) >
      std::numeric_limits<int32_t>::max()) {
    return "one sample or the filter exceeds 2^31 elements";
  }
  return "";
}

void check_pool(const ConvGeometry& g, const PoolGeometry& pool) {
  for (size_t axis = 0; axis < 3; ++axis) {
    if (pool.window[axis] < 1 || pool.stride[axis] != pool.window[axis]) {
      throw InvalidArgument("fused max pooling: axis ", axis, " has window ", pool.window[axis],
                            " and stride ", pool.stride[axis], "; they must be equal and positive");
    }
    if (pool.out[axis] != g.out[axis] / pool.window[axis] || pool.out[axis] < 1) {
      throw InvalidArgument("fused max pooling: axis ", axis, " has ", pool.out[axis],
                            " windows of ", pool.window[axis], " over ", g.out[axis],
                            " outputs; expected ", g.out[axis] / pool.window[axis]);
    }
  }
  if (pool.window[0] * pool.window[1] * pool.window[2] > ops::kMaxIndexPositions) {
    throw InvalidArgument("fused max pooling: expected a window of at most ",
                          ops::kMaxIndexPositions,
                          " positions, which fit into an 8-bit index, got ",
                          pool.window[0] * pool.window[1] * pool.window[2]);
  }
}

}  // namespace

struct DirectConv::Plans {
  Plans(const ConvGeometry& g, const std::optional<PoolGeometry>& pool_geometry)
      : geometry(g),
        isa(direct::choose_isa()),
        axes(direct::outer_first_axes(g)),
        forward(direct::forward_spec(direct::reorder_axes(g, axes)), isa),
        backward_input(direct::backward_input_spec(direct::reorder_axes(g, axes)), isa),
        backward_kernel(direct::reorder_axes(g, axes), isa) {
    if (pool_geometry) pool.emplace(direct::reorder_axes(g, axes), *pool_geometry, axes, isa);
  }

  ConvGeometry geometry;
  const direct::IsaKernels& isa;
  std::array<int, 3> axes;
  direct::GatherPlan forward;
  direct::GatherPlan backward_input;
  direct::FilterGradientPlan backward_kernel;
  std::optional<direct::PoolPlan> pool;
};

bool DirectConv::supports(const ConvGeometry& geometry, std::string* why_not) {
  std::string reason = why_unsupported_by_direct(geometry);
  const bool supported = reason.empty();
  if (why_not != nullptr) *why_not = std::move(reason);
  return supported;
}

DirectConv::DirectConv(const ConvGeometry& geometry, std::optional<PoolGeometry> pool) {
  const std::string reason = why_unsupported_by_direct(geometry);
  if (!reason.empty()) throw Unsupported("direct convolution: ", reason);
  if (pool) check_pool(geometry, *pool);
  plans_ = std::make_shared<const Plans>(geometry, pool);
}

const ConvGeometry& DirectConv::geometry() const { return plans_->geometry; }

std::string DirectConv::name() const {
  const int vectors = plans_->forward.columns.front().vectors;
  return concat("direct:", plans_->isa.name, " ", plans_->isa.tile_rows[vectors - 1], "x", vectors);
}

size_t DirectConv::forward_kernel_floats() const {
  return static_cast<size_t>(plans_->forward.packed_floats);
}

size_t DirectConv::backward_kernel_floats() const {
  return static_cast<size_t>(plans_->backward_input.packed_floats);
}

size_t DirectConv::forward_pool_scratch_bytes() const {
  PANDO_CHECK(plans_->pool, "the plan was made without a pool");
  return direct::scratch_bytes({plans_->pool->rows_floats});
}

size_t DirectConv::backward_kernel_scratch_bytes() const {
  const direct::FilterGradientPlan& plan = plans_->backward_kernel;
  return direct::scratch_bytes({plan.panel_floats, plan.packed_floats()});
}

void DirectConv::pack_forward(const float* filter, float* packed, Part part) const {
  direct::pack_panels(plans_->forward, plans_->isa, {direct::PackOrder::forward, filter, packed},
                      part);
}

void DirectConv::pack_backward(const float* filter, float* packed, Part part) const {
  direct::pack_panels(plans_->backward_input, plans_->isa,
                      {direct::PackOrder::transposed, filter, packed}, part);
}

namespace {

struct Gather {
  const direct::GatherPlan& plan;
  const direct::IsaKernels& isa;
  const float* source;
  const float* packed;
  float* output;
};

void run_phase(const Gather& g, const Epilogue& epilogue, const direct::Phase& phase,
               const direct::Block& block, Part columns) {
  const direct::GatherPlan& plan = g.plan;
  const direct::PhaseRows rows(phase, block);
  if (rows.empty()) return;
  direct::PixelRun run{&phase, rows.pixels(phase)};
  run.columns = columns;
  run.x = g.source + block.sample * plan.source_size() +
          rows.begin * plan.spec.source_step[0] * plan.source_plane;
  const int64_t at =
      block.sample * plan.output_size() +
      (phase.output_begin + rows.begin * phase.output_step[0]) * plan.spec.output_channels;
  run.y = g.output + at;
  if (epilogue.residual != nullptr) run.residual = epilogue.residual + at;
  direct::run_panels(plan, g.isa, run, g.packed, epilogue);
}

void run_gather(const Gather& g, const Epilogue& epilogue, Part part) {
  const direct::GatherPlan& plan = g.plan;
  Part share;  // of the columns
  if (plan.shares_columns(part.count)) std::swap(part, share);
  const auto columns = static_cast<int>(plan.columns.size());
  direct::for_each_block(plan, part, [&](const direct::Block& block) {
    // The panel of a column passes all phases while it is in the cache: a large filter would come
    // from memory for every phase, and small pictures have nine, most of them of few pixels.
    for (auto i = static_cast<int>(share.begin(columns)); i < share.end(columns); ++i) {
      for (const direct::Phase& phase : plan.phases) {
        run_phase(g, epilogue, phase, block, {i, columns});
      }
    }
  });
}

}  // namespace

void DirectConv::forward(const float* x, const float* packed, const Epilogue& epilogue, float* y,
                         Part part) const {
  run_gather({plans_->forward, plans_->isa, x, packed, y}, epilogue, part);
}

void DirectConv::backward_input(const float* dy, const float* packed_backward,
                                const Epilogue& epilogue, float* dx, Part part) const {
  run_gather({plans_->backward_input, plans_->isa, dy, packed_backward, dx}, epilogue, part);
}

void DirectConv::forward_pool(const float* x, const float* packed, const Epilogue& epilogue,
                              const PoolOutput& pooled, std::byte* scratch, Part part) const {
  PANDO_CHECK(plans_->pool, "the plan was made without a pool");
  direct::forward_pool(*plans_->pool, plans_->isa, {x, packed, epilogue, pooled}, scratch, part);
}

void DirectConv::backward_kernel(const float* x, const float* dy, const FilterGradient& gradient,
                                 std::byte* scratch, Part part) const {
  direct::backward_kernel(plans_->backward_kernel, plans_->isa, {x, dy, gradient}, scratch, part);
}

}  // namespace pando::kernels
