// Mean and sum of squared deviations of each channel over a slice, and their combination over
// slices.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/channel_rows.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

using fast::ChannelRow;
using fast::ChannelScratch;
using fast::PixelRows;
using fast::Range;

// Behind the scratch memory of the sums is room for a block that is widened.
struct MomentsPlan {
  explicit MomentsPlan(const ir::Node& node)
      : rows(node.input(0)->shape()),
        row(fast::channel_row(rows.channels)),
        dtype(node.input(0)->type().dtype) {}
  size_t buffer_at() const { return (ChannelScratch::bytes(row) + 63) / 64 * 64; }
  size_t scratch_bytes() const {
    if (!half::is_half(dtype)) return ChannelScratch::bytes(row);
    return buffer_at() + static_cast<size_t>(fast::block_elements(row)) * sizeof(float);
  }

  PixelRows rows;
  ChannelRow row;
  DType dtype;
};

void run_moments(const MomentsPlan& plan, const KernelArgs& args, const StepArgs& step) {
  const PixelRows& rows = plan.rows;
  ChannelScratch scratch(plan.row, args.scratch);
  Range pixels = rows.pixel_share(step.part);
  const int64_t last = step.valid * rows.pixels;
  pixels = {std::min(pixels.begin, last), std::min(pixels.end, last)};
  const fast::Elements x(plan.dtype, args.inputs[0],
                         reinterpret_cast<float*>(args.scratch + plan.buffer_at()));
  fast::sum_moments(x.from(pixels.begin * rows.channels), pixels.size(), plan.row, scratch);
  float* out = args.out();
  for (int64_t c = 0; c < rows.channels; ++c) {
    out[c] = static_cast<float>(scratch.first[c]);
    out[rows.channels + c] = static_cast<float>(scratch.second[c]);
  }
  out[2 * rows.channels] = static_cast<float>(pixels.size());
}

// Combines the slices in order by Chan's formula, one channel at a time.
void combine_channel(const KernelArgs& args, int64_t channels, int64_t c) {
  double count = 0;
  double mean = 0;
  double squares = 0;
  for (int slice = 0; slice < args.num_inputs; ++slice) {
    const float* moments = args.in(slice);
    const double size = moments[2 * channels];
    if (size == 0) continue;
    const double all = count + size;
    const double apart = moments[c] - mean;
    squares += moments[channels + c] + apart * apart * count * size / all;
    mean += apart * size / all;
    count = all;
  }
  const double variance = count > 0 ? squares / count : 0;
  args.out(0)[c] = static_cast<float>(mean);
  args.out(1)[c] = static_cast<float>(variance);
  args.out(2)[c] = static_cast<float>(count > 1 ? squares / (count - 1) : variance);
}

}  // namespace

KernelOffer fast_batch_moments(const ir::Node& node) {
  const MomentsPlan plan(node);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    run_moments(plan, args, step);
  };
  return offer_function(fast::fast_name(node), run,
                        {.splits = true, .scratch_bytes = plan.scratch_bytes()});
}

KernelOffer fast_combine_moments(const ir::Node& node) {
  const int64_t channels = node.output()->shape().elements();
  return offer_function("fast", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t c = 0; c < channels; ++c) combine_channel(args, channels, c);
  });
}

}  // namespace pando::kernels
