// Arithmetic of two operands of which one may be repeated, PReLU, and repetition itself. Results
// may overwrite input 0, so the loops declare independent iterations, not independent pointers.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "pando/base/multiversion.h"
#include "pando/kernels/fast/activation_loops.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/repeat_plan.h"

namespace pando::kernels {

namespace fast {

namespace {

// The strides of an operand along the axes of the result; 0 where it is repeated.
std::vector<int64_t> strides_of(const Shape& operand, const Shape& result, bool shared) {
  std::vector<int64_t> strides(static_cast<size_t>(result.rank()), 0);
  int64_t stride = 1;
  for (int own = operand.rank() - 1; own >= (shared ? 0 : 1); --own) {
    const int axis = own + result.rank() - operand.rank();
    if (operand[own] > 1) strides[static_cast<size_t>(axis)] = stride;
    stride *= operand[own];
  }
  if (!shared) strides[0] = stride;
  return strides;
}

}  // namespace

RepeatPlan::RepeatPlan(const Shape& a, const Shape& b, const Shape& result, bool b_shared) {
  const std::vector<int64_t> strides_a = strides_of(a, result, false);
  const std::vector<int64_t> strides_b = strides_of(b, result, b_shared);
  std::vector<Axis> axes;
  for (int i = 0; i < result.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    const Axis axis{result[i], strides_a[at], strides_b[at]};
    if (axis.extent == 1) continue;
    if (!axes.empty()) {
      Axis& last = axes.back();
      if (last.a == axis.a * axis.extent && last.b == axis.b * axis.extent) {
        last = {last.extent * axis.extent, axis.a, axis.b};
        continue;
      }
    }
    axes.push_back(axis);
  }
  if (axes.empty()) axes.push_back({1, 1, 1});
  row_ = axes.back();
  axes.pop_back();
  if (!axes.empty()) {
    rows_ = axes.back();
    axes.pop_back();
  }
  axes_ = std::move(axes);
  for (const Axis& axis : axes_) outer_ *= axis.extent;
}

RowRun RepeatPlan::row_run(const RowRun& first, int64_t row) const {
  RowRun run = first;
  run.y += row * row_.extent;
  if (run.full != nullptr) run.full += row * row_.extent;
  run.a += row % rows_.extent * rows_.a;
  run.b += row % rows_.extent * rows_.b;
  int64_t rest = row / rows_.extent;
  for (size_t i = axes_.size(); i-- > 0;) {
    run.a += rest % axes_[i].extent * axes_[i].a;
    run.b += rest % axes_[i].extent * axes_[i].b;
    rest /= axes_[i].extent;
  }
  run.length = row_.extent;
  run.step_a = rows_.a;
  run.step_b = rows_.b;
  run.stride_a = row_.a;
  run.stride_b = row_.b;
  return run;
}

}  // namespace fast

namespace {

using fast::RepeatPlan;
using fast::RowRun;

// A pair function has a static function value(a, b) or value(a, b, full).
struct AddPair {
  PANDO_INLINE static float value(float a, float b) { return a + b; }
};
struct AddReluPair {
  PANDO_INLINE static float value(float a, float b) {
    const float sum = a + b;
    return sum < 0 ? 0.0f : sum;
  }
};
struct SubtractPair {
  PANDO_INLINE static float value(float a, float b) { return a - b; }
};
struct MultiplyPair {
  PANDO_INLINE static float value(float a, float b) { return a * b; }
};
struct DividePair {
  PANDO_INLINE static float value(float a, float b) { return a / b; }
};
struct MaximumPair {
  PANDO_INLINE static float value(float a, float b) {
    const float larger = a > b ? a : b;
    return a != a ? a : larger;
  }
};
struct MinimumPair {
  PANDO_INLINE static float value(float a, float b) {
    const float smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
};
struct PreluPair {
  PANDO_INLINE static float value(float x, float alpha) { return x > 0 ? x : alpha * x; }
};
struct CopyPair {
  PANDO_INLINE static float value(float, float x) { return x; }
};
struct TimesSlopePair {
  PANDO_INLINE static float value(float dy, float slope) { return dy == 0 ? 0.0f : dy * slope; }
};
struct KeepAtLeast {
  PANDO_INLINE static float value(float a, float b, float dy) { return a >= b ? dy : 0.0f; }
};
struct PreluSlope {
  PANDO_INLINE static float value(float x, float alpha, float dy) {
    return x > 0 ? dy : alpha * dy;
  }
};

// y[i] = value(a[i * kStrideA], b[i * kStrideB]).
template <typename Pair, int kStrideA, int kStrideB>
PANDO_INLINE void pair_row(const float* a, const float* b, const float* full, float* y,
                           int64_t length) {
  constexpr bool kFull = requires { Pair::value(0.0f, 0.0f, 0.0f); };
  const float single_a = *a;
  const float single_b = *b;
#pragma GCC ivdep
  for (int64_t i = 0; i < length; ++i) {
    const float left = kStrideA == 1 ? a[i] : single_a;
    const float right = kStrideB == 1 ? b[i] : single_b;
    if constexpr (kFull) {
      y[i] = Pair::value(left, right, full[i]);
    } else {
      y[i] = Pair::value(left, right);
    }
  }
}

template <typename Pair>
PANDO_INLINE void pair_rows(const RowRun& run) {
  for (int64_t row = 0; row < run.rows; ++row) {
    const float* a = run.a + row * run.step_a;
    const float* b = run.b + row * run.step_b;
    const float* full = run.full == nullptr ? nullptr : run.full + row * run.length;
    float* y = run.y + row * run.length;
    if (run.stride_a == 1 && run.stride_b == 1) {
      pair_row<Pair, 1, 1>(a, b, full, y, run.length);
    } else if (run.stride_a == 1) {
      pair_row<Pair, 1, 0>(a, b, full, y, run.length);
    } else {
      pair_row<Pair, 0, 1>(a, b, full, y, run.length);
    }
  }
}

// A multiversioned function cannot be a template.
#define PANDO_PAIR_LOOP(Pair) \
  PANDO_MULTIVERSION void rows_of_##Pair(const RowRun& run) { pair_rows<Pair>(run); }
PANDO_PAIR_LOOP(AddPair)
PANDO_PAIR_LOOP(AddReluPair)
PANDO_PAIR_LOOP(SubtractPair)
PANDO_PAIR_LOOP(MultiplyPair)
PANDO_PAIR_LOOP(DividePair)
PANDO_PAIR_LOOP(MaximumPair)
PANDO_PAIR_LOOP(MinimumPair)
PANDO_PAIR_LOOP(PreluPair)
PANDO_PAIR_LOOP(CopyPair)
PANDO_PAIR_LOOP(TimesSlopePair)
PANDO_PAIR_LOOP(KeepAtLeast)
PANDO_PAIR_LOOP(PreluSlope)
#undef PANDO_PAIR_LOOP

using PairLoop = void (*)(const RowRun&);

constexpr int64_t kShortRow = 48;
constexpr int64_t kLongRow = 768;

// Short rows of b that are the same in every row (a few channels) are repeated to a longer one.
void run_pairs(PairLoop loop, const RowRun& run) {
  const bool same_row = run.step_b == 0 && run.stride_b == 1 && run.step_a == run.length &&
                        run.stride_a == 1 && run.length < kShortRow;
  const int64_t repeat = same_row ? std::min(kLongRow / run.length, run.rows) : 1;
  if (repeat < 4) return loop(run);
  float row[kLongRow];
  for (int64_t i = 0; i < repeat; ++i) {
    std::memcpy(row + i * run.length, run.b, static_cast<size_t>(run.length) * sizeof(float));
  }
  RowRun wide = run;
  wide.b = row;
  wide.length = run.length * repeat;
  wide.step_a = wide.length;
  wide.rows = run.rows / repeat;
  loop(wide);
  const int64_t done = wide.rows * repeat;
  RowRun rest = run;
  rest.rows = run.rows - done;
  rest.a += done * run.length;
  rest.y += done * run.length;
  if (rest.full != nullptr) rest.full += done * run.length;
  loop(rest);
}

// Row by row, or in pieces of a long row, which are in the cache when the activation reads them.
void add_and_activate(const RowRun& run, const NodeActivation& activation) {
  constexpr int64_t kPiece = 4096;
  for (int64_t row = 0; row < run.rows; ++row) {
    for (int64_t at = 0; at < run.length; at += kPiece) {
      RowRun piece = run;
      piece.rows = 1;
      piece.length = std::min(kPiece, run.length - at);
      piece.a += row * run.step_a + at * run.stride_a;
      piece.b += row * run.step_b + at * run.stride_b;
      piece.y += row * run.length + at;
      rows_of_AddPair(piece);
      fast::activate(activation, piece.y, piece.length);
    }
  }
}

// Inputs a and b, and with three inputs one of the shape of the result.
KernelOffer offer_pairs(const ir::Node& node, PairLoop loop, bool b_shared = false) {
  for (const ir::Value* input : node.inputs()) {
    if (input->type().dtype != DType::f32) return refuse("supports f32 only");
  }
  const RepeatPlan plan(node.input(0)->shape(), node.input(1)->shape(), node.output()->shape(),
                        b_shared);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const RowRun first{.a = args.in(0),
                       .b = args.in(1),
                       .full = args.num_inputs > 2 ? args.in(2) : nullptr,
                       .y = args.out()};
    plan.for_each(step.part, first, [&](const RowRun& rows) { run_pairs(loop, rows); });
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace

KernelOffer fast_add(const ir::Node& node) {
  const NodeActivation activation = node_activation(node);
  if (activation.kind == Activation::none) return offer_pairs(node, rows_of_AddPair);
  if (activation.kind == Activation::relu) return offer_pairs(node, rows_of_AddReluPair);
  const RepeatPlan plan(node.input(0)->shape(), node.input(1)->shape(), node.output()->shape());
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    plan.for_each(step.part, {.a = args.in(0), .b = args.in(1), .y = args.out()},
                  [&](const RowRun& rows) { add_and_activate(rows, activation); });
  };
  return offer_function("fast", run, fast::kSplits);
}

KernelOffer fast_subtract(const ir::Node& node) { return offer_pairs(node, rows_of_SubtractPair); }
KernelOffer fast_multiply(const ir::Node& node) { return offer_pairs(node, rows_of_MultiplyPair); }
KernelOffer fast_divide(const ir::Node& node) { return offer_pairs(node, rows_of_DividePair); }
KernelOffer fast_maximum(const ir::Node& node) { return offer_pairs(node, rows_of_MaximumPair); }
KernelOffer fast_minimum(const ir::Node& node) { return offer_pairs(node, rows_of_MinimumPair); }
KernelOffer fast_times_slope(const ir::Node& node) {
  return offer_pairs(node, rows_of_TimesSlopePair);
}
KernelOffer fast_keep_at_least(const ir::Node& node) {
  return offer_pairs(node, rows_of_KeepAtLeast);
}
KernelOffer fast_prelu(const ir::Node& node) { return offer_pairs(node, rows_of_PreluPair, true); }
KernelOffer fast_prelu_input_grad(const ir::Node& node) {
  return offer_pairs(node, rows_of_PreluSlope, true);
}

// The result itself stands for the operand that is not repeated; nothing reads it.
KernelOffer fast_expand(const ir::Node& node) {
  const Shape& y = node.output()->shape();
  const RepeatPlan plan(y, node.input(0)->shape(), y);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    plan.for_each(step.part, {.a = args.out(), .b = args.in(0), .y = args.out()}, rows_of_CopyPair);
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
