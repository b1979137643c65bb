// Losses that are a mean over the elements of a sample, and dice, with gradients.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/kernels/fast/class_rows.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

// Up to four constants of a loss.
struct LossNumbers {
  float a = 0;
  float b = 0;
  float c = 0;
  float d = 0;
};

// A loss has static functions value(p, y, numbers) and slope(p, y, numbers).
struct SquaredError {
  PANDO_INLINE static float value(float p, float y, const LossNumbers&) {
    const float away = p - y;
    return away * away;
  }
  PANDO_INLINE static float slope(float p, float y, const LossNumbers&) { return 2.0f * (p - y); }
};

struct AbsoluteError {
  PANDO_INLINE static float value(float p, float y, const LossNumbers&) {
    return fast::magnitude_of(p - y);
  }
  PANDO_INLINE static float slope(float p, float y, const LossNumbers&) {
    const float down = p < y ? -1.0f : 0.0f;
    return p > y ? 1.0f : down;
  }
};

struct Huber {  // a: delta
  PANDO_INLINE static float value(float p, float y, const LossNumbers& n) {
    const float away = fast::magnitude_of(p - y);
    const float near = away < n.a ? away : n.a;
    return near * (away - 0.5f * near);
  }
  PANDO_INLINE static float slope(float p, float y, const LossNumbers& n) {
    return fast::clamped(p - y, n.a);
  }
};

// Numbers: a and b, the smoothed label is a y + b; c, gamma; d, alpha.
PANDO_INLINE float smoothed(float y, const LossNumbers& n) { return n.a * y + n.b; }

// The probability p, the rest 1 - p, which is exact where p is near 1, and the entropy.
struct Binary {
  float p;
  float rest;
  float entropy;
};

PANDO_INLINE Binary binary_of_logit(float x, float y) {
  const float e = fast::vector_exp(-fast::magnitude_of(x));
  const float large = 1.0f / (1.0f + e);
  const float small = e * large;
  const float positive = x < 0 ? 0.0f : x;
  return {x < 0 ? small : large, x < 0 ? large : small,
          positive - y * x + fast::vector_log1p_unit(e)};
}

constexpr float kLeastProbability = 1e-7f;
constexpr float kMostProbability = 1.0f - 1e-7f;

PANDO_INLINE Binary binary_of_probability(float given, float y) {
  const float above = given < kLeastProbability ? kLeastProbability : given;
  const float p = above > kMostProbability ? kMostProbability : above;
  const float rest = 1.0f - p;
  return {p, rest, -(y * fast::vector_log(p) + (1.0f - y) * fast::vector_log(rest))};
}

template <bool kLogits>
struct BinaryEntropy {
  PANDO_INLINE static Binary of(float x, float y) {
    return kLogits ? binary_of_logit(x, y) : binary_of_probability(x, y);
  }
  PANDO_INLINE static float value(float x, float label, const LossNumbers& n) {
    return of(x, smoothed(label, n)).entropy;
  }
  PANDO_INLINE static float slope(float x, float label, const LossNumbers& n) {
    const float y = smoothed(label, n);
    const Binary binary = of(x, y);
    const float away = binary.p * (1.0f - y) - binary.rest * y;
    if constexpr (kLogits) return away;
    const bool inside = x >= kLeastProbability && x <= kMostProbability;
    const float slope = away / (binary.p * binary.rest);
    return inside ? slope : 0.0f;
  }
};
using LogitEntropy = BinaryEntropy<true>;
using ProbabilityEntropy = BinaryEntropy<false>;

template <bool kLogits>
struct Focal {
  // The probability of the wrong class; not 0, so that it can be a divisor.
  PANDO_INLINE static float wrong(const Binary& binary, float y) {
    const float q = y * binary.rest + (1.0f - y) * binary.p;
    return q < 1e-37f ? 1e-37f : q;
  }
  PANDO_INLINE static float factor(float q, float y, const LossNumbers& n) {
    const float weight = n.d < 0 ? 1.0f : y * n.d + (1.0f - y) * (1.0f - n.d);
    return weight * fast::vector_exp(n.c * fast::vector_log(q));
  }
  PANDO_INLINE static float value(float x, float label, const LossNumbers& n) {
    const float y = smoothed(label, n);
    const Binary binary = BinaryEntropy<kLogits>::of(x, y);
    return factor(wrong(binary, y), y, n) * binary.entropy;
  }
  PANDO_INLINE static float slope(float x, float label, const LossNumbers& n) {
    const float y = smoothed(label, n);
    const Binary binary = BinaryEntropy<kLogits>::of(x, y);
    const float q = wrong(binary, y);
    const float steep = binary.p * binary.rest;  // the slope of the logistic function
    const float away = binary.p * (1.0f - y) - binary.rest * y;
    const float focal = n.c * (1.0f - 2.0f * y) * (steep / q) * binary.entropy;
    const float result = factor(q, y, n) * (focal + away);
    if constexpr (kLogits) return result;
    const bool inside = x >= kLeastProbability && x <= kMostProbability;
    return inside ? result / steep : 0.0f;
  }
};
using LogitFocal = Focal<true>;
using ProbabilityFocal = Focal<false>;

