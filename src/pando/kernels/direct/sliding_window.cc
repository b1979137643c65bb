// Fills the zero-bordered windows of the direct convolution.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/sliding_window.h"

#include <cstring>

namespace pando::kernels::direct {
namespace {

void copy_floats(float* to, const float* from, int64_t count) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}

}  // namespace

const float* SlidingWindow::move_to(int64_t sample, int64_t row, int64_t rows) {
  const float* source = source_ + sample * plan_.source_size();
  const int64_t begin = row * plan_.spec.source_step[0] + plan_.window_low[0];
  if (plan_.in_place) {
    return source + begin * plan_.plane_stride + plan_.window_low[1] * plan_.row_stride +
           plan_.window_low[2] * plan_.spec.source_channels;
  }
  const int64_t end = begin + plan_.window_rows(rows);
  int64_t next = begin;
  if (sample == sample_ && begin >= begin_ && begin < end_) {
    const int64_t kept = end_ - begin;
    std::memmove(memory_, memory_ + (begin - begin_) * plan_.plane_stride,
                 static_cast<size_t>(kept * plan_.plane_stride) * sizeof(float));
    next = end_;
  }
  for (; next < end; ++next) {
    load_plane(source, next, memory_ + (next - begin) * plan_.plane_stride);
  }
  sample_ = sample;
  begin_ = begin;
  end_ = next;
  return memory_;
}

void SlidingWindow::load_plane(const float* sample, int64_t position, float* to) const {
  const Extents& extent = plan_.spec.source;
  if (position < 0 || position >= extent[0]) {
    std::fill_n(to, plan_.plane_stride, 0.0f);
    return;
  }
  const int64_t channels = plan_.spec.source_channels;
  const int64_t width = plan_.window_extent[2];
  const int64_t low = std::clamp<int64_t>(-plan_.window_low[2], 0, width);
  const int64_t from = std::max<int64_t>(plan_.window_low[2], 0);
  const int64_t copied = std::clamp<int64_t>(extent[2] - from, 0, width - low);
  for (int64_t i = 0; i < plan_.window_extent[1]; ++i, to += plan_.row_stride) {
    const int64_t row = plan_.window_low[1] + i;
    if (row < 0 || row >= extent[1]) {
      std::fill_n(to, plan_.row_stride, 0.0f);
      continue;
    }
    const float* line = sample + ((position * extent[1] + row) * extent[2] + from) * channels;
    std::fill_n(to, low * channels, 0.0f);
    copy_floats(to + low * channels, line, copied * channels);
    std::fill_n(to + (low + copied) * channels, (width - low - copied) * channels, 0.0f);
  }
}

}  // namespace pando::kernels::direct
