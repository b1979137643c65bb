// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/kernels/reference/window_loops.h"

namespace pando::kernels {

void convolve_sample(const ConvGeometry& g, const ConvSample& sample,
                     const NodeActivation& activation) {
  const TapWalk walk(g);
  const int64_t group_in = g.in_channels / g.groups;
  const int64_t group_out = g.out_channels / g.groups;
  for (int64_t out_pixel = 0; out_pixel < g.out_pixels(); ++out_pixel) {
    for (int64_t o = 0; o < g.out_channels; ++o) {
      const int64_t at = out_pixel * g.out_channels + o;
      double sum = sample.bias != nullptr ? sample.bias[o] : 0;
      if (sample.residual != nullptr) sum += static_cast<double>(sample.residual[at]);
      for_each_tap(walk, out_pixel, [&](int64_t tap, int64_t pixel) {
        const float* x = sample.x + pixel * g.in_channels + o / group_out * group_in;
        const float* filter = sample.filter + tap * group_in * g.out_channels + o;
        for (int64_t i = 0; i < group_in; ++i) {
          sum += static_cast<double>(x[i]) * static_cast<double>(filter[i * g.out_channels]);
        }
      });
      sample.y[at] = activation(static_cast<float>(sum));
    }
  }
}

KernelOffer reference_conv(const ir::Node& node) {
  const ConvGeometry g = conv_geometry(node);
  const NodeActivation activation = node_activation(node);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t n = 0; n < g.batch; ++n) {
      const int64_t at = n * g.out_pixels() * g.out_channels;
      convolve_sample(g,
                      {.x = args.in(0) + n * g.in_pixels() * g.in_channels,
                       .filter = args.in(1),
                       .bias = args.num_inputs > 2 ? args.in(2) : nullptr,
                       .residual = args.num_inputs > 3 ? args.in(3) + at : nullptr,
                       .y = args.out() + at},
                      activation);
    }
  });
}

KernelOffer reference_conv_pool(const ir::Node& node) {
  const ConvGeometry g = conv_geometry(node);
  const PoolNodeGeometry pool = pool_geometry(node);
  const NodeActivation activation = node_activation(node);
  const auto scratch = static_cast<size_t>(g.out_pixels() * g.out_channels) * sizeof(float);
  return offer_function("reference",
                        [=](const KernelArgs& args, const StepArgs&) {
                          auto* conv = reinterpret_cast<float*>(args.scratch);
                          for (int64_t n = 0; n < g.batch; ++n) {
                            convolve_sample(g,
                                            {.x = args.in(0) + n * g.in_pixels() * g.in_channels,
                                             .filter = args.in(1),
                                             .bias = args.num_inputs > 2 ? args.in(2) : nullptr,
                                             .y = conv},
                                            activation);
                            const int64_t at = n * pool.out_pixels() * pool.channels;
                            max_pool_sample(pool, conv, args.out(0) + at,
                                            args.out_as<uint8_t>(1) + at);
                          }
                        },
                        {.scratch_bytes = scratch});
}

KernelOffer reference_conv_input_grad(const ir::Node& node) {
  const ConvGeometry g = conv_geometry(node);
  const int64_t size = g.in_pixels() * g.in_channels;
  const NodeActivation activation = node_activation(node);
  return offer_function("reference",
                        [=](const KernelArgs& args, const StepArgs&) {
                          auto* sums = reinterpret_cast<double*>(args.scratch);
                          for (int64_t n = 0; n < g.batch; ++n) {
                            const float* dy = args.in(0) + n * g.out_pixels() * g.out_channels;
                            std::fill(sums, sums + size, 0.0);
                            for_each_product(g, [&](int64_t x, int64_t filter, int64_t y) {
                              sums[x] += static_cast<double>(dy[y]) *
                                         static_cast<double>(args.in(1)[filter]);
                            });
                            for (int64_t i = 0; i < size; ++i) {
                              if (args.num_inputs > 2) sums[i] += args.in(2)[i % g.in_channels];
                              args.out()[n * size + i] = activation(static_cast<float>(sums[i]));
                            }
                          }
                        },
                        {.scratch_bytes = static_cast<size_t>(size) * sizeof(double)});
}

KernelOffer reference_conv_filter_grad(const ir::Node& node) {
  const ConvGeometry g = conv_geometry(node);
  const int64_t size = node.output()->shape().elements();
  const bool bias = node.num_outputs() == 2;
  return offer_function(
      "reference",
      [=](const KernelArgs& args, const StepArgs&) {
        auto* sums = reinterpret_cast<double*>(args.scratch);
        double* bias_sums = sums + size;
        std::fill(sums, bias_sums + g.out_channels, 0.0);
        for (int64_t n = 0; n < g.batch; ++n) {
          const float* x = args.in(0) + n * g.in_pixels() * g.in_channels;
          const float* dy = args.in(1) + n * g.out_pixels() * g.out_channels;
          for_each_product(g, [&](int64_t input, int64_t filter, int64_t y) {
            sums[filter] += static_cast<double>(x[input]) * static_cast<double>(dy[y]);
          });
          for (int64_t i = 0; i < g.out_pixels() * g.out_channels; ++i) {
            bias_sums[i % g.out_channels] += static_cast<double>(dy[i]);
          }
        }
        for (int64_t i = 0; i < size; ++i) args.out(0)[i] = static_cast<float>(sums[i]);
        if (!bias) return;
        for (int64_t o = 0; o < g.out_channels; ++o) {
          args.out(1)[o] = static_cast<float>(bias_sums[o]);
        }
      },
      {.scratch_bytes = static_cast<size_t>(size + g.out_channels) * sizeof(double)});
}

}  // namespace pando::kernels
