// Batch normalisation and its gradients; see channel_rows.h for the loops.
// SPDX-License-Identifier: MIT
#include <array>
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

// The constants of one batch_norm node or gradient. The first inputs, `pixel_inputs` of them, have
// pixels; the others have one number per channel.
struct Norm {
  Norm(const ir::Node& node, int with_pixels)
      : pixel_inputs(with_pixels),
        rows(node.input(0)->shape()),
        row(fast::channel_row(rows.channels)),
        epsilon(static_cast<float>(ops::number_attribute(node, "epsilon"))),
        activation(node_activation(node)),
        output(node) {
    num_inputs = node.num_inputs();
    for (int i = 0; i < num_inputs; ++i) {
      dtypes[static_cast<size_t>(i)] = node.input(i)->type().dtype;
    }
  }

  int pixel_inputs;
  PixelRows rows;
  ChannelRow row;
  float epsilon;
  NodeActivation activation;
  fast::SampleOutput output;
  int num_inputs;
  std::array<DType, 8> dtypes = {};

  bool halves() const { return half::is_half(dtypes[0]); }
  // Elements that are processed at a time: whole rows.
  int64_t chunk(int64_t all) const {
    if (!halves()) return all;
    return std::max<int64_t>(fast::kHalfChunk / row.length(), 1) * row.length();
  }
  float inverse_deviation(float variance) const { return 1.0f / std::sqrt(variance + epsilon); }
  // The pixels of the range that belong to real samples.
  Range valid_part(Range pixels, int64_t valid) const {
    const int64_t last = valid * rows.pixels;
    return {std::min(pixels.begin, last), std::min(pixels.end, last)};
  }
};

// The inputs of a call, with those of 16 bits widened: numbers of channels at once, pixels in
// blocks of `block` elements. Without arguments it only counts the scratch memory.
struct NormInputs {
  NormInputs(const Norm& norm, const KernelArgs* args, int64_t block, ScratchCutter& cutter) {
    for (int i = 0; i < norm.num_inputs; ++i) {
      const auto at = static_cast<size_t>(i);
      const DType dtype = norm.dtypes[at];
      const bool pixels = i < norm.pixel_inputs;
      float* wide = nullptr;
      if (half::is_half(dtype)) wide = cutter.floats(pixels ? block : norm.rows.channels);
      if (args == nullptr) continue;
      if (pixels) {
        elements[at] = fast::Elements(dtype, args->inputs[i], wide);
      } else {
        numbers[at] = fast::Elements(dtype, args->inputs[i], wide).block(0, norm.rows.channels);
      }
    }
    if (norm.halves()) results = cutter.floats(block);
  }
  fast::Elements elements[2] = {nullptr, nullptr};
  const float* numbers[8] = {};
  float* results = nullptr;
};

void run_batch_norm(const Norm& norm, const KernelArgs& args, const StepArgs& step) {
  ScratchCutter cutter(args.scratch);
  float* center = cutter.floats(norm.row.length());
  float* scale = cutter.floats(norm.row.length());
  float* shift = cutter.floats(norm.row.length());
  const NormInputs in(norm, &args, norm.chunk(0), cutter);
  for (int64_t c = 0; c < norm.rows.channels; ++c) {
    center[c] = in.numbers[1][c];
    scale[c] = in.numbers[3][c] * norm.inverse_deviation(in.numbers[2][c]);
    shift[c] = in.numbers[4][c];
  }
  for (float* numbers : {center, scale, shift}) fast::repeat_channels(norm.row, numbers);
  const Range pixels = norm.rows.pixel_share(step.part);
  const int64_t end = pixels.end * norm.rows.channels;
  const int64_t chunk = std::max<int64_t>(norm.chunk(end), 1);
  for (int64_t at = pixels.begin * norm.rows.channels; at < end; at += chunk) {
    const int64_t count = std::min(chunk, end - at);
    fast::apply_affine(in.elements[0].block(at, count), norm.output.block(args, at, in.results),
                       count, norm.row,
                       {center, scale, shift, norm.activation.kind, norm.activation.alpha});
    norm.output.finish(args, step, at, count, in.results);
  }
}

bool masks(const Norm& norm) { return norm.activation.kind != Activation::none; }

// Filled as run_batch_norm fills its rows, so that the mask has the bits of forward.
fast::MaskRows mask_rows(const Norm& norm, const float* scale, const float* shift) {
  fast::MaskRows rows{.scale = scale, .shift = shift};
  if (norm.activation.kind == Activation::relu6) rows.ceiling = 6;
  return rows;
}

size_t sums_scratch(ChannelRow row) { return (ChannelScratch::bytes(row) + 63) / 64 * 64; }

// The mask of run_sums.
fast::MaskRows mask_of_sums(const Norm& norm, const NormInputs& in, ScratchCutter& cutter) {
  if (!masks(norm)) return {};
  float* scale = cutter.floats(norm.row.length());
  float* shift = cutter.floats(norm.row.length());
  for (int64_t c = 0; c < norm.rows.channels; ++c) {
    scale[c] = in.numbers[4][c] * norm.inverse_deviation(in.numbers[3][c]);
    shift[c] = in.numbers[5][c];
  }
  for (float* numbers : {scale, shift}) fast::repeat_channels(norm.row, numbers);
  return mask_rows(norm, scale, shift);
}

