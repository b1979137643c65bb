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
        sparse(node.input(first_input + 1)->type().dtype == DType::i32),
        weighted(node.num_inputs() > first_input + 2),
        from_logits(ops::int_attribute(node, "from_logits") != 0),
        smoothing(static_cast<float>(ops::number_attribute(node, "label_smoothing"))) {}
  int first;
  int64_t batch;
  int64_t classes;
  bool sparse;
  bool weighted;
  bool from_logits;
  float smoothing;

  float keep() const { return 1.0f - smoothing; }
  float floor() const { return smoothing / static_cast<float>(classes); }
};

// The target distribution of one sample: a class, or one number per class.
struct Target {
  const float* row = nullptr;
  int64_t label = 0;
  float weight = 1;
  bool counts = true;  // false: the label marks padding
};

Target target_of(const CrossEntropy& ce, const KernelArgs& args, int64_t n) {
  Target target;
  if (ce.weighted) target.weight = args.in(ce.first + 2)[n];
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

void run_loss(const CrossEntropy& ce, const KernelArgs& args, const StepArgs&) {
  auto* scratch = reinterpret_cast<float*>(args.scratch);
  for (int64_t n = 0; n < ce.batch; ++n) {
    const Target target = target_of(ce, args, n);
    args.out()[n] = 0;
    if (!target.counts) continue;
    const float* row = args.in(0) + n * ce.classes;
    const float loss = ce.from_logits ? loss_of_logits(ce, row, target, scratch)
                                      : loss_of_probabilities(ce, row, target);
    args.out()[n] = loss * target.weight;
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

void run_grad(const CrossEntropy& ce, const KernelArgs& args, const StepArgs& step) {
  const fast::Range samples = fast::share(step.part, ce.batch);
  for (int64_t n = samples.begin; n < samples.end; ++n) {
    const Target target = target_of(ce, args, n);
    const float* row = args.in(1) + n * ce.classes;
    float* out = args.out() + n * ce.classes;
    const float factor = args.in(0)[n] * target.weight;
    if (!target.counts) {
      std::fill_n(out, ce.classes, 0.0f);
    } else if (ce.from_logits) {
      grad_of_logits(ce, row, target, factor, out);
    } else {
      grad_of_probabilities(ce, row, target, factor, out);
    }
  }
}

}  // namespace

KernelOffer fast_cross_entropy(const ir::Node& node) {
  const CrossEntropy ce(node, 0);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) { run_loss(ce, args, step); };
  return offer_function("fast", run,
                        {.scratch_bytes = static_cast<size_t>(ce.classes) * sizeof(float)});
}

KernelOffer fast_cross_entropy_grad(const ir::Node& node) {
  const CrossEntropy ce(node, 1);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) { run_grad(ce, args, step); };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
