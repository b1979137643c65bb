// Cross-entropy per sample and its gradient, from logits or from probabilities.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/kernels/fast/class_rows.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

constexpr float kLeast = 1e-7f;  // probabilities are clipped to [kLeast, 1 - kLeast]
constexpr float kMost = 1.0f - 1e-7f;

// The constants of one node. `first` is the input that holds the predictions.
struct CrossEntropy {
  CrossEntropy(const ir::Node& node, int first_input)
      : first(first_input),
        batch(node.input(first_input)->shape().front()),
        classes(node.input(first_input)->shape().back()),
        pixels(node.input(first_input)->shape().elements_from(1) / std::max<int64_t>(classes, 1)),
        sparse(node.input(first_input + 1)->type().dtype == DType::i32),
        weighted(node.num_inputs() > first_input + 2),
        from_logits(ops::int_attribute(node, "from_logits") != 0),
        smoothing(static_cast<float>(ops::number_attribute(node, "label_smoothing"))),
        gamma(static_cast<float>(ops::number_attribute(node, "gamma"))) {
    const double alpha = ops::number_attribute(node, "alpha");
    factor = alpha < 0 ? 1.0f : static_cast<float>(alpha);
  }
  int first;
  int64_t batch;
  int64_t classes;
  int64_t pixels;  // of a sample
  bool sparse;
  bool weighted;
  bool from_logits;
  float smoothing;
  float gamma;
  float factor;  // alpha

  bool focal() const { return gamma != 0 || factor != 1; }
  float keep() const { return 1.0f - smoothing; }
  float floor() const { return smoothing / static_cast<float>(classes); }
};

// The target distribution of one pixel: a class, or one number per class.
struct Target {
  const float* row = nullptr;
  int64_t label = 0;
  bool counts = true;  // false: the pixel has no label
};

// `n` is the number of the pixel in the batch.
Target target_of(const CrossEntropy& ce, const KernelArgs& args, int64_t n) {
  Target target;
  if (ce.sparse) {
    target.label = args.in_as<int32_t>(ce.first + 1)[n];
    target.counts = target.label >= 0 && target.label < ce.classes;
  } else {
    target.row = args.in(ce.first + 1) + n * ce.classes;
  }
  return target;
}

PANDO_INLINE float clip(float p) {
  p = p < kLeast ? kLeast : p;
  return p > kMost ? kMost : p;
}

PANDO_MULTIVERSION float exponential_sum(const float* x, float shift, float* scratch,
                                         int64_t count) {
  return fast::exponentials(x, shift, scratch, count);
}

PANDO_MULTIVERSION float row_sum(const float* x, int64_t count) {
  return fast::sum_lanes(
      count, [=](int64_t k) __attribute__((always_inline)) { return x[k]; });
}

PANDO_MULTIVERSION float product_sum(const float* a, const float* b, int64_t count) {
  return fast::sum_lanes(
      count, [=](int64_t k) __attribute__((always_inline)) { return a[k] * b[k]; });
}

// -sum of y' log softmax(x) = sum(y') * log-sum-exp - sum(y' x), relative to the largest logit.
float loss_of_logits(const CrossEntropy& ce, const float* x, const Target& target, float* scratch) {
  const float shift = fast::largest(x, ce.classes);
  const float log_sum = std::log(exponential_sum(x, shift, scratch, ce.classes));
  const float above = row_sum(x, ce.classes) - static_cast<float>(ce.classes) * shift;
  if (ce.sparse) {
    const float smooth = ce.smoothing > 0 ? ce.floor() * above : 0;
    return log_sum - ce.keep() * (x[target.label] - shift) - smooth;
  }
  for (int64_t k = 0; k < ce.classes; ++k) scratch[k] = x[k] - shift - log_sum;
  float loss = -ce.keep() * product_sum(target.row, scratch, ce.classes);
  if (ce.smoothing > 0) loss -= ce.floor() * row_sum(scratch, ce.classes);
  return loss;
}

