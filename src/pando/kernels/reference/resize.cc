// Resizing, and moving channels into boxes of pixels.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/resize_rules.h"

namespace pando::kernels {

namespace {

// Calls visit(output pixel, input pixel, weight) for every input pixel that enters an output pixel
// of a sample.
template <typename Visit>
void for_each_source(const std::vector<ops::ResizeAxis>& axes, Visit visit) {
  int64_t pixels = 1;
  for (const ops::ResizeAxis& axis : axes) pixels *= static_cast<int64_t>(axis.sources.size());
  const auto corners = int64_t{1} << axes.size();
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (int64_t corner = 0; corner < corners; ++corner) {
      int64_t rest = pixel;
      int64_t from = 0;
      int64_t step = 1;
      double weight = 1;
      for (size_t i = axes.size(); i-- > 0;) {
        const auto extent = static_cast<int64_t>(axes[i].sources.size());
        const ops::ResizeSource& source = axes[i].sources[static_cast<size_t>(rest % extent)];
        const bool second = (corner >> i & 1) != 0;
        from += (second ? source.second : source.first) * step;
        weight *= second ? source.weight : 1 - source.weight;
        rest /= extent;
        step *= axes[i].input;
      }
      if (weight != 0) visit(pixel, from, weight);
    }
  }
}

KernelOffer resize_kernel(const ir::Node& node, bool gradient) {
  const auto axes = ops::resize_axes(node);
  const Shape& x = node.input(0)->shape();
  const int64_t batch = x[0];
  const int64_t channels = x.back();
  const int64_t source = x.elements_from(1);
  const int64_t result = node.output()->shape().elements_from(1);
  const auto run = [=](const KernelArgs& args, const StepArgs&) {
    auto* sums = reinterpret_cast<double*>(args.scratch);
    for (int64_t n = 0; n < batch; ++n) {
      std::fill_n(sums, result, 0.0);
      for_each_source(axes, [&](int64_t output, int64_t input, double weight) {
        const int64_t from = (gradient ? output : input) * channels;
        const int64_t to = (gradient ? input : output) * channels;
        for (int64_t c = 0; c < channels; ++c) {
          sums[to + c] += weight * static_cast<double>(args.in(0)[n * source + from + c]);
        }
      });
      for (int64_t i = 0; i < result; ++i) {
        args.out()[n * result + i] = static_cast<float>(sums[i]);
      }
    }
  };
  return offer_function("reference", run,
                        {.scratch_bytes = static_cast<size_t>(result) * sizeof(double)});
}

// The element of the smaller picture that is element `at` of the larger one.
int64_t depth_place(const Shape& large, int64_t block, bool crd, int64_t at) {
  const int64_t channels = large.back();
  const int64_t c = at % channels;
  const int64_t w = at / channels % large[2];
  const int64_t h = at / channels / large[2] % large[1];
  const int64_t n = at / channels / large[2] / large[1];
  const int64_t box = h % block * block + w % block;
  const int64_t channel = crd ? c * block * block + box : box * channels + c;
  const int64_t pixel = (n * (large[1] / block) + h / block) * (large[2] / block) + w / block;
  return pixel * channels * block * block + channel;
}

KernelOffer box_kernel(const ir::Node& node, bool to_space) {
  const Shape large = (to_space ? node.output() : node.input(0))->shape();
  const int64_t block = ops::int_attribute(node, "block");
  const bool crd = ops::text_attribute(node, "mode") == "CRD";
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < large.elements(); ++i) {
      const int64_t depth = depth_place(large, block, crd, i);
      args.out()[to_space ? i : depth] = args.in(0)[to_space ? depth : i];
    }
  });
}

}  // namespace

KernelOffer reference_resize(const ir::Node& node) { return resize_kernel(node, false); }
KernelOffer reference_resize_grad(const ir::Node& node) { return resize_kernel(node, true); }
KernelOffer reference_depth_to_space(const ir::Node& node) { return box_kernel(node, true); }
KernelOffer reference_space_to_depth(const ir::Node& node) { return box_kernel(node, false); }

}  // namespace pando::kernels
