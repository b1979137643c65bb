// Scales the filter of a convolution or dense layer, so that it computes the batch normalisation
// that follows it.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

struct Fold {
  int64_t rows = 0;
  int64_t channels = 0;
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
      const float* from = args.in(0) + row * channels;
      float* to = args.out(0) + row * channels;
      for (int64_t c = 0; c < channels; ++c) to[c] = from[c] * scale[c];
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

}  // namespace

KernelOffer fast_fold_batch_norm(const ir::Node& node) {
  const Shape& filter = node.input(0)->shape();
  const Fold fold{.rows = filter.elements() / filter.back(),
                  .channels = filter.back(),
                  .epsilon = static_cast<float>(ops::number_attribute(node, "epsilon"))};
  const auto run = [fold](const KernelArgs& args, const StepArgs& step) {
    fold.run(args, step.part);
  };
  return offer_function(
      "fast", run,
      {.splits = true, .scratch_bytes = static_cast<size_t>(fold.channels) * sizeof(float)});
}

}  // namespace pando::kernels
