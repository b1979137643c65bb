// Batch normalisation and its gradients; see channel_rows.h for the loops.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/kernels/fast/channel_rows.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/node_activation.h"

namespace pando::kernels {
namespace {

using fast::ChannelRow;
using fast::ChannelScratch;
using fast::PixelRows;
using fast::Range;
using fast::ScratchCutter;

// The constants of one batch_norm node or gradient.
struct Norm {
  Norm(const ir::Node& node, const Shape& shape)
      : rows(shape),
        row(fast::channel_row(rows.channels)),
        epsilon(static_cast<float>(ops::number_attribute(node, "epsilon"))),
        activation(node_activation(node)) {}

  PixelRows rows;
  ChannelRow row;
  float epsilon;
  NodeActivation activation;

  float inverse_deviation(float variance) const { return 1.0f / std::sqrt(variance + epsilon); }
  // The pixels of the range that belong to real samples.
  Range valid_part(Range pixels, int64_t valid) const {
    const int64_t last = valid * rows.pixels;
    return {std::min(pixels.begin, last), std::min(pixels.end, last)};
  }
};

void run_batch_norm(const Norm& norm, const KernelArgs& args, const StepArgs& step) {
  ScratchCutter cutter(args.scratch);
  float* center = cutter.floats(norm.row.length());
  float* scale = cutter.floats(norm.row.length());
  float* shift = cutter.floats(norm.row.length());
  for (int64_t c = 0; c < norm.rows.channels; ++c) {
    center[c] = args.in(1)[c];
    scale[c] = args.in(3)[c] * norm.inverse_deviation(args.in(2)[c]);
    shift[c] = args.in(4)[c];
  }
  for (float* numbers : {center, scale, shift}) fast::repeat_channels(norm.row, numbers);
  const Range pixels = norm.rows.pixel_share(step.part);
  const int64_t at = pixels.begin * norm.rows.channels;
  fast::apply_affine(args.in(0) + at, args.out() + at, pixels.size() * norm.rows.channels, norm.row,
                     {center, scale, shift, norm.activation.kind, norm.activation.alpha});
}

bool masks(const Norm& norm) { return norm.activation.kind != Activation::none; }

// Filled as run_batch_norm fills its rows, so that the mask has the bits of forward.
fast::MaskRows mask_rows(const Norm& norm, const float* scale, const float* shift) {
  fast::MaskRows rows{.scale = scale, .shift = shift};
  if (norm.activation.kind == Activation::relu6) rows.ceiling = 6;
  return rows;
}

size_t sums_scratch(ChannelRow row) { return (ChannelScratch::bytes(row) + 63) / 64 * 64; }

// The mask of run_sums, in the scratch memory behind that of the sums.
fast::MaskRows mask_of_sums(const Norm& norm, const KernelArgs& args) {
  if (!masks(norm)) return {};
  ScratchCutter cutter(args.scratch + sums_scratch(norm.row));
  float* scale = cutter.floats(norm.row.length());
  float* shift = cutter.floats(norm.row.length());
  for (int64_t c = 0; c < norm.rows.channels; ++c) {
    scale[c] = args.in(4)[c] * norm.inverse_deviation(args.in(3)[c]);
    shift[c] = args.in(5)[c];
  }
  for (float* numbers : {scale, shift}) fast::repeat_channels(norm.row, numbers);
  return mask_rows(norm, scale, shift);
}

void run_sums(const Norm& norm, const KernelArgs& args, const StepArgs& step) {
  ChannelScratch scratch(norm.row, args.scratch);
  const int64_t channels = norm.rows.channels;
  std::copy_n(args.in(2), channels, scratch.center);
  fast::repeat_channels(norm.row, scratch.center);
  fast::clear_totals(norm.row, scratch);
  const Range pixels = norm.valid_part(norm.rows.pixel_share(step.part), step.valid);
  const int64_t at = pixels.begin * channels;
  fast::add_products({.dy = args.in(0) + at, .x = args.in(1) + at}, pixels.size(), norm.row,
                     scratch, mask_of_sums(norm, args));
  for (int64_t c = 0; c < channels; ++c) {
    const double inverse = norm.inverse_deviation(args.in(3)[c]);
    args.out(0)[c] = static_cast<float>(scratch.first[c]);
    args.out(1)[c] = static_cast<float>(scratch.second[c] * inverse);
  }
}

// dx = gamma * inverse * (dy - t1 / n - xhat * t2 / n), or gamma * inverse * dy without totals.
void run_input_grad(const Norm& norm, bool totals, const KernelArgs& args, const StepArgs& step) {
  ScratchCutter cutter(args.scratch);
  const int64_t channels = norm.rows.channels;
  float* center = cutter.floats(norm.row.length());
  float* scale = cutter.floats(norm.row.length());
  float* slope = cutter.floats(norm.row.length());
  float* shift = cutter.floats(norm.row.length());
  float* beta = cutter.floats(norm.row.length());
  const double count = static_cast<double>(step.batch_valid * norm.rows.pixels);
  for (int64_t c = 0; c < channels; ++c) {
    const float inverse = norm.inverse_deviation(args.in(3)[c]);
    center[c] = args.in(2)[c];
    scale[c] = args.in(4)[c] * inverse;
    const double factor = totals && count > 0 ? -scale[c] / count : 0;
    slope[c] = totals ? static_cast<float>(factor * inverse * args.in(6)[c]) : 0;
    shift[c] = totals ? static_cast<float>(factor * args.in(5)[c]) : 0;
    beta[c] = masks(norm) ? args.in(args.num_inputs - 1)[c] : 0;
  }
  for (float* numbers : {center, scale, slope, shift, beta}) {
    fast::repeat_channels(norm.row, numbers);
  }
  const Range all = norm.rows.pixel_share(step.part);
  // Without totals, padding needs no special case: its dy is zero.
  const Range pixels = totals ? norm.valid_part(all, step.valid) : all;
  const int64_t at = pixels.begin * channels;
  fast::apply_gradient({.dy = args.in(0) + at, .x = args.in(1) + at, .dx = args.out() + at},
                       pixels.size() * channels, norm.row,
                       {.center = center,
                        .scale = scale,
                        .slope = totals ? slope : nullptr,
                        .shift = shift,
                        .mask = masks(norm) ? mask_rows(norm, scale, beta) : fast::MaskRows{}});
  std::fill(args.out() + std::max(pixels.end, all.begin) * channels,
            args.out() + all.end * channels, 0.0f);
}

}  // namespace

KernelOffer fast_batch_norm(const ir::Node& node) {
  const Norm norm(node, node.input(0)->shape());
  ScratchCutter plan;
  for (int i = 0; i < 3; ++i) plan.floats(norm.row.length());
  const auto run = [norm](const KernelArgs& args, const StepArgs& step) {
    run_batch_norm(norm, args, step);
  };
  return offer_function("fast", run, {.splits = true, .scratch_bytes = plan.used()});
}

KernelOffer fast_batch_norm_sums(const ir::Node& node) {
  const Norm norm(node, node.input(0)->shape());
  const auto run = [norm](const KernelArgs& args, const StepArgs& step) {
    run_sums(norm, args, step);
  };
  ScratchCutter plan;
  for (int i = 0; i < 2; ++i) plan.floats(norm.row.length());
  return offer_function("fast", run,
                        {.splits = true, .scratch_bytes = sums_scratch(norm.row) + plan.used()});
}

KernelOffer fast_batch_norm_input_grad(const ir::Node& node) {
  const Norm norm(node, node.input(0)->shape());
  const bool totals = node.num_inputs() >= 7;
  ScratchCutter plan;
  for (int i = 0; i < 5; ++i) plan.floats(norm.row.length());
  const auto run = [norm, totals](const KernelArgs& args, const StepArgs& step) {
    run_input_grad(norm, totals, args, step);
  };
  return offer_function("fast", run, {.splits = true, .scratch_bytes = plan.used()});
}

}  // namespace pando::kernels
