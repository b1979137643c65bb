// Reductions over axes, and the sums of PReLU's gradient. Long sums are computed in f32 over runs,
// and the runs are added in f64.
// SPDX-License-Identifier: MIT
#include <vector>

#include "pando/kernels/fast/class_rows.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

using fast::Range;
using fast::ScratchCutter;

constexpr int64_t kRunRows = 64;        // rows that are summed in f32
constexpr int64_t kRunElements = 4096;  // elements that are summed in f32
constexpr int64_t kNarrow = 32;         // shorter rows are joined

// x as blocks [outer][reduced0][kept0][reduced1][kept1]. Each block gives kept0 * kept1 results.
struct ReducePlan {
  // `reduced` says which axes of `shape` are reduced.
  ReducePlan(const Shape& shape, const std::vector<bool>& reduced) {
    std::vector<int64_t> groups = {1};  // kept, reduced, kept, ...
    bool reducing = false;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 1) continue;
      if (reduced[static_cast<size_t>(axis)] != reducing) {
        groups.push_back(1);
        reducing = !reducing;
      }
      groups.back() *= shape[axis];
    }
    if (groups.size() == 1) groups.insert(groups.begin(), {1, 1});  // one row of results
    if (groups.size() % 2 == 0) groups.push_back(1);
    if (groups.size() == 3) groups.insert(groups.begin() + 1, {1, 1});
    outer = groups[0];
    reduced0 = groups[1];
    kept0 = groups[2];
    reduced1 = groups[3];
    kept1 = groups[4];
  }
  int64_t results() const { return kept0 * kept1; }
  int64_t elements() const { return reduced0 * kept0 * reduced1 * kept1; }
  double count() const { return static_cast<double>(reduced0 * reduced1); }
  // Rows of a block that are joined to one.
  int64_t joined() const { return kept1 < kNarrow ? std::min(2 * kNarrow / kept1, reduced1) : 1; }

  int64_t outer = 1;
  int64_t reduced0 = 1;
  int64_t kept0 = 1;
  int64_t reduced1 = 1;
  int64_t kept1 = 1;
};

ReducePlan plan_of(const ir::Node& node, const Shape& x) {
  std::vector<bool> reduced(static_cast<size_t>(x.rank()), false);
  for (const int64_t axis : ops::ints_attribute(node, "axes")) {
    reduced[static_cast<size_t>(axis)] = true;
  }
  return {x, reduced};
}

struct PlainTerm {
  PANDO_INLINE static float value(float x, float) { return x; }
};
struct ProductTerm {
  PANDO_INLINE static float value(float x, float factor) { return x * factor; }
};
// dy times the x that are not positive.
struct PreluTerm {
  PANDO_INLINE static float value(float dy, float x) { return x > 0 ? 0.0f : dy * x; }
};

template <typename Term>
PANDO_INLINE float sum_run(const float* x, const float* factor, int64_t count) {
  return fast::sum_lanes(
      count, [=](int64_t k)
                 __attribute__((always_inline)) { return Term::value(x[k], factor[k]); });
}

// sums += the rows of x.
template <typename Term>
PANDO_INLINE void sum_rows(const float* x, const float* factor, float* sums, int64_t rows,
                           int64_t length) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = x + row * length;
    const float* by = factor + row * length;
#pragma GCC ivdep
    for (int64_t i = 0; i < length; ++i) sums[i] += Term::value(from[i], by[i]);
  }
}

#define PANDO_SUM_LOOPS(Term)                                                                  \
  PANDO_MULTIVERSION float run_of_##Term(const float* x, const float* factor, int64_t count) { \
    return sum_run<Term>(x, factor, count);                                                    \
  }                                                                                            \
  PANDO_MULTIVERSION void rows_of_##Term(const float* x, const float* factor, float* sums,     \
                                         int64_t rows, int64_t length) {                       \
    sum_rows<Term>(x, factor, sums, rows, length);                                             \
  }
PANDO_SUM_LOOPS(PlainTerm)
PANDO_SUM_LOOPS(ProductTerm)
PANDO_SUM_LOOPS(PreluTerm)
#undef PANDO_SUM_LOOPS

struct SumLoops {
  float (*run)(const float*, const float*, int64_t);
  void (*rows)(const float*, const float*, float*, int64_t, int64_t);
};

struct SumScratch {
  SumScratch(const ReducePlan& plan, int64_t results, std::byte* memory) {
    ScratchCutter cutter(memory);
    totals = reinterpret_cast<double*>(cutter.bytes(static_cast<size_t>(results) * sizeof(double)));
    row = cutter.floats(plan.kept1 * plan.joined());
    bytes = cutter.used();
  }
  double* totals;
  float* row;
  size_t bytes;
};

