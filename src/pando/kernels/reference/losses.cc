// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

// Probabilities are clipped to [kClip, 1 - kClip].
constexpr float kClip = 1e-7f;

// The inputs of a loss: predictions at index `first`, then labels, then optional weights.
struct LossArgs {
  const KernelArgs& args;
  int first;

  const float* predictions(int64_t offset) const { return args.in(first) + offset; }
  double weight(int64_t sample) const {
    return args.num_inputs > first + 2 ? static_cast<double>(args.in(first + 2)[sample]) : 1.0;
  }
};

struct CrossEntropy {
  int64_t batch;
  int64_t classes;
  bool sparse;
  bool from_logits;
  double smoothing;

  CrossEntropy(const ir::Node& node, int first)
      : batch(node.input(first)->shape()[0]),
        classes(node.input(first)->shape()[1]),
        sparse(node.input(first + 1)->type().dtype == DType::i32),
        from_logits(ops::int_attribute(node, "from_logits") == 1),
        smoothing(ops::number_attribute(node, "label_smoothing")) {}

  // A class number outside [0, classes) marks a sample without a label.
  bool labelled(const LossArgs& loss, int64_t n) const {
    if (!sparse) return true;
    const int32_t label = loss.args.in_as<int32_t>(loss.first + 1)[n];
    return label >= 0 && label < classes;
  }

  // The smoothed probability that sample n is of class k.
  double target(const LossArgs& loss, int64_t n, int64_t k) const {
    const double given = sparse
                             ? (loss.args.in_as<int32_t>(loss.first + 1)[n] == k ? 1.0 : 0.0)
                             : static_cast<double>(loss.args.in(loss.first + 1)[n * classes + k]);
    return given * (1 - smoothing) + smoothing / static_cast<double>(classes);
  }

  // log of the sum of exp(x).
  double log_sum(const float* x) const {
    const double largest = *std::max_element(x, x + classes);
    double sum = 0;
    for (int64_t k = 0; k < classes; ++k) sum += std::exp(static_cast<double>(x[k]) - largest);
    return largest + std::log(sum);
  }

  double value(const LossArgs& loss, int64_t n) const {
    const float* x = loss.predictions(n * classes);
    const double normalizer = from_logits ? log_sum(x) : 0;
    double sum = 0;
    for (int64_t k = 0; k < classes; ++k) {
      const double log_p = from_logits
                               ? static_cast<double>(x[k]) - normalizer
                               : std::log(static_cast<double>(std::clamp(x[k], kClip, 1 - kClip)));
      sum -= target(loss, n, k) * log_p;
    }
    return sum;
  }

  // Writes scale times the derivative of value() with respect to each prediction of sample n; one
  // function for logits, one for probabilities.
  void logit_gradient(const LossArgs& loss, int64_t n, double scale, float* dx) const {
    const float* x = loss.predictions(n * classes);
    const double normalizer = log_sum(x);
    double targets = 0;
    for (int64_t k = 0; k < classes; ++k) targets += target(loss, n, k);
    for (int64_t k = 0; k < classes; ++k) {
      const double p = std::exp(static_cast<double>(x[k]) - normalizer);
      dx[k] = static_cast<float>(scale * (p * targets - target(loss, n, k)));
    }
  }
  void probability_gradient(const LossArgs& loss, int64_t n, double scale, float* dp) const {
    const float* p = loss.predictions(n * classes);
    for (int64_t k = 0; k < classes; ++k) {
      const bool clipped = p[k] < kClip || p[k] > 1 - kClip;
      dp[k] =
          clipped ? 0 : static_cast<float>(-scale * target(loss, n, k) / static_cast<double>(p[k]));
    }
  }
};

// Shared by the regression losses: the mean of value(prediction - target), and its derivative.
template <typename Value>
KernelOffer regression_loss(const ir::Node& node, Value value) {
  const int64_t batch = node.input(0)->shape()[0];
  const int64_t size = node.input(0)->shape().elements_from(1);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const LossArgs loss{args, 0};
    for (int64_t n = 0; n < batch; ++n) {
      double sum = 0;
      for (int64_t i = n * size; i < (n + 1) * size; ++i) {
        sum += value(static_cast<double>(args.in(0)[i]) - static_cast<double>(args.in(1)[i]));
      }
      args.out()[n] = static_cast<float>(loss.weight(n) * sum / static_cast<double>(size));
    }
  });
}

