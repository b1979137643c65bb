// A convolution as a gathered matrix product: the tables say which source elements each output
// pixel reads, for the forward pass and for the input gradient. Outputs whose window reaches past
// the border read fewer taps, so nothing is padded and no padding zero is multiplied.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pando/kernels/conv_geometry.h"
#include "pando/kernels/direct/isa_kernels.h"

namespace pando::kernels::direct {

using Extents = ConvGeometry::Extents;

// Outputs first, first + step, ... (`count` of them) along one axis that use the same taps: output
// j reads source position j * source_step + offsets[t] for filter element taps[t].
struct AxisPhase {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
  std::vector<int64_t> offsets;
  std::vector<int64_t> taps;
};

struct GatherSpec {
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t source_channels = 1;
  int64_t output_channels = 1;
  Extents source = {1, 1, 1};
  Extents output = {1, 1, 1};
  Extents output_stride = {1, 1, 1};  // in pixels
  Extents filter = {1, 1, 1};
  Extents source_step = {1, 1, 1};
  std::array<std::vector<AxisPhase>, 3> axes;
  int64_t unit_rows = 1;  // outer rows that must stay together
  bool join_samples = true;
  // Size of the source and outputs of a block. By default they fit into a 512 KiB second-level
  // cache together with the filter.
  int64_t block_bytes = 256 * 1024;
};

// Swaps axes of extent 1 so that the outermost axis is one with work to share: a 2-D geometry
// becomes [H, 1, W]. The memory order of every tensor stays the same.
std::array<int, 3> outer_first_axes(const ConvGeometry& geometry);
ConvGeometry reorder_axes(const ConvGeometry& geometry, const std::array<int, 3>& axes);

// The forward pass has one phase per axis, backward_input one per residue modulo the stride.
GatherSpec forward_spec(const ConvGeometry& geometry);
GatherSpec backward_input_spec(const ConvGeometry& geometry);

// Consecutive output channels of one group, from `first` on, that are computed together.
struct Column {
  int64_t first = 0;
  int vectors = 1;
  int64_t last_lanes = 0;  // existing lanes of the last vector
};

// Cuts the channels of one group into columns of the width that suits the registers.
std::vector<Column> cut_columns(int64_t output_channels, const IsaKernels& isa);

// The packed rows of one phase of the spec: its taps x the channels of a group.
struct PackedRows {
  std::vector<int64_t> taps;  // positions in the canonical filter
  int64_t count = 0;
  int64_t begin = 0;  // floats before its panels
};

// Outputs that have the same taps inside the source, with their tables. Offsets are in floats from
// the phase's first pixel. Rows are pixels of the output and rows of the packed panel; an empty
// table of rows means 0, 1, 2, ...
struct Phase {
  size_t packed = 0;          // index into GatherPlan::packed
  Extents begin = {0, 0, 0};  // position along each axis of the spec's phase
  Extents count = {0, 0, 0};
  int64_t output_begin = 0;         // in pixels
  Extents output_step = {0, 0, 0};  // in pixels
  std::vector<int32_t> k_offset;
  std::vector<int32_t> k_row;
  std::vector<int32_t> pixel_offset;
  std::vector<int32_t> pixel_row;

  int64_t k_count() const { return static_cast<int64_t>(k_offset.size()); }
  int64_t pixels_per_row() const { return count[1] * count[2]; }
};

struct Stretch;

struct GatherPlan {
  GatherPlan(const GatherSpec& spec, const IsaKernels& isa);

  int64_t units() const { return rows / spec.unit_rows; }  // per sample
  int64_t source_size() const;                             // floats per sample
  int64_t output_size() const;
  int64_t width(const Column& column) const { return column.vectors * int64_t{lanes}; }
  int64_t channels(const Column& column) const {
    return (column.vectors - 1) * int64_t{lanes} + column.last_lanes;
  }
  // Whether parts should share the columns of a filter instead of rows of outputs: if the filter is
  // larger than what it is applied to, and columns divide as evenly as rows.
  bool shares_columns(int parts) const;
  int64_t padded_output() const { return (group_output + lanes - 1) / lanes * lanes; }

  GatherSpec spec;
  int lanes = 1;
  int64_t group_source = 1;  // channels per group
  int64_t group_output = 1;
  int64_t source_row = 0;    // floats between neighbours along height
  int64_t source_plane = 0;  // and depth
  int64_t rows = 0;          // outer rows of the longest phase
  int64_t block_rows = 1;
  int64_t block_samples = 1;    // more than 1 only if block_rows is all rows
  std::vector<Column> columns;  // of each group
  std::vector<PackedRows> packed;
  std::vector<Phase> phases;
  int64_t packed_floats = 0;

 private:
  using Axes = std::array<const AxisPhase*, 3>;
  using Stretches = std::array<const Stretch*, 3>;
  void set_blocks();
  void add_packed(const Axes& axes);
  void add_phases(const Axes& axes);
  Phase make_phase(const Axes& axes, const Stretches& parts) const;
  void add_pixels(Phase& phase) const;
};

}  // namespace pando::kernels::direct
