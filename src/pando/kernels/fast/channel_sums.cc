// The sum of every channel over samples and pixels. Parts divide the rows of pixels; each has sums
// of its own.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/channel_rows.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {

KernelOffer fast_channel_sums(const ir::Node& node) {
  const fast::PixelRows rows(node.input(0)->shape());
  const fast::ChannelRow row = fast::channel_row(rows.channels);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    fast::ChannelScratch scratch(row, args.scratch);
    fast::clear_totals(row, scratch);
    const fast::Range pixels = rows.pixel_share(step.part);
    fast::add_values(args.in(0) + pixels.begin * rows.channels, pixels.size(), row, scratch);
    for (int64_t c = 0; c < rows.channels; ++c) {
      args.out()[c] = static_cast<float>(scratch.first[c]);
    }
  };
  return offer_function("fast", run,
                        {.splits = true, .scratch_bytes = fast::ChannelScratch::bytes(row)});
}

}  // namespace pando::kernels