template <typename Derivative>
KernelOffer regression_loss_grad(const ir::Node& node, Derivative derivative) {
  const int64_t batch = node.input(1)->shape()[0];
  const int64_t size = node.input(1)->shape().elements_from(1);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const LossArgs loss{args, 1};
    for (int64_t i = 0; i < batch * size; ++i) {
      const double scale = static_cast<double>(args.in(0)[i / size]) * loss.weight(i / size);
      const double away = static_cast<double>(args.in(1)[i]) - static_cast<double>(args.in(2)[i]);
      args.out()[i] = static_cast<float>(scale * derivative(away) / static_cast<double>(size));
    }
  });
}

// The label of a sample: a class number, or the first maximum of a distribution.
int64_t label_of(const KernelArgs& args, bool sparse, int64_t n, int64_t classes) {
  if (sparse) return args.in_as<int32_t>(1)[n];
  const float* row = args.in(1) + n * classes;
  return std::max_element(row, row + classes) - row;
}

bool is_hit(const float* x, int64_t classes, int64_t label, int64_t k) {
  if (label < 0 || label >= classes) return false;
  if (std::any_of(x, x + classes, [](float value) { return std::isnan(value); })) return false;
  if (k == 1) return std::max_element(x, x + classes) - x == label;
  return std::count_if(x, x + classes, [&](float value) { return value > x[label]; }) < k;
}

}  // namespace

KernelOffer reference_cross_entropy(const ir::Node& node) {
  const CrossEntropy entropy(node, 0);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const LossArgs loss{args, 0};
    for (int64_t n = 0; n < entropy.batch; ++n) {
      args.out()[n] = entropy.labelled(loss, n)
                          ? static_cast<float>(loss.weight(n) * entropy.value(loss, n))
                          : 0;
    }
  });
}

KernelOffer reference_cross_entropy_grad(const ir::Node& node) {
  const CrossEntropy entropy(node, 1);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const LossArgs loss{args, 1};
    for (int64_t n = 0; n < entropy.batch; ++n) {
      float* dx = args.out() + n * entropy.classes;
      const double scale = static_cast<double>(args.in(0)[n]) * loss.weight(n);
      if (!entropy.labelled(loss, n)) {
        std::fill(dx, dx + entropy.classes, 0.0f);
      } else if (entropy.from_logits) {
        entropy.logit_gradient(loss, n, scale, dx);
      } else {
        entropy.probability_gradient(loss, n, scale, dx);
      }
    }
  });
}

KernelOffer reference_mean_squared_error(const ir::Node& node) {
  return regression_loss(node, [](double away) { return away * away; });
}

KernelOffer reference_mean_squared_error_grad(const ir::Node& node) {
  return regression_loss_grad(node, [](double away) { return 2 * away; });
}

KernelOffer reference_mean_absolute_error(const ir::Node& node) {
  return regression_loss(node, [](double away) { return std::abs(away); });
}

KernelOffer reference_mean_absolute_error_grad(const ir::Node& node) {
  return regression_loss_grad(node, [](double away) {
    return away > 0 ? 1.0 : away < 0 ? -1.0 : 0.0;
  });
}

KernelOffer reference_top_k_accuracy(const ir::Node& node) {
  const int64_t batch = node.input(0)->shape()[0];
  const int64_t classes = node.input(0)->shape()[1];
  const int64_t k = ops::int_attribute(node, "k");
  const bool sparse = node.input(1)->type().dtype == DType::i32;
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t n = 0; n < batch; ++n) {
      const int64_t label = label_of(args, sparse, n, classes);
      args.out()[n] = is_hit(args.in(0) + n * classes, classes, label, k) ? 1 : 0;
    }
  });
}

}  // namespace pando::kernels