// Adds the sums over `rows` rows of kept1 elements to the totals.
void add_rows_to(const ReducePlan& plan, const SumLoops& loops, const float* x, const float* factor,
                 int64_t rows, float* row, double* totals) {
  const int64_t joined = rows >= plan.joined() ? plan.joined() : 1;
  const int64_t length = plan.kept1 * joined;
  const int64_t steps = rows / joined;
  for (int64_t at = 0; at < steps; at += kRunRows) {
    std::fill_n(row, length, 0.0f);
    loops.rows(x + at * length, factor + at * length, row, std::min(kRunRows, steps - at), length);
    for (int64_t j = 0; j < joined; ++j) {
      for (int64_t i = 0; i < plan.kept1; ++i) totals[i] += row[j * plan.kept1 + i];
    }
  }
  const int64_t rest = rows - steps * joined;
  if (rest == 0) return;
  std::fill_n(row, plan.kept1, 0.0f);
  loops.rows(x + steps * length, factor + steps * length, row, rest, plan.kept1);
  for (int64_t i = 0; i < plan.kept1; ++i) totals[i] += row[i];
}

// Adds the sums of one block to the totals.
void add_block(const ReducePlan& plan, const SumLoops& loops, const float* x, const float* factor,
               const SumScratch& scratch, double* totals) {
  const int64_t group = plan.reduced1 * plan.kept1;
  for (int64_t i = 0; i < plan.reduced0 * plan.kept0; ++i, x += group, factor += group) {
    double* results = totals + i % plan.kept0 * plan.kept1;
    if (plan.kept1 > 1) {
      add_rows_to(plan, loops, x, factor, plan.reduced1, scratch.row, results);
      continue;
    }
    for (int64_t at = 0; at < plan.reduced1; at += kRunElements) {
      *results += loops.run(x + at, factor + at, std::min(kRunElements, plan.reduced1 - at));
    }
  }
}

KernelOffer offer_sum(const ir::Node& node, const SumLoops& loops, bool mean) {
  const ReducePlan plan = plan_of(node, node.input(0)->shape());
  const double divisor = mean ? plan.count() : 1;
  const int64_t results = plan.results();
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const SumScratch scratch(plan, results, args.scratch);
    const Range blocks = fast::share(step.part, plan.outer);
    for (int64_t block = blocks.begin; block < blocks.end; ++block) {
      std::fill_n(scratch.totals, results, 0.0);
      const int64_t at = block * plan.elements();
      add_block(plan, loops, args.in(0) + at, args.in(args.num_inputs - 1) + at, scratch,
                scratch.totals);
      float* out = args.out() + block * results;
      for (int64_t i = 0; i < results; ++i) {
        out[i] = static_cast<float>(scratch.totals[i] / divisor);
      }
    }
  };
  return offer_function(
      "fast", run, {.splits = true, .scratch_bytes = SumScratch(plan, results, nullptr).bytes});
}

// The larger or the smaller number of each element of a row and the rows before it.
template <bool kLargest>
PANDO_INLINE void extreme_row(const float* x, float* best, int64_t length) {
#pragma GCC ivdep
  for (int64_t i = 0; i < length; ++i) {
    const bool better = kLargest ? x[i] > best[i] : x[i] < best[i];
    best[i] = better ? x[i] : best[i];
  }
}

template <bool kLargest>
PANDO_INLINE void extreme_block(const ReducePlan& plan, const float* x, float* out) {
  const int64_t group = plan.reduced1 * plan.kept1;
  for (int64_t i = 0; i < plan.reduced0 * plan.kept0; ++i, x += group) {
    float* best = out + i % plan.kept0 * plan.kept1;
    if (i < plan.kept0) std::copy_n(x, plan.kept1, best);
    if (plan.kept1 > 1) {
      for (int64_t row = 0; row < plan.reduced1; ++row) {
        extreme_row<kLargest>(x + row * plan.kept1, best, plan.kept1);
      }
      continue;
    }
    float single = *best;
    for (int64_t k = 0; k < plan.reduced1; ++k) {
      const bool better = kLargest ? x[k] > single : x[k] < single;
      single = better ? x[k] : single;
    }
    *best = single;
  }
}

PANDO_MULTIVERSION void largest_block(const ReducePlan& plan, const float* x, float* out) {
  extreme_block<true>(plan, x, out);
}
PANDO_MULTIVERSION void smallest_block(const ReducePlan& plan, const float* x, float* out) {
  extreme_block<false>(plan, x, out);
}