constexpr int64_t kLossRun = 4096;  // elements that are summed in f32; runs are added in f64

template <typename Loss>
PANDO_INLINE double value_sum(const float* p, const float* y, int64_t count,
                              const LossNumbers& numbers) {
  double sum = 0;
  for (int64_t at = 0; at < count; at += kLossRun) {
    const float* left = p + at;
    const float* right = y + at;
    sum += fast::sum_lanes(
        count - at < kLossRun ? count - at : kLossRun,
        [ =, &numbers ](int64_t i)
            __attribute__((always_inline)) { return Loss::value(left[i], right[i], numbers); });
  }
  return sum;
}

template <typename Loss>
PANDO_INLINE void slope_row(const float* p, const float* y, float factor, float* out, int64_t count,
                            const LossNumbers& numbers) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = factor * Loss::slope(p[i], y[i], numbers);
}

// A multiversioned function cannot be a template.
#define PANDO_LOSS_LOOPS(Loss)                                                                     \
  PANDO_MULTIVERSION double sum_of_##Loss(const float* p, const float* y, int64_t count,           \
                                          const LossNumbers& numbers) {                            \
    return value_sum<Loss>(p, y, count, numbers);                                                  \
  }                                                                                                \
  PANDO_MULTIVERSION void slope_of_##Loss(const float* p, const float* y, float factor,            \
                                          float* out, int64_t count, const LossNumbers& numbers) { \
    slope_row<Loss>(p, y, factor, out, count, numbers);                                            \
  }
PANDO_LOSS_LOOPS(SquaredError)
PANDO_LOSS_LOOPS(AbsoluteError)
PANDO_LOSS_LOOPS(Huber)
PANDO_LOSS_LOOPS(LogitEntropy)
PANDO_LOSS_LOOPS(ProbabilityEntropy)
PANDO_LOSS_LOOPS(LogitFocal)
PANDO_LOSS_LOOPS(ProbabilityFocal)
#undef PANDO_LOSS_LOOPS

using SumLoop = double (*)(const float*, const float*, int64_t, const LossNumbers&);
using SlopeRowLoop = void (*)(const float*, const float*, float, float*, int64_t,
                              const LossNumbers&);

