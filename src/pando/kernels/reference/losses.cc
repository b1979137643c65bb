// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/loss_args.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

struct CrossEntropy {
  int64_t batch;
  int64_t classes;
  int64_t pixels;  // of a sample; below, n is the number of a pixel of the batch
  bool sparse;
  bool from_logits;
  double smoothing;
  double gamma;
  double factor;  // alpha

  CrossEntropy(const ir::Node& node, int first)
      : batch(node.input(first)->shape()[0]),
        classes(node.input(first)->shape().back()),
        pixels(node.input(first)->shape().elements_from(1) / classes),
        sparse(node.input(first + 1)->type().dtype == DType::i32),
        from_logits(ops::int_attribute(node, "from_logits") == 1),
        smoothing(ops::number_attribute(node, "label_smoothing")),
        gamma(ops::number_attribute(node, "gamma")),
        factor(ops::number_attribute(node, "alpha") < 0 ? 1
                                                        : ops::number_attribute(node, "alpha")) {}

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

  // The number of pixels of a sample that have a label.
  int64_t count(const LossArgs& loss, int64_t sample) const {
    int64_t labels = 0;
    for (int64_t n = sample * pixels; n < (sample + 1) * pixels; ++n) labels += labelled(loss, n);
    return labels;
  }

  double log_probability(float x, double normalizer) const {
    if (from_logits) return static_cast<double>(x) - normalizer;
    return std::log(static_cast<double>(std::clamp(x, kProbabilityClip, 1 - kProbabilityClip)));
  }

  double value(const LossArgs& loss, int64_t n) const {
    const float* x = loss.predictions(n * classes);
    const double normalizer = from_logits ? log_sum(x) : 0;
    double sum = 0;
    for (int64_t k = 0; k < classes; ++k) {
      const double log_p = log_probability(x[k], normalizer);
      sum -= target(loss, n, k) * std::pow(-std::expm1(log_p), gamma) * log_p;
    }
    return sum * factor;
  }

  // p times the derivative of value() with respect to the probability p of class k.
  double slope(const LossArgs& loss, int64_t n, int64_t k, double log_p) const {
    const double rest = -std::expm1(log_p);  // 1 - p
    const double focal =
        gamma == 0 || rest == 0 ? 0 : gamma * std::pow(rest, gamma - 1) * std::exp(log_p) * log_p;
    return factor * target(loss, n, k) * (focal - std::pow(rest, gamma));
  }

  // Writes scale times the derivative of value() with respect to each prediction of pixel n; one
  // function for logits, one for probabilities.
  void logit_gradient(const LossArgs& loss, int64_t n, double scale, float* dx) const {
    const float* x = loss.predictions(n * classes);
    const double normalizer = log_sum(x);
    double slopes = 0;
    for (int64_t k = 0; k < classes; ++k) {
      slopes += slope(loss, n, k, log_probability(x[k], normalizer));
    }
    for (int64_t k = 0; k < classes; ++k) {
      const double log_p = log_probability(x[k], normalizer);
      dx[k] = static_cast<float>(scale * (slope(loss, n, k, log_p) - std::exp(log_p) * slopes));
    }
  }
  void probability_gradient(const LossArgs& loss, int64_t n, double scale, float* dp) const {
    const float* p = loss.predictions(n * classes);
    for (int64_t k = 0; k < classes; ++k) {
      const bool clipped = p[k] < kProbabilityClip || p[k] > 1 - kProbabilityClip;
      const double slope_p = slope(loss, n, k, log_probability(p[k], 0));
      dp[k] = clipped ? 0 : static_cast<float>(scale * slope_p / static_cast<double>(p[k]));
    }
  }
};

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
    for (int64_t sample = 0; sample < entropy.batch; ++sample) {
      double sum = 0;
      for (int64_t n = sample * entropy.pixels; n < (sample + 1) * entropy.pixels; ++n) {
        if (entropy.labelled(loss, n)) sum += entropy.value(loss, n);
      }
      const auto count = static_cast<double>(std::max<int64_t>(entropy.count(loss, sample), 1));
      args.out()[sample] = static_cast<float>(loss.weight(sample) * sum / count);
    }
  });
}

KernelOffer reference_cross_entropy_grad(const ir::Node& node) {
  const CrossEntropy entropy(node, 1);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const LossArgs loss{args, 1};
    for (int64_t n = 0; n < entropy.batch * entropy.pixels; ++n) {
      float* dx = args.out() + n * entropy.classes;
      const int64_t sample = n / entropy.pixels;
      if (!entropy.labelled(loss, n)) {
        std::fill(dx, dx + entropy.classes, 0.0f);
        continue;
      }
      const double scale = static_cast<double>(args.in(0)[sample]) * loss.weight(sample) /
                           static_cast<double>(entropy.count(loss, sample));
      if (entropy.from_logits) {
        entropy.logit_gradient(loss, n, scale, dx);
      } else {
        entropy.probability_gradient(loss, n, scale, dx);
      }
    }
  });
}

KernelOffer reference_top_k_accuracy(const ir::Node& node) {
  const int64_t batch = node.input(0)->shape()[0];
  const int64_t classes = node.input(0)->shape().back();
  const int64_t pixels = node.input(0)->shape().elements_from(1) / classes;
  const int64_t k = ops::int_attribute(node, "k");
  const bool sparse = node.input(1)->type().dtype == DType::i32;
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t sample = 0; sample < batch; ++sample) {
      int64_t hits = 0;
      int64_t labels = 0;
      for (int64_t n = sample * pixels; n < (sample + 1) * pixels; ++n) {
        const int64_t label = label_of(args, sparse, n, classes);
        labels += label >= 0 && label < classes ? 1 : 0;
        hits += is_hit(args.in(0) + n * classes, classes, label, k) ? 1 : 0;
      }
      args.out()[sample] =
          static_cast<float>(hits) / static_cast<float>(std::max<int64_t>(labels, 1));
    }
  });
}

}  // namespace pando::kernels