float loss_of_probabilities(const CrossEntropy& ce, const float* p, const Target& target) {
  float loss = 0;
  if (ce.sparse) loss -= ce.keep() * std::log(clip(p[target.label]));
  if (ce.sparse && ce.smoothing == 0) return loss;
  for (int64_t k = 0; k < ce.classes; ++k) {
    const float y = (ce.sparse ? 0 : ce.keep() * target.row[k]) + ce.floor();
    if (y != 0) loss -= y * std::log(clip(p[k]));
  }
  return loss;
}

float weight_of(const CrossEntropy& ce, const KernelArgs& args, int64_t sample) {
  return ce.weighted ? args.in(ce.first + 2)[sample] : 1.0f;
}

// The smoothed probability that a pixel is of class k.
PANDO_INLINE float target_at(const CrossEntropy& ce, const Target& target, int64_t k) {
  const float hit = k == target.label ? 1.0f : 0.0f;
  const float given = ce.sparse ? hit : target.row[k];
  return given * ce.keep() + ce.floor();
}

// log p of one prediction; `log_sum` belongs to logits.
PANDO_INLINE float log_of(const CrossEntropy& ce, float x, float log_sum) {
  return ce.from_logits ? x - log_sum : fast::vector_log(clip(x));
}

// (1 - p)^gamma; 1 - p is not 0, so that it can be a divisor.
struct FocalFactor {
  float rest;
  float power;
};
PANDO_INLINE FocalFactor focal_factor(const CrossEntropy& ce, float log_p) {
  const float rest = -fast::vector_expm1(log_p);
  const float positive = rest < 1e-37f ? 1e-37f : rest;
  return {positive, fast::vector_exp(ce.gamma * fast::vector_log(positive))};
}

float log_sum_of(const CrossEntropy& ce, const float* x, float* scratch) {
  if (!ce.from_logits) return 0;
  const float shift = fast::largest(x, ce.classes);
  return shift + std::log(exponential_sum(x, shift, scratch, ce.classes));
}

PANDO_MULTIVERSION float focal_loss(const CrossEntropy& ce, const float* x, const Target& target,
                                    float log_sum) {
  const float sum = fast::sum_lanes(
      ce.classes, [&](int64_t k) __attribute__((always_inline)) {
        const float log_p = log_of(ce, x[k], log_sum);
        return target_at(ce, target, k) * focal_factor(ce, log_p).power * log_p;
      });
  return -ce.factor * sum;
}

void run_loss(const CrossEntropy& ce, const KernelArgs& args, const StepArgs& step) {
  auto* scratch = reinterpret_cast<float*>(args.scratch);
  const fast::Range samples = fast::share(step.part, ce.batch);
  for (int64_t sample = samples.begin; sample < samples.end; ++sample) {
    double sum = 0;
    int64_t labels = 0;
    for (int64_t n = sample * ce.pixels; n < (sample + 1) * ce.pixels; ++n) {
      const Target target = target_of(ce, args, n);
      if (!target.counts) continue;
      ++labels;
      const float* row = args.in(0) + n * ce.classes;
      if (ce.focal()) {
        sum += focal_loss(ce, row, target, log_sum_of(ce, row, scratch));
      } else {
        sum += ce.from_logits ? loss_of_logits(ce, row, target, scratch)
                              : loss_of_probabilities(ce, row, target);
      }
    }
    const auto loss = static_cast<float>(sum / static_cast<double>(std::max<int64_t>(labels, 1)));
    args.out()[sample] = loss * weight_of(ce, args, sample);
  }
}

// out = factor * (softmax(x) * sum(y') - y').
PANDO_MULTIVERSION void grad_of_logits(const CrossEntropy& ce, const float* x, const Target& target,
                                       float factor, float* out) {
  const float sum = fast::exponentials(x, fast::largest(x, ce.classes), out, ce.classes);
  const float floor = ce.floor();
  float mass = 1;
  if (!ce.sparse) {
    const float* row = target.row;
    mass = ce.smoothing + ce.keep() * fast::sum_lanes(
                                          ce.classes, [=
    ](int64_t k) __attribute__((always_inline)) { return row[k]; });
  }
  const float scale = mass / sum;
  if (ce.sparse) {
#pragma GCC ivdep
    for (int64_t k = 0; k < ce.classes; ++k) out[k] = (out[k] * scale - floor) * factor;
    out[target.label] -= ce.keep() * factor;
    return;
  }
  const float* row = target.row;
  const float keep = ce.keep();
#pragma GCC ivdep
  for (int64_t k = 0; k < ce.classes; ++k) {
    out[k] = (out[k] * scale - (row[k] * keep + floor)) * factor;
  }
}