// Inputs: prediction, target, [weight].
KernelOffer offer_loss(const ir::Node& node, SumLoop sum, const LossNumbers& numbers = {}) {
  const int64_t batch = node.input(0)->shape().front();
  const int64_t count = node.input(0)->shape().elements_from(1);
  const bool weighted = node.num_inputs() > 2;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const fast::Range samples = fast::share(step.part, batch);
    for (int64_t n = samples.begin; n < samples.end; ++n) {
      const double total = sum(args.in(0) + n * count, args.in(1) + n * count, count, numbers);
      const float mean = static_cast<float>(total / static_cast<double>(count));
      args.out()[n] = weighted ? mean * args.in(2)[n] : mean;
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

// Inputs: dloss, prediction, target, [weight].
KernelOffer offer_grad(const ir::Node& node, SlopeRowLoop slope, const LossNumbers& numbers = {}) {
  const int64_t batch = node.input(1)->shape().front();
  const int64_t count = node.input(1)->shape().elements_from(1);
  const bool weighted = node.num_inputs() > 3;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const fast::Range samples = fast::share(step.part, batch);
    for (int64_t n = samples.begin; n < samples.end; ++n) {
      const float weight = weighted ? args.in(3)[n] : 1.0f;
      const float factor = args.in(0)[n] * weight / static_cast<float>(count);
      slope(args.in(1) + n * count, args.in(2) + n * count, factor, args.out() + n * count, count,
            numbers);
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

LossNumbers huber_numbers(const ir::Node& node) {
  return {.a = static_cast<float>(ops::number_attribute(node, "delta"))};
}

LossNumbers entropy_numbers(const ir::Node& node) {
  const double smoothing = ops::number_attribute(node, "label_smoothing");
  return {.a = static_cast<float>(1 - smoothing),
          .b = static_cast<float>(smoothing / 2),
          .c = static_cast<float>(ops::number_attribute(node, "gamma")),
          .d = static_cast<float>(ops::number_attribute(node, "alpha"))};
}

bool takes_logits(const ir::Node& node) { return ops::int_attribute(node, "from_logits") == 1; }

// The sum of p y, and that of p + y.
struct DiceTotals {
  double both = 0;
  double all = 0;
};

PANDO_MULTIVERSION DiceTotals dice_totals(const float* p, const float* y, int64_t count) {
  DiceTotals totals;
  for (int64_t at = 0; at < count; at += kLossRun) {
    const float* left = p + at;
    const float* right = y + at;
    const int64_t run = count - at < kLossRun ? count - at : kLossRun;
    totals.both += fast::sum_lanes(
        run, [=](int64_t i) __attribute__((always_inline)) { return left[i] * right[i]; });
    totals.all += fast::sum_lanes(
        run, [=](int64_t i) __attribute__((always_inline)) { return left[i] + right[i]; });
  }
  return totals;
}

PANDO_MULTIVERSION void affine_row(const float* y, float slope, float shift, float* out,
                                   int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = y[i] * slope + shift;
}

}  // namespace

KernelOffer fast_mean_squared_error(const ir::Node& node) {
  return offer_loss(node, sum_of_SquaredError);
}
KernelOffer fast_mean_squared_error_grad(const ir::Node& node) {
  return offer_grad(node, slope_of_SquaredError);
}
KernelOffer fast_mean_absolute_error(const ir::Node& node) {
  return offer_loss(node, sum_of_AbsoluteError);
}
KernelOffer fast_mean_absolute_error_grad(const ir::Node& node) {
  return offer_grad(node, slope_of_AbsoluteError);
}
KernelOffer fast_huber(const ir::Node& node) {
  return offer_loss(node, sum_of_Huber, huber_numbers(node));
}
KernelOffer fast_huber_grad(const ir::Node& node) {
  return offer_grad(node, slope_of_Huber, huber_numbers(node));
}

KernelOffer fast_binary_cross_entropy(const ir::Node& node) {
  const LossNumbers numbers = entropy_numbers(node);
  const bool plain = numbers.c == 0 && numbers.d < 0;
  if (takes_logits(node)) {
    return offer_loss(node, plain ? sum_of_LogitEntropy : sum_of_LogitFocal, numbers);
  }
  return offer_loss(node, plain ? sum_of_ProbabilityEntropy : sum_of_ProbabilityFocal, numbers);
}
KernelOffer fast_binary_cross_entropy_grad(const ir::Node& node) {
  const LossNumbers numbers = entropy_numbers(node);
  const bool plain = numbers.c == 0 && numbers.d < 0;
  if (takes_logits(node)) {
    return offer_grad(node, plain ? slope_of_LogitEntropy : slope_of_LogitFocal, numbers);
  }
  return offer_grad(node, plain ? slope_of_ProbabilityEntropy : slope_of_ProbabilityFocal, numbers);
}

KernelOffer fast_dice(const ir::Node& node) {
  const int64_t batch = node.input(0)->shape().front();
  const int64_t count = node.input(0)->shape().elements_from(1);
  const double smooth = ops::number_attribute(node, "smooth");
  const bool weighted = node.num_inputs() > 2;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const fast::Range samples = fast::share(step.part, batch);
    for (int64_t n = samples.begin; n < samples.end; ++n) {
      const DiceTotals totals = dice_totals(args.in(0) + n * count, args.in(1) + n * count, count);
      const double loss = 1 - (2 * totals.both + smooth) / (totals.all + smooth);
      args.out()[n] = static_cast<float>(weighted ? loss * args.in(2)[n] : loss);
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

// The derivative is both / all^2 - 2 y / all, where both and all include `smooth`.
KernelOffer fast_dice_grad(const ir::Node& node) {
  const int64_t batch = node.input(1)->shape().front();
  const int64_t count = node.input(1)->shape().elements_from(1);
  const double smooth = ops::number_attribute(node, "smooth");
  const bool weighted = node.num_inputs() > 3;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const fast::Range samples = fast::share(step.part, batch);
    for (int64_t n = samples.begin; n < samples.end; ++n) {
      const float* y = args.in(2) + n * count;
      const DiceTotals totals = dice_totals(args.in(1) + n * count, y, count);
      const double both = 2 * totals.both + smooth;
      const double all = totals.all + smooth;
      const double factor = weighted ? args.in(0)[n] * args.in(3)[n] : args.in(0)[n];
      affine_row(y, static_cast<float>(-2 * factor / all),
                 static_cast<float>(factor * both / (all * all)), args.out() + n * count, count);
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
