// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/kernels/reference/window_loops.h"

namespace pando::kernels {

namespace {

// The gradient of the convolution's result for sample n. make() computes it in scratch memory from
// the gradient of the pooled result (input `first`) and the indices (input `first` + 1).
struct PooledGradient {
  explicit PooledGradient(const ir::Node& node, int first_input)
      : conv(conv_geometry(node)),
        pool(pool_geometry(node)),
        activation(node_activation(node)),
        first(first_input) {}

  int64_t size() const { return conv.out_pixels() * conv.out_channels; }
  void make(const KernelArgs& args, int64_t n, float* dy) const {
    const int64_t at = n * pool.out_pixels() * pool.channels;
    max_pool_grad_sample(pool,
                         {.dy = args.in(first) + at,
                          .index = args.in_as<uint8_t>(first + 1) + at,
                          .y = args.num_inputs > 3 ? args.in(3) + at : nullptr,
                          .dx = dy},
                         activation);
  }

  ConvGeometry conv;
  PoolNodeGeometry pool;
  NodeActivation activation;
  int first;
};

}  // namespace

KernelOffer reference_conv_pool_input_grad(const ir::Node& node) {
  const PooledGradient gradient(node, 0);
  const int64_t size = gradient.conv.in_pixels() * gradient.conv.in_channels;
  return offer_function(
      "reference",
      [=](const KernelArgs& args, const StepArgs&) {
        auto* sums = reinterpret_cast<double*>(args.scratch);
        auto* dy = reinterpret_cast<float*>(sums + size);
        for (int64_t n = 0; n < gradient.conv.batch; ++n) {
          gradient.make(args, n, dy);
          std::fill(sums, sums + size, 0.0);
          for_each_product(gradient.conv, [&](int64_t x, int64_t filter, int64_t y) {
            sums[x] += static_cast<double>(dy[y]) * static_cast<double>(args.in(2)[filter]);
          });
          for (int64_t i = 0; i < size; ++i) args.out()[n * size + i] = static_cast<float>(sums[i]);
        }
      },
      {.scratch_bytes = static_cast<size_t>(size) * sizeof(double) +
                        static_cast<size_t>(gradient.size()) * sizeof(float)});
}

KernelOffer reference_conv_pool_filter_grad(const ir::Node& node) {
  const PooledGradient gradient(node, 1);
  const ConvGeometry& g = gradient.conv;
  const int64_t size = node.output()->shape().elements();
  const int64_t sums_size = size + g.out_channels;
  const bool bias = node.num_outputs() == 2;
  return offer_function(
      "reference",
      [=](const KernelArgs& args, const StepArgs&) {
        const int64_t channels = gradient.conv.out_channels;
        auto* sums = reinterpret_cast<double*>(args.scratch);
        auto* dy = reinterpret_cast<float*>(sums + sums_size);
        std::fill(sums, sums + sums_size, 0.0);
        for (int64_t n = 0; n < gradient.conv.batch; ++n) {
          const float* x = args.in(0) + n * gradient.conv.in_pixels() * gradient.conv.in_channels;
          gradient.make(args, n, dy);
          for_each_product(gradient.conv, [&](int64_t input, int64_t filter, int64_t y) {
            sums[filter] += static_cast<double>(x[input]) * static_cast<double>(dy[y]);
          });
          for (int64_t i = 0; i < gradient.size(); ++i) {
            sums[size + i % channels] += static_cast<double>(dy[i]);
          }
        }
        for (int64_t i = 0; i < size; ++i) args.out(0)[i] = static_cast<float>(sums[i]);
        for (int64_t o = 0; bias && o < channels; ++o) {
          args.out(1)[o] = static_cast<float>(sums[size + o]);
        }
      },
      {.scratch_bytes = static_cast<size_t>(sums_size) * sizeof(double) +
                        static_cast<size_t>(gradient.size()) * sizeof(float)});
}

}  // namespace pando::kernels
