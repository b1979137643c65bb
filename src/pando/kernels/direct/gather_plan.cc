// Builds the offset tables of a gathered convolution.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/gather_plan.h"

#include <algorithm>

namespace pando::kernels::direct {
namespace {

// A block's window and outputs should stay in a 512 KiB second-level cache beside the kernel.
constexpr int64_t kWindowBytes = 192 * 1024;
constexpr int64_t kMaxBlockPixels = 4096;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool is_trivial_axis(const ConvGeometry& g, size_t axis) {
  return g.in[axis] == 1 && g.out[axis] == 1 && g.kernel[axis] == 1 && g.pad_low[axis] == 0 &&
         g.pad_high[axis] == 0;
}

AxisPhase forward_axis(const ConvGeometry& g, size_t axis) {
  AxisPhase phase{.count = g.out[axis]};
  for (int64_t k = 0; k < g.kernel[axis]; ++k) {
    phase.offsets.push_back(k * g.dilation[axis] - g.pad_low[axis]);
    phase.taps.push_back(k);
  }
  return phase;
}

// Input i is read by output o through tap k when i = o * stride + k * dilation - pad_low. Inputs of
// one residue modulo the stride share their taps.
std::vector<AxisPhase> backward_axis(const ConvGeometry& g, size_t axis) {
  const int64_t stride = g.stride[axis];
  std::vector<AxisPhase> phases;
  for (int64_t first = 0; first < std::min(stride, g.in[axis]); ++first) {
    AxisPhase phase{.first = first, .step = stride};
    phase.count = (g.in[axis] - 1 - first) / stride + 1;
    for (int64_t k = 0; k < g.kernel[axis]; ++k) {
      const int64_t position = first + g.pad_low[axis] - k * g.dilation[axis];
      if (position % stride != 0) continue;
      phase.offsets.push_back(position / stride);
      phase.taps.push_back(k);
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

GatherSpec common_spec(const ConvGeometry& g) {
  GatherSpec spec;
  spec.batch = g.batch;
  spec.groups = g.groups;
  spec.kernel = g.kernel;
  return spec;
}

}  // namespace

std::array<int, 3> outer_first_axes(const ConvGeometry& g) {
  if (!is_trivial_axis(g, 0)) return {0, 1, 2};
  if (!is_trivial_axis(g, 1)) return {1, 0, 2};
  return {2, 0, 1};
}

ConvGeometry reorder_axes(const ConvGeometry& g, const std::array<int, 3>& axes) {
  ConvGeometry r = g;
  for (size_t i = 0; i < 3; ++i) {
    const auto from = static_cast<size_t>(axes[i]);
    r.in[i] = g.in[from];
    r.out[i] = g.out[from];
    r.kernel[i] = g.kernel[from];
    r.stride[i] = g.stride[from];
    r.dilation[i] = g.dilation[from];
    r.pad_low[i] = g.pad_low[from];
    r.pad_high[i] = g.pad_high[from];
  }
  return r;
}

GatherSpec forward_spec(const ConvGeometry& g) {
  GatherSpec spec = common_spec(g);
  spec.source_channels = g.in_channels;
  spec.output_channels = g.out_channels;
  spec.source = g.in;
  spec.output = g.out;
  spec.source_step = g.stride;
  for (size_t axis = 0; axis < 3; ++axis) spec.axes[axis] = {forward_axis(g, axis)};
  return spec;
}

GatherSpec backward_input_spec(const ConvGeometry& g) {
  GatherSpec spec = common_spec(g);
  spec.source_channels = g.out_channels;
  spec.output_channels = g.in_channels;
  spec.source = g.out;
  spec.output = g.in;
  for (size_t axis = 0; axis < 3; ++axis) spec.axes[axis] = backward_axis(g, axis);
  return spec;
}

GatherPlan::GatherPlan(const GatherSpec& gather_spec, const IsaKernels& isa)
    : spec(gather_spec), lanes(isa.lanes) {
  group_source = spec.source_channels / spec.groups;
  group_output = spec.output_channels / spec.groups;
  for (const AxisPhase& phase : spec.axes[0]) rows = std::max(rows, phase.count);
  set_window();
  set_block_rows();
  set_columns(isa);
  for (const AxisPhase& d : spec.axes[0]) {
    for (const AxisPhase& h : spec.axes[1]) {
      for (const AxisPhase& w : spec.axes[2]) add_phase(d, h, w);
    }
  }
}

int64_t GatherPlan::source_size() const {
  return spec.source[0] * spec.source[1] * spec.source[2] * spec.source_channels;
}

int64_t GatherPlan::output_size() const {
  return spec.output[0] * spec.output[1] * spec.output[2] * spec.output_channels;
}

int64_t GatherPlan::window_rows(int64_t block) const {
  return (block - 1) * spec.source_step[0] + window_extent[0];
}

int64_t GatherPlan::window_floats() const {
  return in_place ? 0 : window_rows(block_rows) * plane_stride;
}

void GatherPlan::set_window() {
  in_place = true;
  for (size_t axis = 0; axis < 3; ++axis) {
    int64_t low = INT64_MAX, high = INT64_MIN, end = INT64_MIN;
    for (const AxisPhase& phase : spec.axes[axis]) {
      for (const int64_t offset : phase.offsets) {
        low = std::min(low, offset);
        high = std::max(high, offset);
        end = std::max(end, (phase.count - 1) * spec.source_step[axis] + offset);
      }
    }
    if (low > high) low = high = end = 0;  // every tap falls on padding
    in_place = in_place && low >= 0 && end < spec.source[axis];
    window_low[axis] = low;
    window_extent[axis] = axis == 0 ? high - low + 1 : end - low + 1;
  }
  const int64_t width = in_place ? spec.source[2] : window_extent[2];
  const int64_t height = in_place ? spec.source[1] : window_extent[1];
  row_stride = width * spec.source_channels;
  plane_stride = height * row_stride;
}

void GatherPlan::set_block_rows() {
  const int64_t float_bytes = sizeof(float);
  int64_t budget = kWindowBytes;
  if (in_place) {  // a large kernel is better read once for many rows
    const int64_t taps = spec.kernel[0] * spec.kernel[1] * spec.kernel[2];
    budget = std::max(budget, taps * group_source * spec.output_channels * float_bytes / 2);
  }
  const int64_t row_pixels = std::max<int64_t>(1, spec.output[1] * spec.output[2]);
  const int64_t unit = spec.unit_rows;
  const int64_t unit_count = std::max<int64_t>(1, units());
  int64_t most = 1;
  while (most < unit_count &&
         window_rows((most + 1) * unit) * plane_stride * float_bytes <= budget &&
         (most + 1) * unit * row_pixels <= kMaxBlockPixels) {
    ++most;
  }
  block_rows = unit * divide_up(unit_count, divide_up(unit_count, most));
}

void GatherPlan::set_columns(const IsaKernels& isa) {
  int64_t vectors = divide_up(group_output, isa.lanes);
  for (int64_t first = 0; first < group_output;) {
    // An odd vector joins the first panel rather than forming a narrow one.
    int64_t take = std::min<int64_t>(vectors, isa.preferred_vectors);
    if (vectors > take && vectors % isa.preferred_vectors != 0 && take < isa.max_vectors) ++take;
    const int64_t channels = std::min(group_output - first, take * isa.lanes);
    columns.push_back({first, static_cast<int>(take), channels - (take - 1) * isa.lanes});
    first += channels;
    vectors -= take;
  }
}

void GatherPlan::add_phase(const AxisPhase& d, const AxisPhase& h, const AxisPhase& w) {
  Phase phase;
  phase.count = {d.count, h.count, w.count};
  const int64_t channels = spec.source_channels;
  for (size_t i = 0; i < d.taps.size(); ++i) {
    for (size_t j = 0; j < h.taps.size(); ++j) {
      for (size_t k = 0; k < w.taps.size(); ++k) {
        phase.taps.push_back((d.taps[i] * spec.kernel[1] + h.taps[j]) * spec.kernel[2] + w.taps[k]);
        const int64_t offset = (d.offsets[i] - window_low[0]) * plane_stride +
                               (h.offsets[j] - window_low[1]) * row_stride +
                               (w.offsets[k] - window_low[2]) * channels;
        for (int64_t c = 0; c < group_source; ++c) {
          phase.k_offset.push_back(static_cast<int32_t>(offset + c));
        }
      }
    }
  }
  const int64_t out_pixel = spec.output_channels;
  const int64_t out_row = spec.output[2] * out_pixel;
  const int64_t out_plane = spec.output[1] * out_row;
  phase.output_base = d.first * out_plane + h.first * out_row + w.first * out_pixel;
  phase.output_row = d.step * out_plane;
  const bool dense = h.step == 1 && w.step == 1 && d.step == 1;
  for (int64_t i = 0; i < std::min(block_rows, d.count); ++i) {
    for (int64_t j = 0; j < h.count; ++j) {
      for (int64_t k = 0; k < w.count; ++k) {
        phase.pixel_offset.push_back(static_cast<int32_t>(i * spec.source_step[0] * plane_stride +
                                                          j * spec.source_step[1] * row_stride +
                                                          k * spec.source_step[2] * channels));
        if (dense) continue;
        phase.pixel_output.push_back(static_cast<int32_t>(
            i * phase.output_row + j * h.step * out_row + k * w.step * out_pixel));
      }
    }
  }
  phase.packed = packed_floats;
  packed_floats += k_count(phase) * spec.groups * divide_up(group_output, lanes) * lanes;
  phases.push_back(std::move(phase));
}

}  // namespace pando::kernels::direct
