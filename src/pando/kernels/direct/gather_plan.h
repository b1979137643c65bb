// A convolution as a gathered matrix product: where each output pixel reads its source, for forward
// (one phase) and for the gradient of the input (one phase per residue of the stride).
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

// Along one axis, the outputs first, first + step, ... (count of them); the j-th one reads source
// position j * source_step + offsets[t] for kernel element taps[t].
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
  Extents kernel = {1, 1, 1};
  Extents source_step = {1, 1, 1};
  std::array<std::vector<AxisPhase>, 3> axes;
  int64_t unit_rows = 1;  // outer rows that must stay together
};

// Swaps axes of extent 1 so that the outermost axis is one with work to share: a 2-D geometry
// becomes [H, 1, W]. The memory order of every tensor stays the same.
std::array<int, 3> outer_first_axes(const ConvGeometry& geometry);
ConvGeometry reorder_axes(const ConvGeometry& geometry, const std::array<int, 3>& axes);

GatherSpec forward_spec(const ConvGeometry& geometry);
GatherSpec backward_input_spec(const ConvGeometry& geometry);

// Output channels first .. of one group that are computed together.
struct Column {
  int64_t first = 0;
  int vectors = 1;
  int64_t last_lanes = 0;  // existing lanes of the last vector
};

struct Phase {
  Extents count = {0, 0, 0};
  std::vector<int64_t> taps;          // positions in the canonical kernel
  std::vector<int32_t> k_offset;      // taps x channels of a group, relative to a pixel
  std::vector<int32_t> pixel_offset;  // pixels of one block, relative to the window
  std::vector<int32_t> pixel_output;  // empty: outputs are dense
  int64_t output_base = 0;
  int64_t output_row = 0;  // floats between outer rows of this phase
  int64_t packed = 0;      // where its panels start

  int64_t pixels_per_row() const { return count[1] * count[2]; }
};

// Work goes by blocks of outer rows. The source of a block is read in place when no tap falls
// outside; otherwise it is copied into a zero-bordered window that slides along the sample.
struct GatherPlan {
  GatherPlan(const GatherSpec& spec, const IsaKernels& isa);

  int64_t units() const { return rows / spec.unit_rows; }  // per sample
  int64_t source_size() const;                             // floats per sample
  int64_t output_size() const;
  int64_t window_rows(int64_t block) const;
  int64_t window_floats() const;  // 0 when the source is read in place
  int64_t k_count(const Phase& phase) const { return static_cast<int64_t>(phase.k_offset.size()); }

  GatherSpec spec;
  int lanes = 1;
  int64_t group_source = 1;  // channels per group
  int64_t group_output = 1;
  int64_t rows = 0;  // outer rows of the longest phase
  int64_t block_rows = 1;
  bool in_place = false;
  Extents window_low = {0, 0, 0};     // source position of the window's first element
  Extents window_extent = {0, 0, 0};  // of the inner axes; [0] is the span of the taps
  int64_t row_stride = 0;
  int64_t plane_stride = 0;
  std::vector<Column> columns;  // of each group
  std::vector<Phase> phases;
  int64_t packed_floats = 0;

 private:
  void set_window();
  void set_block_rows();
  void set_columns(const IsaKernels& isa);
  void add_phase(const AxisPhase& d, const AxisPhase& h, const AxisPhase& w);
};

}  // namespace pando::kernels::direct
