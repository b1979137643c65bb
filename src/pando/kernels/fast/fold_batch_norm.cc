// Scales the filter of a convolution or dense layer, so that it computes the batch normalisation
// that follows it, or a factor and an offset beside it.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

struct Fold {
  int64_t rows = 0;  // of the filter's last axis
  int64_t columns = 0;
  int64_t channels = 0;
  bool transposed = false;  // rows belong to channels, not columns
  float epsilon = 0;

  // Every part needs all scales. The first writes the bias.
  void run(const KernelArgs& args, Part part) const {
    auto* scale = reinterpret_cast<float*>(args.scratch);
    for (int64_t c = 0; c < channels; ++c) {
      scale[c] = args.in(3)[c] / std::sqrt(args.in(2)[c] + epsilon);
    }
    if (part.index == 0) write_bias(args, scale);
    const fast::Range mine = fast::share(part, rows);
    for (int64_t row = mine.begin; row < mine.end; ++row) {
      const float* from = args.in(0) + row * columns;
      float* to = args.out(0) + row * columns;
      if (transposed) {
        const float by = scale[row % channels];
        for (int64_t c = 0; c < columns; ++c) to[c] = from[c] * by;
      } else {
        for (int64_t c = 0; c < columns; ++c) to[c] = from[c] * scale[c];
      }
    }
  }

  void write_bias(const KernelArgs& args, const float* scale) const {
    const float* bias = args.num_inputs > 5 ? args.in(5) : nullptr;
    for (int64_t c = 0; c < channels; ++c) {
      const float offset = (bias == nullptr ? 0.0f : bias[c]) - args.in(1)[c];
      args.out(1)[c] = offset * scale[c] + args.in(4)[c];
    }
  }
};

struct FoldScale {
  int64_t rows = 0;
  int64_t channels = 0;
  double factor = 1;
  double offset = 0;
  bool of_result = true;

  // The first part writes the bias.
  void run(const KernelArgs& args, Part part) const {
    if (part.index == 0) write_scaled_bias(args);
    const fast::Range mine = fast::share(part, rows);
    const auto by = static_cast<float>(factor);
    for (int64_t i = mine.begin * channels; i < mine.end * channels; ++i) {
      args.out(0)[i] = args.in(0)[i] * by;
    }
  }

  void write_scaled_bias(const KernelArgs& args) const {
    auto* sums = reinterpret_cast<double*>(args.scratch);
    std::fill_n(sums, channels, 0.0);
    for (int64_t row = 0; !of_result && row < rows; ++row) {
      const float* from = args.in(0) + row * channels;
      for (int64_t c = 0; c < channels; ++c) sums[c] += static_cast<double>(from[c]);
    }
    for (int64_t c = 0; c < channels; ++c) {
      const double bias = args.num_inputs > 1 ? static_cast<double>(args.in(1)[c]) : 0;
      args.out(1)[c] =
          static_cast<float>(of_result ? factor * bias + offset : bias + offset * sums[c]);
    }
  }
};

}  // namespace

KernelOffer fast_fold_batch_norm(const ir::Node& node) {
  const Shape& filter = node.input(0)->shape();
  const bool transposed = ops::int_attribute(node, "transposed") != 0;
  const Fold fold{.rows = filter.elements() / filter.back(),
                  .columns = filter.back(),
                  .channels = filter[filter.rank() - (transposed ? 2 : 1)],
                  .transposed = transposed,
                  .epsilon = static_cast<float>(ops::number_attribute(node, "epsilon"))};
  const auto run = [fold](const KernelArgs& args, const StepArgs& step) {
    fold.run(args, step.part);
  };
  return offer_function(
      "fast", run,
      {.splits = true, .scratch_bytes = static_cast<size_t>(fold.channels) * sizeof(float)});
}

KernelOffer fast_fold_scale(const ir::Node& node) {
  const Shape& filter = node.input(0)->shape();
  const FoldScale fold{.rows = filter.elements() / filter.back(),
                       .channels = filter.back(),
                       .factor = ops::number_attribute(node, "factor"),
                       .offset = ops::number_attribute(node, "offset"),
                       .of_result = ops::text_attribute(node, "of") == "result"};
  const auto run = [fold](const KernelArgs& args, const StepArgs& step) {
    fold.run(args, step.part);
  };
  return offer_function(
      "fast", run,
      {.splits = true, .scratch_bytes = static_cast<size_t>(fold.channels) * sizeof(double)});
}

}  // namespace pando::kernels
