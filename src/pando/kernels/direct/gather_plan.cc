// Builds the offset tables of a gathered convolution.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/gather_plan.h"

#include <algorithm>

#include "pando/kernels/divide_up.h"

namespace pando::kernels::direct {

// A run of a phase's outputs that have the same taps inside the source.
struct Stretch {
  int64_t begin = 0;
  int64_t count = 0;
  std::vector<size_t> inside;  // positions in the phase's taps
};

namespace {

constexpr int64_t kMaxBlockPixels = 4096;

bool is_trivial_axis(const ConvGeometry& g, size_t axis) {
  return g.in[axis] == 1 && g.out[axis] == 1 && g.filter[axis] == 1 && g.pad_low[axis] == 0 &&
         g.pad_high[axis] == 0;
}

AxisPhase forward_axis(const ConvGeometry& g, size_t axis) {
  AxisPhase phase{.count = g.out[axis]};
  for (int64_t k = 0; k < g.filter[axis]; ++k) {
    phase.offsets.push_back(k * g.dilation[axis] - g.pad_low[axis]);
    phase.taps.push_back(k);
  }
  return phase;
}

// Output o reads input i through tap k if i = o * stride + k * dilation - pad_low. Inputs with the
// same residue modulo the stride share their taps.
std::vector<AxisPhase> backward_axis(const ConvGeometry& g, size_t axis) {
  const int64_t stride = g.stride[axis];
  std::vector<AxisPhase> phases;
  for (int64_t first = 0; first < std::min(stride, g.in[axis]); ++first) {
    AxisPhase phase{.first = first, .step = stride};
    phase.count = (g.in[axis] - 1 - first) / stride + 1;
    for (int64_t k = 0; k < g.filter[axis]; ++k) {
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
  spec.filter = g.filter;
  return spec;
}

void set_output(GatherSpec& spec, const Extents& extents, int64_t channels) {
  spec.output = extents;
  spec.output_stride = {extents[1] * extents[2], extents[2], 1};
  spec.output_channels = channels;
}

std::vector<Stretch> stretches(const AxisPhase& phase, int64_t source_step, int64_t extent) {
  std::vector<Stretch> result;
  for (int64_t j = 0; j < phase.count; ++j) {
    std::vector<size_t> inside;
    for (size_t t = 0; t < phase.offsets.size(); ++t) {
      const int64_t position = j * source_step + phase.offsets[t];
      if (position >= 0 && position < extent) inside.push_back(t);
    }
    if (result.empty() || result.back().inside != inside) result.push_back({j, 0, inside});
    ++result.back().count;
  }
  return result;
}

void drop_if_counting(std::vector<int32_t>& rows, int64_t all) {
  if (static_cast<int64_t>(rows.size()) != all) return;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != static_cast<int32_t>(i)) return;
  }
  rows.clear();
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
    r.filter[i] = g.filter[from];
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
  spec.source = g.in;
  set_output(spec, g.out, g.out_channels);
  spec.source_step = g.stride;
  for (size_t axis = 0; axis < 3; ++axis) spec.axes[axis] = {forward_axis(g, axis)};
  return spec;
}

GatherSpec backward_input_spec(const ConvGeometry& g) {
  GatherSpec spec = common_spec(g);
  spec.source_channels = g.out_channels;
  spec.source = g.out;
  set_output(spec, g.in, g.in_channels);
  for (size_t axis = 0; axis < 3; ++axis) spec.axes[axis] = backward_axis(g, axis);
  return spec;
}

GatherPlan::GatherPlan(const GatherSpec& gather_spec, const IsaKernels& isa)
    : spec(gather_spec), lanes(isa.lanes) {
  group_source = spec.source_channels / spec.groups;
  group_output = spec.output_channels / spec.groups;
  source_row = spec.source[2] * spec.source_channels;
  source_plane = spec.source[1] * source_row;
  for (const AxisPhase& phase : spec.axes[0]) rows = std::max(rows, phase.count);
  set_blocks();
  columns = cut_columns(group_output, isa);
  for (const AxisPhase& d : spec.axes[0]) {
    for (const AxisPhase& h : spec.axes[1]) {
      for (const AxisPhase& w : spec.axes[2]) {
        add_packed({&d, &h, &w});
        add_phases({&d, &h, &w});
      }
    }
  }
}

int64_t GatherPlan::source_size() const { return spec.source[0] * source_plane; }

int64_t GatherPlan::output_size() const {
  return spec.output[0] * spec.output[1] * spec.output[2] * spec.output_channels;
}

bool GatherPlan::shares_columns(int parts) const {
  const auto most = [parts](int64_t units) { return (units + parts - 1) / parts; };
  const auto count = static_cast<int64_t>(columns.size());
  const int64_t all_rows = spec.batch * units();
  return parts > 1 && packed_floats > spec.batch * source_size() &&
         most(count) * all_rows <= most(all_rows) * count;
}

void GatherPlan::set_blocks() {
  const int64_t float_bytes = sizeof(float);
  const int64_t taps = spec.filter[0] * spec.filter[1] * spec.filter[2];
  const int64_t kernel_bytes = taps * group_source * spec.output_channels * float_bytes;
  // A filter larger than the cache is better read once for many rows.
  const int64_t budget = std::max(spec.block_bytes, kernel_bytes / 2);
  const int64_t unit_count = std::max<int64_t>(1, units());
  const int64_t pixels = output_size() / spec.output_channels;
  int64_t floats = source_size() + output_size();
  if (taps == 1) {  // with a stride, nothing is computed from some pixels, or for them
    const int64_t used = std::min(pixels, source_size() / spec.source_channels);
    floats = used * (spec.source_channels + spec.output_channels);
  }
  const int64_t unit_bytes = floats * float_bytes / unit_count + 1;
  const int64_t unit_pixels = divide_up(pixels, unit_count);
  const int64_t most =
      std::max<int64_t>(1, std::min(budget / unit_bytes, kMaxBlockPixels / unit_pixels));
  if (most < unit_count) {
    block_rows = spec.unit_rows * divide_up(unit_count, divide_up(unit_count, most));
    return;
  }
  block_rows = rows;
  if (spec.join_samples) {
    block_samples = std::clamp<int64_t>(most / unit_count, 1, spec.batch);
    block_samples = divide_up(spec.batch, divide_up(spec.batch, block_samples));
  }
}

std::vector<Column> cut_columns(int64_t output_channels, const IsaKernels& isa) {
  std::vector<Column> columns;
  int64_t vectors = divide_up(output_channels, isa.lanes);
  for (int64_t first = 0; first < output_channels;) {
    // An odd vector joins the first panel rather than forming a narrow one.
    int64_t take = std::min<int64_t>(vectors, isa.preferred_vectors);
    if (vectors > take && vectors % isa.preferred_vectors != 0 && take < kMaxVectors) ++take;
    const int64_t channels = std::min(output_channels - first, take * isa.lanes);
    columns.push_back({first, static_cast<int>(take), channels - (take - 1) * isa.lanes});
    first += channels;
    vectors -= take;
  }
  return columns;
}

void GatherPlan::add_packed(const Axes& axes) {
  PackedRows entry;
  for (const int64_t d : axes[0]->taps) {
    for (const int64_t h : axes[1]->taps) {
      for (const int64_t w : axes[2]->taps) {
        entry.taps.push_back((d * spec.filter[1] + h) * spec.filter[2] + w);
      }
    }
  }
  entry.count = static_cast<int64_t>(entry.taps.size()) * group_source;
  entry.begin = packed_floats;
  packed_floats += entry.count * spec.groups * padded_output();
  packed.push_back(std::move(entry));
}

void GatherPlan::add_phases(const Axes& axes) {
  std::array<std::vector<Stretch>, 3> parts;
  for (size_t i = 0; i < 3; ++i) {
    parts[i] = stretches(*axes[i], spec.source_step[i], spec.source[i]);
  }
  for (const Stretch& d : parts[0]) {
    for (const Stretch& h : parts[1]) {
      for (const Stretch& w : parts[2]) phases.push_back(make_phase(axes, {&d, &h, &w}));
    }
  }
}

Phase GatherPlan::make_phase(const Axes& axes, const Stretches& parts) const {
  const Extents source_stride = {source_plane, source_row, spec.source_channels};
  Phase phase;
  phase.packed = packed.size() - 1;
  for (size_t i = 0; i < 3; ++i) {
    phase.begin[i] = parts[i]->begin;
    phase.count[i] = parts[i]->count;
    phase.output_begin +=
        (axes[i]->first + parts[i]->begin * axes[i]->step) * spec.output_stride[i];
    phase.output_step[i] = axes[i]->step * spec.output_stride[i];
  }
  const auto offset = [&](size_t axis, size_t tap) {
    return (parts[axis]->begin * spec.source_step[axis] + axes[axis]->offsets[tap]) *
           source_stride[axis];
  };
  for (const size_t d : parts[0]->inside) {
    for (const size_t h : parts[1]->inside) {
      for (const size_t w : parts[2]->inside) {
        const int64_t from = offset(0, d) + offset(1, h) + offset(2, w);
        const auto tap =
            static_cast<int64_t>((d * axes[1]->taps.size() + h) * axes[2]->taps.size() + w);
        for (int64_t c = 0; c < group_source; ++c) {
          phase.k_offset.push_back(static_cast<int32_t>(from + c));
          phase.k_row.push_back(static_cast<int32_t>(tap * group_source + c));
        }
      }
    }
  }
  drop_if_counting(phase.k_row, packed.back().count);
  add_pixels(phase);
  return phase;
}

void GatherPlan::add_pixels(Phase& phase) const {
  const Extents step = {spec.source_step[0] * source_plane, spec.source_step[1] * source_row,
                        spec.source_step[2] * spec.source_channels};
  const int64_t output_pixels = output_size() / spec.output_channels;
  for (int64_t n = 0; n < block_samples; ++n) {
    for (int64_t i = 0; i < std::min(block_rows, phase.count[0]); ++i) {
      for (int64_t j = 0; j < phase.count[1]; ++j) {
        for (int64_t k = 0; k < phase.count[2]; ++k) {
          phase.pixel_offset.push_back(
              static_cast<int32_t>(n * source_size() + i * step[0] + j * step[1] + k * step[2]));
          phase.pixel_row.push_back(
              static_cast<int32_t>(n * output_pixels + i * phase.output_step[0] +
                                   j * phase.output_step[1] + k * phase.output_step[2]));
        }
      }
    }
  }
  drop_if_counting(phase.pixel_row, static_cast<int64_t>(phase.pixel_offset.size()));
}

}  // namespace pando::kernels::direct
