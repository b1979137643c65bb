// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

struct Groups {
  int64_t batch = 0;
  int64_t pixels = 0;
  int64_t channels = 0;
  int64_t groups = 0;
  bool strided = false;

  Groups(const ir::Node& node, const Shape& x)
      : batch(x[0]),
        pixels(x.elements_from(1) / x.back()),
        channels(x.back()),
        groups(ops::int_attribute(node, "groups")),
        strided(ops::int_attribute(node, "strided") == 1) {}

  int64_t group_of(int64_t channel) const {
    return strided ? channel % groups : channel / (channels / groups);
  }
  // Values per sample and group.
  double count() const { return static_cast<double>(pixels * channels / groups); }

  // Calls visit(element, channel) for every element of one sample's group.
  template <typename Visit>
  void for_each(int64_t sample, int64_t group, Visit visit) const {
    for (int64_t i = sample * pixels * channels; i < (sample + 1) * pixels * channels; ++i) {
      if (group_of(i % channels) == group) visit(i, i % channels);
    }
  }
};

}  // namespace

KernelOffer reference_group_norm(const ir::Node& node) {
  const Groups g(node, node.input(0)->shape());
  const double epsilon = ops::number_attribute(node, "epsilon");
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const float* x = args.in(0);
    for (int64_t at = 0; at < g.batch * g.groups; ++at) {
      const int64_t n = at / g.groups;
      double sum = 0;
      double squares = 0;
      g.for_each(n, at % g.groups, [&](int64_t i, int64_t) { sum += static_cast<double>(x[i]); });
      const double mean = sum / g.count();
      g.for_each(n, at % g.groups, [&](int64_t i, int64_t) {
        squares += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
      });
      const double inv_std = 1 / std::sqrt(squares / g.count() + epsilon);
      g.for_each(n, at % g.groups, [&](int64_t i, int64_t c) {
        args.out(0)[i] = static_cast<float>(static_cast<double>(args.in(1)[c]) *
                                                (static_cast<double>(x[i]) - mean) * inv_std +
                                            static_cast<double>(args.in(2)[c]));
      });
      args.out(1)[at] = static_cast<float>(mean);
      args.out(2)[at] = static_cast<float>(inv_std);
    }
  });
}

KernelOffer reference_group_norm_sums(const ir::Node& node) {
  const Groups g(node, node.input(1)->shape());
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs& step) {
    for (int64_t c = 0; c < g.channels; ++c) {
      double dbeta = 0;
      double dgamma = 0;
      for (int64_t row = 0; row < step.valid * g.pixels; ++row) {
        const int64_t at = row / g.pixels * g.groups + g.group_of(c);
        const double dy = args.in(0)[row * g.channels + c];
        const double away = static_cast<double>(args.in(1)[row * g.channels + c]) -
                            static_cast<double>(args.in(2)[at]);
        dbeta += dy;
        dgamma += dy * away * static_cast<double>(args.in(3)[at]);
      }
      args.out(0)[c] = static_cast<float>(dbeta);
      args.out(1)[c] = static_cast<float>(dgamma);
    }
  });
}

KernelOffer reference_group_norm_input_grad(const ir::Node& node) {
  const Groups g(node, node.input(1)->shape());
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t at = 0; at < g.batch * g.groups; ++at) {
      const double mean = args.in(2)[at];
      const double inv_std = args.in(3)[at];
      const auto scaled = [&](int64_t i, int64_t c) {  // the gradient of the normalised x
        return static_cast<double>(args.in(0)[i]) * static_cast<double>(args.in(4)[c]);
      };
      const auto normal = [&](int64_t i) {
        return (static_cast<double>(args.in(1)[i]) - mean) * inv_std;
      };
      double sum = 0;
      double products = 0;
      g.for_each(at / g.groups, at % g.groups, [&](int64_t i, int64_t c) {
        sum += scaled(i, c);
        products += scaled(i, c) * normal(i);
      });
      g.for_each(at / g.groups, at % g.groups, [&](int64_t i, int64_t c) {
        args.out()[i] = static_cast<float>(
            inv_std * (scaled(i, c) - sum / g.count() - normal(i) * products / g.count()));
      });
    }
  });
}

}  // namespace pando::kernels