// Scratch holds the sums first, then the inputs and the mask.
void run_sums(const Norm& norm, const KernelArgs& args, const StepArgs& step) {
  ChannelScratch scratch(norm.row, args.scratch);
  ScratchCutter cutter(args.scratch + sums_scratch(norm.row));
  const NormInputs in(norm, &args, fast::block_elements(norm.row), cutter);
  const int64_t channels = norm.rows.channels;
  std::copy_n(in.numbers[2], channels, scratch.center);
  fast::repeat_channels(norm.row, scratch.center);
  fast::clear_totals(norm.row, scratch);
  const Range pixels = norm.valid_part(norm.rows.pixel_share(step.part), step.valid);
  const int64_t at = pixels.begin * channels;
  fast::add_products({.dy = in.elements[0].from(at), .x = in.elements[1].from(at)}, pixels.size(),
                     norm.row, scratch, mask_of_sums(norm, in, cutter));
  for (int64_t c = 0; c < channels; ++c) {
    const double inverse = norm.inverse_deviation(in.numbers[3][c]);
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
  const NormInputs in(norm, &args, norm.chunk(0), cutter);
  const double count = static_cast<double>(step.batch_valid * norm.rows.pixels);
  for (int64_t c = 0; c < channels; ++c) {
    const float inverse = norm.inverse_deviation(in.numbers[3][c]);
    center[c] = in.numbers[2][c];
    scale[c] = in.numbers[4][c] * inverse;
    const double factor = totals && count > 0 ? -scale[c] / count : 0;
    slope[c] = totals ? static_cast<float>(factor * inverse * in.numbers[6][c]) : 0;
    shift[c] = totals ? static_cast<float>(factor * in.numbers[5][c]) : 0;
    beta[c] = masks(norm) ? in.numbers[norm.num_inputs - 1][c] : 0;
  }
  for (float* numbers : {center, scale, slope, shift, beta}) {
    fast::repeat_channels(norm.row, numbers);
  }
  const fast::GradientRows rows{
      .center = center,
      .scale = scale,
      .slope = totals ? slope : nullptr,
      .shift = shift,
      .mask = masks(norm) ? mask_rows(norm, scale, beta) : fast::MaskRows{}};
  const Range all = norm.rows.pixel_share(step.part);
  // Without totals, padding needs no special case: its dy is zero.
  const Range pixels = totals ? norm.valid_part(all, step.valid) : all;
  const int64_t end = pixels.end * channels;
  const int64_t chunk = std::max<int64_t>(norm.chunk(end), 1);
  for (int64_t at = pixels.begin * channels; at < end; at += chunk) {
    const int64_t elements = std::min(chunk, end - at);
    fast::apply_gradient({.dy = in.elements[0].block(at, elements),
                          .x = in.elements[1].block(at, elements),
                          .dx = norm.output.block(args, at, in.results)},
                         elements, norm.row, rows);
    norm.output.finish(args, step, at, elements, in.results);
  }
  norm.output.clear(args, std::max(pixels.end, all.begin) * channels, all.end * channels);
}

}  // namespace

KernelOffer fast_batch_norm(const ir::Node& node) {
  const Norm norm(node, 1);
  ScratchCutter plan;
  for (int i = 0; i < 3; ++i) plan.floats(norm.row.length());
  const NormInputs inputs(norm, nullptr, norm.chunk(0), plan);
  const auto run = [norm](const KernelArgs& args, const StepArgs& step) {
    run_batch_norm(norm, args, step);
  };
  return offer_function(fast::fast_name(node), run, {.splits = true, .scratch_bytes = plan.used()});
}

KernelOffer fast_batch_norm_sums(const ir::Node& node) {
  const Norm norm(node, 2);
  const auto run = [norm](const KernelArgs& args, const StepArgs& step) {
    run_sums(norm, args, step);
  };
  ScratchCutter plan;
  const NormInputs inputs(norm, nullptr, fast::block_elements(norm.row), plan);
  for (int i = 0; i < 2; ++i) plan.floats(norm.row.length());
  return offer_function(fast::fast_name(node), run,
                        {.splits = true, .scratch_bytes = sums_scratch(norm.row) + plan.used()});
}

KernelOffer fast_batch_norm_input_grad(const ir::Node& node) {
  const Norm norm(node, 2);
  const bool totals = node.num_inputs() >= 7;
  ScratchCutter plan;
  for (int i = 0; i < 5; ++i) plan.floats(norm.row.length());
  const NormInputs inputs(norm, nullptr, norm.chunk(0), plan);
  const auto run = [norm, totals](const KernelArgs& args, const StepArgs& step) {
    run_input_grad(norm, totals, args, step);
  };
  return offer_function(fast::fast_name(node), run, {.splits = true, .scratch_bytes = plan.used()});
}

}  // namespace pando::kernels
