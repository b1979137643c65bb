// Layer normalisation: each row of the last axes by its own mean and deviation, while the row is in
// the first level of the cache.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <type_traits>

#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/fast/vectors.h"

namespace pando::kernels {
namespace {

using fast::Floats;
using fast::Range;
using fast::ScratchCutter;
using fast::WideFloats;

constexpr int64_t kSumRun = 4096;  // elements that are summed in f32; runs are added in f64
constexpr int64_t kRowBlock = 64;  // rows whose gradients are summed in f32

// The constants of one node; `x` is the input that is normalised.
struct LayerNorm {
  LayerNorm(const ir::Node& node, int x)
      : batch(node.input(x)->shape().front()),
        size(node.input(x)->shape().elements_from(
            node.input(x)->shape().rank() - static_cast<int>(ops::int_attribute(node, "axes")))),
        sample_rows(node.input(x)->shape().elements_from(1) / size) {}
  int64_t batch;
  int64_t size;  // elements of a row
  int64_t sample_rows;
};

struct SumPair {
  float first = 0;
  float second = 0;
};

PANDO_INLINE float sum_of_lanes(const WideFloats& v) {
  const Floats eight = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                       __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                    __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  return (four[0] + four[2]) + (four[1] + four[3]);
}

// Two sums over k < count at once: add(k, first, second) adds the terms from k on, as many as fit
// into its arguments, to both.
template <typename Add>
PANDO_INLINE SumPair sum_pairs(int64_t count, const Add& add) {
  constexpr int64_t kWidth = sizeof(WideFloats) / sizeof(float);
  WideFloats first{};
  WideFloats second{};
  int64_t k = 0;
  for (; k + kWidth <= count; k += kWidth) add(k, first, second);
  SumPair total{sum_of_lanes(first), sum_of_lanes(second)};
  for (; k < count; ++k) add(k, total.first, total.second);
  return total;
}

struct RowMoments {
  double mean = 0;
  double variance = 0;
};

// The second pass corrects the mean of the first, so that rows far from zero stay exact.
PANDO_INLINE RowMoments moments_of(const float* x, int64_t size, double share) {
  double sum = 0;
  for (int64_t at = 0; at < size; at += kSumRun) {
    const float* run = x + at;
    sum += sum_pairs(
               size - at < kSumRun ? size - at : kSumRun,
               [=](int64_t k, auto& a, auto&) __attribute__((always_inline)) {
                 std::remove_reference_t<decltype(a)> value;
                 fast::load(run + k, value);
                 a += value;
               })
               .first;
  }
  const float center = static_cast<float>(sum * share);
  double first = 0;
  double second = 0;
  for (int64_t at = 0; at < size; at += kSumRun) {
    const float* run = x + at;
    const SumPair sums = sum_pairs(
        size - at < kSumRun ? size - at : kSumRun, [=](int64_t k, auto& a, auto& b)
                                                       __attribute__((always_inline)) {
                                                         std::remove_reference_t<decltype(a)> value;
                                                         fast::load(run + k, value);
                                                         const auto away = value - center;
                                                         a += away;
                                                         b += away * away;
                                                       });
    first += sums.first;
    second += sums.second;
  }
  const double shift = first * share;
  const double variance = second * share - shift * shift;
  return {center + shift, variance < 0 ? 0 : variance};
}

struct ForwardRows {
  const float* x;
  const float* gamma;
  const float* beta;
  float* y;
  float* mean;
  float* inverse;
};

PANDO_MULTIVERSION void normalise_rows(const ForwardRows& data, int64_t size, double epsilon,
                                       Range rows) {
  const float* gamma = data.gamma;
  const float* beta = data.beta;
  const double share = 1.0 / static_cast<double>(size);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const float* x = data.x + row * size;
    float* y = data.y + row * size;
    const RowMoments moments = moments_of(x, size, share);
    const float mean = static_cast<float>(moments.mean);
    const float inverse = 1.0f / std::sqrt(static_cast<float>(moments.variance + epsilon));
    data.mean[row] = mean;
    data.inverse[row] = inverse;
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) y[i] = (x[i] - mean) * inverse * gamma[i] + beta[i];
  }
}

struct BackwardRows {
  const float* dy;
  const float* x;
  const float* mean;
  const float* inverse;
};

// Adds dy and dy * xhat of the rows to the sums.
PANDO_MULTIVERSION void add_rows(const BackwardRows& data, int64_t size, Range rows, float* first,
                                 float* second) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const float* dy = data.dy + row * size;
    const float* x = data.x + row * size;
    const float mean = data.mean[row];
    const float inverse = data.inverse[row];
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      first[i] += dy[i];
      second[i] += dy[i] * ((x[i] - mean) * inverse);
    }
  }
}