KernelOffer offer_extreme(const ir::Node& node,
                          void (*loop)(const ReducePlan&, const float*, float*)) {
  const ReducePlan plan = plan_of(node, node.input(0)->shape());
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const Range blocks = fast::share(step.part, plan.outer);
    for (int64_t block = blocks.begin; block < blocks.end; ++block) {
      loop(plan, args.in(0) + block * plan.elements(), args.out() + block * plan.results());
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

struct ExtremeGrad {
  const float* dy;
  const float* x;
  const float* y;
  float* dx;
};

// `shares` gets dy divided by the number of equal elements.
PANDO_MULTIVERSION void extreme_grad_block(const ReducePlan& plan, const ExtremeGrad& data,
                                           float* shares) {
  const int64_t results = plan.results();
  for (int64_t i = 0; i < results; ++i) shares[i] = 0;
  for (const bool writes : {false, true}) {
    const float* x = data.x;
    float* dx = data.dx;
    for (int64_t group = 0; group < plan.reduced0 * plan.kept0; ++group) {
      const int64_t at = group % plan.kept0 * plan.kept1;
      for (int64_t row = 0; row < plan.reduced1; ++row, x += plan.kept1, dx += plan.kept1) {
        const float* y = data.y + at;
        float* share = shares + at;
        if (writes) {
          for (int64_t i = 0; i < plan.kept1; ++i) dx[i] = x[i] == y[i] ? share[i] : 0.0f;
        } else {
          for (int64_t i = 0; i < plan.kept1; ++i) share[i] += x[i] == y[i] ? 1.0f : 0.0f;
        }
      }
    }
    // A NaN equals nothing, and its share is never read.
    if (!writes) {
      for (int64_t i = 0; i < results; ++i) {
        shares[i] = data.dy[i] / (shares[i] > 0 ? shares[i] : 1.0f);
      }
    }
  }
}

constexpr SumLoops kPlainSums{run_of_PlainTerm, rows_of_PlainTerm};
constexpr SumLoops kProductSums{run_of_ProductTerm, rows_of_ProductTerm};
constexpr SumLoops kPreluSums{run_of_PreluTerm, rows_of_PreluTerm};

}  // namespace

KernelOffer fast_reduce_sum(const ir::Node& node) {
  return offer_sum(node, node.num_inputs() > 1 ? kProductSums : kPlainSums, false);
}
KernelOffer fast_reduce_mean(const ir::Node& node) { return offer_sum(node, kPlainSums, true); }
KernelOffer fast_reduce_max(const ir::Node& node) { return offer_extreme(node, largest_block); }
KernelOffer fast_reduce_min(const ir::Node& node) { return offer_extreme(node, smallest_block); }

KernelOffer fast_reduce_extreme_grad(const ir::Node& node) {
  const ReducePlan plan = plan_of(node, node.input(1)->shape());
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const Range blocks = fast::share(step.part, plan.outer);
    for (int64_t block = blocks.begin; block < blocks.end; ++block) {
      const int64_t result = block * plan.results();
      const int64_t element = block * plan.elements();
      extreme_grad_block(plan,
                         {.dy = args.in(0) + result,
                          .x = args.in(1) + element,
                          .y = args.in(2) + result,
                          .dx = args.out() + element},
                         reinterpret_cast<float*>(args.scratch));
    }
  };
  return offer_function(
      "fast", run,
      {.splits = true, .scratch_bytes = static_cast<size_t>(plan.results()) * sizeof(float)});
}

KernelOffer fast_prelu_sums(const ir::Node& node) {
  const Shape& x = node.input(1)->shape();
  const Shape sample(std::vector<int64_t>(x.begin() + 1, x.end()));
  const Shape alpha = node.output()->shape();
  std::vector<bool> reduced;
  for (const int64_t extent : alpha) reduced.push_back(extent == 1);
  const ReducePlan plan(sample, reduced);
  const int64_t batch = x[0];
  const int64_t slopes = alpha.elements();
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const SumScratch scratch(plan, slopes, args.scratch);
    std::fill_n(scratch.totals, slopes, 0.0);
    Range samples = fast::share(step.part, batch);
    samples.end = std::min(samples.end, step.valid);
    for (int64_t block = samples.begin * plan.outer; block < samples.end * plan.outer; ++block) {
      const int64_t at = block * plan.elements();
      add_block(plan, kPreluSums, args.in(0) + at, args.in(1) + at, scratch,
                scratch.totals + block % plan.outer * plan.results());
    }
    for (int64_t i = 0; i < slopes; ++i) args.out()[i] = static_cast<float>(scratch.totals[i]);
  };
  return offer_function("fast", run,
                        {.splits = true, .scratch_bytes = SumScratch(plan, slopes, nullptr).bytes});
}

}  // namespace pando::kernels
