// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/kernels/reference/window_loops.h"

namespace pando::kernels {

void max_pool_sample(const PoolNodeGeometry& g, const float* x, float* y, uint8_t* index) {
  const TapWalk walk(g);
  for (int64_t out_pixel = 0; out_pixel < g.out_pixels(); ++out_pixel) {
    for (int64_t c = 0; c < g.channels; ++c) {
      bool found = false;
      float best = 0;
      int64_t at = 0;
      for_each_tap(walk, out_pixel, [&](int64_t tap, int64_t pixel) {
        const float value = x[pixel * g.channels + c];
        const bool wins = value > best || (std::isnan(value) && !std::isnan(best));
        if (found && !wins) return;
        found = true;
        best = value;
        at = tap;
      });
      y[out_pixel * g.channels + c] = best;
      index[out_pixel * g.channels + c] = static_cast<uint8_t>(at);
    }
  }
}

KernelOffer reference_max_pool(const ir::Node& node) {
  const PoolNodeGeometry g = pool_geometry(node);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t n = 0; n < g.batch; ++n) {
      const int64_t at = n * g.out_pixels() * g.channels;
      max_pool_sample(g, args.in(0) + n * g.in_pixels() * g.channels, args.out(0) + at,
                      args.out_as<uint8_t>(1) + at);
    }
  });
}

void max_pool_grad_sample(const PoolNodeGeometry& g, const PoolGradSample& sample,
                          const NodeActivation& activation) {
  const TapWalk walk(g);
  std::fill(sample.dx, sample.dx + g.in_pixels() * g.channels, 0.0f);
  for (int64_t row = 0; row < g.out_pixels(); ++row) {
    for_each_tap(walk, row, [&](int64_t tap, int64_t pixel) {
      for (int64_t c = 0; c < g.channels; ++c) {
        const int64_t at = row * g.channels + c;
        if (sample.index[at] != tap) continue;
        const float slope = sample.y != nullptr ? activation.slope(sample.y[at]) : 1;
        sample.dx[pixel * g.channels + c] += slope * sample.dy[at];
      }
    });
  }
}

KernelOffer reference_max_pool_grad(const ir::Node& node) {
  const PoolNodeGeometry g = pool_geometry(node);
  const NodeActivation activation = node_activation(node);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t n = 0; n < g.batch; ++n) {
      const int64_t at = n * g.out_pixels() * g.channels;
      max_pool_grad_sample(g,
                           {.dy = args.in(0) + at,
                            .index = args.in_as<uint8_t>(1) + at,
                            .y = args.num_inputs > 2 ? args.in(2) + at : nullptr,
                            .dx = args.out() + n * g.in_pixels() * g.channels},
                           activation);
    }
  });
}

KernelOffer reference_avg_pool(const ir::Node& node) {
  const PoolNodeGeometry g = pool_geometry(node);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const TapWalk walk(g);
    for (int64_t row = 0; row < g.batch * g.out_pixels(); ++row) {
      const float* x = args.in(0) + row / g.out_pixels() * g.in_pixels() * g.channels;
      for (int64_t c = 0; c < g.channels; ++c) {
        double sum = 0;
        double count = 0;
        for_each_tap(walk, row % g.out_pixels(), [&](int64_t, int64_t pixel) {
          sum += static_cast<double>(x[pixel * g.channels + c]);
          count += 1;
        });
        args.out()[row * g.channels + c] = static_cast<float>(sum / count);
      }
    }
  });
}

KernelOffer reference_avg_pool_grad(const ir::Node& node) {
  const PoolNodeGeometry g = pool_geometry(node);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const TapWalk walk(g);
    std::fill(args.out(), args.out() + g.batch * g.in_pixels() * g.channels, 0.0f);
    for (int64_t row = 0; row < g.batch * g.out_pixels(); ++row) {
      float* dx = args.out() + row / g.out_pixels() * g.in_pixels() * g.channels;
      const float* dy = args.in(0) + row * g.channels;
      float count = 0;
      for_each_tap(walk, row % g.out_pixels(), [&](int64_t, int64_t) { count += 1; });
      for_each_tap(walk, row % g.out_pixels(), [&](int64_t, int64_t pixel) {
        for (int64_t c = 0; c < g.channels; ++c) dx[pixel * g.channels + c] += dy[c] / count;
      });
    }
  });
}

KernelOffer reference_global_max_pool(const ir::Node& node) {
  const Shape& x = node.input(0)->shape();
  const int64_t batch = x[0];
  const int64_t channels = x.back();
  const int64_t pixels = x.elements_from(1) / channels;
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < batch * channels; ++i) {
      const float* sample = args.in(0) + i / channels * pixels * channels + i % channels;
      int64_t at = 0;
      for (int64_t p = 1; p < pixels; ++p) {
        const float value = sample[p * channels];
        const float best = sample[at * channels];
        if (value > best || (std::isnan(value) && !std::isnan(best))) at = p;
      }
      args.out(0)[i] = sample[at * channels];
      args.out_as<int32_t>(1)[i] = static_cast<int32_t>(at);
    }
  });
}

KernelOffer reference_global_max_pool_grad(const ir::Node& node) {
  const Shape& dx = node.output()->shape();
  const int64_t count = dx.elements();
  const int64_t channels = dx.back();
  const int64_t pixels = dx.elements_from(1) / channels;
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t from = i / channels / pixels * channels + i % channels;
      const bool here = args.in_as<int32_t>(1)[from] == i / channels % pixels;
      args.out()[i] = here ? args.in(0)[from] : 0;
    }
  });
}

KernelOffer reference_global_avg_pool(const ir::Node& node) {
  const Shape& x = node.input(0)->shape();
  const int64_t batch = x[0];
  const int64_t channels = x.back();
  const int64_t pixels = x.elements_from(1) / channels;
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < batch * channels; ++i) {
      const float* sample = args.in(0) + i / channels * pixels * channels;
      double sum = 0;
      for (int64_t p = 0; p < pixels; ++p) {
        sum += static_cast<double>(sample[p * channels + i % channels]);
      }
      args.out()[i] = static_cast<float>(sum / static_cast<double>(pixels));
    }
  });
}

KernelOffer reference_global_avg_pool_grad(const ir::Node& node) {
  const Shape& dx = node.output()->shape();
  const int64_t count = dx.elements();
  const int64_t channels = dx.back();
  const int64_t pixels = dx.elements_from(1) / channels;
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t sample = i / channels / pixels;
      args.out()[i] = args.in(0)[sample * channels + i % channels] / static_cast<float>(pixels);
    }
  });
}

}  // namespace pando::kernels