// dx = inverse * (gamma * dy - s1 / m - xhat * s2 / m), where s1 and s2 are the sums over the row
// of gamma * dy and gamma * dy * xhat, and m is the number of its elements.
PANDO_MULTIVERSION void row_gradients(const BackwardRows& data, const float* gamma, float* out,
                                      int64_t size, Range rows) {
  const double share = 1.0 / static_cast<double>(size);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const float mean = data.mean[row];
    double first = 0;
    double second = 0;
    for (int64_t at = 0; at < size; at += kSumRun) {
      const float* dy = data.dy + row * size + at;
      const float* x = data.x + row * size + at;
      const float* weight = gamma + at;
      const SumPair sums = sum_pairs(
          size - at < kSumRun ? size - at : kSumRun, [=](int64_t k, auto& a,
                                                         auto& b) __attribute__((always_inline)) {
            std::remove_reference_t<decltype(a)> scaled, factor, value;
            fast::load(dy + k, scaled);
            fast::load(weight + k, factor);
            fast::load(x + k, value);
            scaled *= factor;
            a += scaled;
            b += scaled * (value - mean);
          });
      first += sums.first;
      second += sums.second;
    }
    const double inverse = data.inverse[row];
    const float factor = static_cast<float>(inverse);
    const float shift = static_cast<float>(-inverse * share * first);
    const float slope = static_cast<float>(-inverse * inverse * inverse * share * second);
    const float* dy = data.dy + row * size;
    const float* x = data.x + row * size;
    float* dx = out + row * size;
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      dx[i] = dy[i] * gamma[i] * factor + ((x[i] - mean) * slope + shift);
    }
  }
}

// A row of equal numbers in place of weights that the layer does not have.
const float* constant_row(ScratchCutter& cutter, int64_t size, float value) {
  float* row = cutter.floats(size);
  std::fill_n(row, size, value);
  return row;
}

size_t row_bytes(int64_t size, int rows) {
  ScratchCutter plan;
  for (int i = 0; i < rows; ++i) plan.floats(size);
  return plan.used();
}

void run_layer_sums(const LayerNorm& norm, const KernelArgs& args, const StepArgs& step) {
  ScratchCutter cutter(args.scratch);
  float* block[2] = {cutter.floats(norm.size), cutter.floats(norm.size)};
  double* totals[2];
  for (double*& total : totals) {
    total =
        reinterpret_cast<double*>(cutter.bytes(static_cast<size_t>(norm.size) * sizeof(double)));
    std::fill_n(total, norm.size, 0.0);
  }
  Range rows = fast::share(step.part, norm.batch * norm.sample_rows);
  rows.end = std::min(rows.end, step.valid * norm.sample_rows);
  const BackwardRows data{args.in(0), args.in(1), args.in(2), args.in(3)};
  for (int64_t row = rows.begin; row < rows.end; row += kRowBlock) {
    for (float* sums : block) std::fill_n(sums, norm.size, 0.0f);
    add_rows(data, norm.size, {row, std::min(row + kRowBlock, rows.end)}, block[0], block[1]);
    for (int s = 0; s < 2; ++s) {
      for (int64_t i = 0; i < norm.size; ++i) totals[s][i] += block[s][i];
    }
  }
  for (int s = 0; s < 2; ++s) {
    for (int64_t i = 0; i < norm.size; ++i) args.out(s)[i] = static_cast<float>(totals[s][i]);
  }
}

}  // namespace

KernelOffer fast_layer_norm(const ir::Node& node) {
  const LayerNorm norm(node, 0);
  const bool scale = ops::int_attribute(node, "scale") == 1;
  const bool center = ops::int_attribute(node, "center") == 1;
  const double epsilon = ops::number_attribute(node, "epsilon");
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    ScratchCutter cutter(args.scratch);
    const ForwardRows data{
        .x = args.in(0),
        .gamma = scale ? args.in(1) : constant_row(cutter, norm.size, 1),
        .beta = center ? args.in(scale ? 2 : 1) : constant_row(cutter, norm.size, 0),
        .y = args.out(0),
        .mean = args.out(1),
        .inverse = args.out(2)};
    normalise_rows(data, norm.size, epsilon, fast::share(step.part, norm.batch * norm.sample_rows));
  };
  const int missing = (scale ? 0 : 1) + (center ? 0 : 1);
  return offer_function("fast", run,
                        {.splits = true, .scratch_bytes = row_bytes(norm.size, missing)});
}

KernelOffer fast_layer_norm_sums(const ir::Node& node) {
  const LayerNorm norm(node, 1);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    run_layer_sums(norm, args, step);
  };
  const size_t bytes = row_bytes(norm.size, 2) + row_bytes(2 * norm.size, 2);
  return offer_function("fast", run, {.splits = true, .scratch_bytes = bytes});
}

KernelOffer fast_layer_norm_input_grad(const ir::Node& node) {
  const LayerNorm norm(node, 1);
  const bool scale = ops::int_attribute(node, "scale") == 1;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    ScratchCutter cutter(args.scratch);
    const float* gamma = scale ? args.in(4) : constant_row(cutter, norm.size, 1);
    row_gradients({args.in(0), args.in(1), args.in(2), args.in(3)}, gamma, args.out(), norm.size,
                  fast::share(step.part, norm.batch * norm.sample_rows));
  };
  return offer_function("fast", run,
                        {.splits = true, .scratch_bytes = row_bytes(norm.size, scale ? 0 : 1)});
}

}  // namespace pando::kernels