void grad_of_probabilities(const CrossEntropy& ce, const float* p, const Target& target,
                           float factor, float* out) {
  const float floor = ce.floor();
  for (int64_t k = 0; k < ce.classes; ++k) {
    const float label = ce.sparse ? (k == target.label ? 1.0f : 0.0f) : target.row[k];
    const bool inside = p[k] >= kLeast && p[k] <= kMost;
    out[k] = inside ? -(label * ce.keep() + floor) / p[k] * factor : 0.0f;
  }
}

// With h = p dL/dp for each class: dL/dx = h - p sum(h) of logits, and h / p of probabilities.
PANDO_MULTIVERSION void focal_grad(const CrossEntropy& ce, const float* x, const Target& target,
                                   float factor, float log_sum, float* out) {
  for (int64_t k = 0; k < ce.classes; ++k) {
    const float log_p = log_of(ce, x[k], log_sum);
    const FocalFactor focal = focal_factor(ce, log_p);
    const float p = fast::vector_exp(log_p);
    const float slope = focal.power * (ce.gamma * p / focal.rest * log_p - 1.0f);
    out[k] = factor * ce.factor * target_at(ce, target, k) * slope;
  }
  if (!ce.from_logits) {
    for (int64_t k = 0; k < ce.classes; ++k) {
      out[k] = x[k] >= kLeast && x[k] <= kMost ? out[k] / x[k] : 0.0f;
    }
    return;
  }
  const float sum = fast::sum_lanes(
      ce.classes, [=](int64_t k) __attribute__((always_inline)) { return out[k]; });
  for (int64_t k = 0; k < ce.classes; ++k) out[k] -= fast::vector_exp(x[k] - log_sum) * sum;
}

int64_t count_labels(const CrossEntropy& ce, const KernelArgs& args, int64_t sample) {
  if (!ce.sparse || ce.pixels == 1) return ce.pixels;
  int64_t labels = 0;
  for (int64_t n = sample * ce.pixels; n < (sample + 1) * ce.pixels; ++n) {
    labels += target_of(ce, args, n).counts ? 1 : 0;
  }
  return labels;
}

// The gradient of one pixel, of which `factor` is a factor.
void pixel_grad(const CrossEntropy& ce, const KernelArgs& args, int64_t n, float factor) {
  const Target target = target_of(ce, args, n);
  const float* row = args.in(1) + n * ce.classes;
  float* out = args.out() + n * ce.classes;
  if (!target.counts) {
    std::fill_n(out, ce.classes, 0.0f);
  } else if (ce.focal()) {
    focal_grad(ce, row, target, factor, log_sum_of(ce, row, out), out);
  } else if (ce.from_logits) {
    grad_of_logits(ce, row, target, factor, out);
  } else {
    grad_of_probabilities(ce, row, target, factor, out);
  }
}

// Parts divide pixels.
void run_grad(const CrossEntropy& ce, const KernelArgs& args, const StepArgs& step) {
  const fast::Range mine = fast::share(step.part, ce.batch * ce.pixels);
  for (int64_t n = mine.begin; n < mine.end;) {
    const int64_t sample = n / ce.pixels;
    const int64_t last = std::min(mine.end, (sample + 1) * ce.pixels);
    const int64_t labels = std::max<int64_t>(count_labels(ce, args, sample), 1);
    const float factor =
        args.in(0)[sample] * weight_of(ce, args, sample) / static_cast<float>(labels);
    for (; n < last; ++n) pixel_grad(ce, args, n, factor);
  }
}

}  // namespace

KernelOffer fast_cross_entropy(const ir::Node& node) {
  const CrossEntropy ce(node, 0);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) { run_loss(ce, args, step); };
  return offer_function(
      "fast", run,
      {.splits = true, .scratch_bytes = static_cast<size_t>(ce.classes) * sizeof(float)});
}

KernelOffer fast_cross_entropy_grad(const ir::Node& node) {
  const CrossEntropy ce(node, 1);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) { run_grad(ce, args, step); };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
