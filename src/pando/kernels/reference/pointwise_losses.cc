// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/loss_args.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

// The mean of value(prediction, target).
template <typename Value>
KernelOffer pointwise_loss(const ir::Node& node, Value value) {
  const int64_t batch = node.input(0)->shape()[0];
  const int64_t size = node.input(0)->shape().elements_from(1);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const LossArgs loss{args, 0};
    for (int64_t n = 0; n < batch; ++n) {
      double sum = 0;
      for (int64_t i = n * size; i < (n + 1) * size; ++i) {
        sum += value(static_cast<double>(args.in(0)[i]), static_cast<double>(args.in(1)[i]));
      }
      args.out()[n] = static_cast<float>(loss.weight(n) * sum / static_cast<double>(size));
    }
  });
}

// slope(prediction, target) is the derivative of the value.
template <typename Slope>
KernelOffer pointwise_loss_grad(const ir::Node& node, Slope slope) {
  const int64_t batch = node.input(1)->shape()[0];
  const int64_t size = node.input(1)->shape().elements_from(1);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const LossArgs loss{args, 1};
    for (int64_t i = 0; i < batch * size; ++i) {
      const double scale = static_cast<double>(args.in(0)[i / size]) * loss.weight(i / size);
      const double derivative =
          slope(static_cast<double>(args.in(1)[i]), static_cast<double>(args.in(2)[i]));
      args.out()[i] = static_cast<float>(scale * derivative / static_cast<double>(size));
    }
  });
}

struct BinaryEntropy {
  explicit BinaryEntropy(const ir::Node& node)
      : from_logits(ops::int_attribute(node, "from_logits") == 1),
        smoothing(ops::number_attribute(node, "label_smoothing")),
        gamma(ops::number_attribute(node, "gamma")),
        alpha(ops::number_attribute(node, "alpha")) {}
  bool from_logits;
  double smoothing;
  double gamma;
  double alpha;

  // What the loss and its derivative are made of.
  struct Terms {
    double y;  // the smoothed label
    double p;  // the probability, and the rest to 1
    double rest;
    double entropy;
    double away;  // y (1 - p) + (1 - y) p
    double weight;
  };
  Terms terms(double prediction, double label) const {
    Terms t{};
    t.y = label * (1 - smoothing) + smoothing / 2;
    if (from_logits) {
      const double e = std::exp(-std::abs(prediction));
      t.p = (prediction < 0 ? e : 1) / (1 + e);
      t.rest = (prediction < 0 ? 1 : e) / (1 + e);
      t.entropy = std::max(prediction, 0.0) - t.y * prediction + std::log1p(e);
    } else {
      const double clip = kProbabilityClip;
      t.p = std::clamp(prediction, clip, static_cast<double>(1 - kProbabilityClip));
      t.rest = 1 - t.p;
      t.entropy = -(t.y * std::log(t.p) + (1 - t.y) * std::log(t.rest));
    }
    t.away = t.y * t.rest + (1 - t.y) * t.p;
    t.weight = alpha < 0 ? 1 : t.y * alpha + (1 - t.y) * (1 - alpha);
    return t;
  }
  double value(double prediction, double label) const {
    const Terms t = terms(prediction, label);
    return t.weight * std::pow(t.away, gamma) * t.entropy;
  }
  double slope(double prediction, double label) const {
    const Terms t = terms(prediction, label);
    if (!from_logits && t.p != prediction) return 0;
    const double steep = from_logits ? t.p * t.rest : 1;  // of p
    const double focal = gamma == 0 || t.away == 0 ? 0
                                                   : gamma * std::pow(t.away, gamma - 1) *
                                                         (1 - 2 * t.y) * steep * t.entropy;
    const double plain = (t.p * (1 - t.y) - t.rest * t.y) / (t.p * t.rest) * steep;
    return t.weight * (focal + std::pow(t.away, gamma) * (t.p * t.rest == 0 ? t.p - t.y : plain));
  }
};

struct DiceSums {
  double both = 0;  // 2 sum(p y) + smooth
  double all = 0;   // sum(p) + sum(y) + smooth
  DiceSums(const float* p, const float* y, int64_t size, double smooth)
      : both(smooth), all(smooth) {
    for (int64_t i = 0; i < size; ++i) {
      both += 2 * static_cast<double>(p[i]) * static_cast<double>(y[i]);
      all += static_cast<double>(p[i]) + static_cast<double>(y[i]);
    }
  }
};

}  // namespace

KernelOffer reference_mean_squared_error(const ir::Node& node) {
  return pointwise_loss(node, [](double p, double y) { return (p - y) * (p - y); });
}
KernelOffer reference_mean_squared_error_grad(const ir::Node& node) {
  return pointwise_loss_grad(node, [](double p, double y) { return 2 * (p - y); });
}

KernelOffer reference_mean_absolute_error(const ir::Node& node) {
  return pointwise_loss(node, [](double p, double y) { return std::abs(p - y); });
}
KernelOffer reference_mean_absolute_error_grad(const ir::Node& node) {
  return pointwise_loss_grad(node, [](double p, double y) {
    return p > y ? 1.0 : p < y ? -1.0 : 0.0;
  });
}

KernelOffer reference_huber(const ir::Node& node) {
  const double delta = ops::number_attribute(node, "delta");
  return pointwise_loss(node, [=](double p, double y) {
    const double away = std::abs(p - y);
    return away <= delta ? away * away / 2 : delta * (away - delta / 2);
  });
}
KernelOffer reference_huber_grad(const ir::Node& node) {
  const double delta = ops::number_attribute(node, "delta");
  return pointwise_loss_grad(node,
                             [=](double p, double y) { return std::clamp(p - y, -delta, delta); });
}

KernelOffer reference_binary_cross_entropy(const ir::Node& node) {
  return pointwise_loss(
      node, [entropy = BinaryEntropy(node)](double p, double y) { return entropy.value(p, y); });
}
KernelOffer reference_binary_cross_entropy_grad(const ir::Node& node) {
  return pointwise_loss_grad(
      node, [entropy = BinaryEntropy(node)](double p, double y) { return entropy.slope(p, y); });
}

KernelOffer reference_dice(const ir::Node& node) {
  const int64_t batch = node.input(0)->shape()[0];
  const int64_t size = node.input(0)->shape().elements_from(1);
  const double smooth = ops::number_attribute(node, "smooth");
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const LossArgs loss{args, 0};
    for (int64_t n = 0; n < batch; ++n) {
      const DiceSums sums(args.in(0) + n * size, args.in(1) + n * size, size, smooth);
      args.out()[n] = static_cast<float>(loss.weight(n) * (1 - sums.both / sums.all));
    }
  });
}
KernelOffer reference_dice_grad(const ir::Node& node) {
  const int64_t batch = node.input(1)->shape()[0];
  const int64_t size = node.input(1)->shape().elements_from(1);
  const double smooth = ops::number_attribute(node, "smooth");
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const LossArgs loss{args, 1};
    for (int64_t n = 0; n < batch; ++n) {
      const DiceSums sums(args.in(1) + n * size, args.in(2) + n * size, size, smooth);
      const double scale = static_cast<double>(args.in(0)[n]) * loss.weight(n);
      for (int64_t i = n * size; i < (n + 1) * size; ++i) {
        const double slope =
            sums.both / (sums.all * sums.all) - 2 * static_cast<double>(args.in(2)[i]) / sums.all;
        args.out()[i] = static_cast<float>(scale * slope);
      }
    }
  });
}

}  // namespace pando::kernels
