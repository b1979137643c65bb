// Compares the fast kernels of repeated operands, reductions, permutations and products of
// activations with the reference.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/conv_case.h"

namespace pando::test {
namespace {

struct Pair {
  Shape a;
  Shape b;
};

const std::vector<Pair>& repeated_pairs() {
  static const std::vector<Pair> list = {
      {{2, 7, 5, 17}, {2, 7, 5, 17}}, {{3, 30, 30, 3}, {3, 1, 1, 3}},
      {{2, 9, 9, 64}, {2, 64}},       {{2, 9, 7, 5}, {2, 9, 7, 1}},
      {{2, 6, 1, 5}, {2, 1, 7, 5}},   {{2, 1, 5}, {2, 4, 5}},
      {{2, 3, 5, 4, 3}, {2}},         {{1, 20000}, {1, 20000}},
      {{1, 3, 9000}, {1, 1, 9000}},   {{2, 1}, {2, 1}}};
  return list;
}

float away_from_zero(float x) { return x < 0 ? x - 0.5f : x + 0.5f; }

TEST(FastBroadcast, ArithmeticAgrees) {
  for (const Pair& shapes : repeated_pairs()) {
    for (const char* op : {"add", "subtract", "multiply", "divide", "maximum", "minimum"}) {
      BoundCase bound({.op = op, .inputs = {f32(shapes.a), f32(shapes.b)}});
      bound.map_input(1, away_from_zero);
      EXPECT_EQ(bound.expect_agreement({.tolerance = 1e-6}), 1) << op;
    }
    for (const std::string& activation : all_activations()) {
      BoundCase bound({.op = "add",
                       .inputs = {f32(shapes.a), f32(shapes.b)},
                       .attributes = {{"activation", activation}, {"alpha", 0.125}}});
      EXPECT_EQ(bound.expect_agreement(), 1);
    }
    const Shape whole =
        BoundCase({.op = "add", .inputs = {f32(shapes.a), f32(shapes.b)}}).node().output()->shape();
    EXPECT_EQ(
        BoundCase({.op = "keep_at_least", .inputs = {f32(shapes.a), f32(shapes.b), f32(whole)}})
            .expect_agreement({.half = false}),
        1);
    EXPECT_EQ(
        BoundCase(
            {.op = "expand", .inputs = {f32(shapes.b)}, .attributes = {{"shape", whole.dims()}}})
            .expect_agreement(),
        1);
  }
}

TEST(FastBroadcast, ExtremesKeepWhatIsNotANumber) {
  for (const char* op : {"maximum", "minimum"}) {
    for (const int input : {0, 1}) {
      BoundCase bound({.op = op, .inputs = {f32({1, 20}), f32({1, 20})}});
      bound.map_input(input, [](float) { return std::nanf(""); });
      for (const char* candidate : {"reference", "fast"}) {
        const auto got = bound.run(bound.offer(candidate), bound.step({}));
        for (int i = 0; i < 20; ++i) EXPECT_TRUE(std::isnan(got[0].floats()[i])) << candidate;
      }
    }
  }
}

TEST(FastBroadcast, SlopesCountOnlyWhereDyIsNotZero) {
  BoundCase bound({.op = "times_slope", .inputs = {f32({2, 37}), f32({2, 37})}});
  EXPECT_EQ(bound.expect_agreement(), 1);
  bound.map_input(0, [](float) { return 0.0f; });
  bound.map_input(1, [](float) { return INFINITY; });
  for (const char* candidate : {"reference", "fast"}) {
    const auto got = bound.run(bound.offer(candidate), bound.step({}));
    for (int i = 0; i < 74; ++i) EXPECT_EQ(got[0].floats()[i], 0) << candidate;
  }
}

TEST(FastBroadcast, PreluAgrees) {
  const Shape x{3, 9, 7, 20};
  for (const Shape& alpha :
       {Shape{1, 1, 20}, Shape{9, 7, 20}, Shape{9, 1, 20}, Shape{1, 7, 1}, Shape{1, 1, 1}}) {
    EXPECT_EQ(BoundCase({.op = "prelu", .inputs = {f32(x), f32(alpha)}}).expect_agreement(), 1);
    EXPECT_EQ(BoundCase({.op = "prelu_input_grad", .inputs = {f32(x), f32(alpha), f32(x)}})
                  .expect_agreement(),
              1);
    BoundCase sums(
        {.op = "prelu_sums", .inputs = {f32(x), f32(x)}, .attributes = {{"shape", alpha.dims()}}});
    for (const int64_t valid : {3, 2, 0}) {
      EXPECT_EQ(sums.expect_agreement({.valid = valid}), 1) << alpha;
    }
  }
}

TEST(FastReduce, Agrees) {
  for (const Shape& x :
       {Shape{2, 9, 7, 5}, Shape{3, 4, 3, 40}, Shape{2, 100, 1, 1}, Shape{1, 70, 70, 3}}) {
    for (const ir::Ints& axes : {ir::Ints{}, ir::Ints{1}, ir::Ints{2}, ir::Ints{3}, ir::Ints{1, 2},
                                 ir::Ints{2, 3}, ir::Ints{1, 3}, ir::Ints{1, 2, 3}}) {
      for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"}) {
        BoundCase bound({.op = op, .inputs = {f32(x)}, .attributes = {{"axes", axes}}});
        EXPECT_EQ(bound.expect_agreement(), 1) << op << x << ir::to_text(axes);
      }
      EXPECT_EQ(BoundCase({.op = "reduce_sum",
                           .inputs = {f32(x), f32(x)},
                           .attributes = {{"axes", axes}, {"keepdims", int64_t{1}}}})
                    .expect_agreement(),
                1);
      Shape kept = x;
      for (const int64_t axis : axes) kept[static_cast<int>(axis)] = 1;
      BoundCase grad({.op = "reduce_extreme_grad",
                      .inputs = {f32(kept), f32(x), f32(kept)},
                      .attributes = {{"axes", axes}}});
      for (const int input : {1, 2}) grad.map_input(input, [](float v) { return std::round(v); });
      EXPECT_EQ(grad.expect_agreement({.half = false}), 1) << x << ir::to_text(axes);
    }
  }
}

// A sum of 1e5 elements whose mean is far from zero.
TEST(FastReduce, LongSumsStayAccurate) {
  for (const Shape& x : {Shape{1, 100000, 1}, Shape{1, 25000, 4}, Shape{1, 3000, 40}}) {
    BoundCase bound(
        {.op = "reduce_mean", .inputs = {f32(x)}, .attributes = {{"axes", ir::Ints{1}}}});
    bound.map_input(0, [](float value) { return 100 + value; });
    EXPECT_EQ(bound.expect_agreement({.tolerance = 1e-6, .half = false}), 1);
  }
}

TEST(FastTranspose, Agrees) {
  for (const Shape& x : {Shape{2, 20, 3, 33}, Shape{1, 5, 1, 40}, Shape{3, 1, 1, 1}}) {
    for (const ir::Ints& perm :
         {ir::Ints{0, 1, 2, 3}, ir::Ints{0, 2, 1, 3}, ir::Ints{0, 3, 1, 2}, ir::Ints{0, 2, 3, 1},
          ir::Ints{0, 3, 2, 1}, ir::Ints{0, 1, 3, 2}}) {
      BoundCase bound({.op = "transpose", .inputs = {f32(x)}, .attributes = {{"perm", perm}}});
      EXPECT_EQ(bound.expect_agreement({.tolerance = 0}), 1) << x << ir::to_text(perm);
    }
  }
}

TEST(FastMatMul, Agrees) {
  struct Product {
    int64_t rows;
    int64_t inner;
    int64_t columns;
  };
  for (const auto& [rows, inner, columns] :
       {Product{1, 1, 1}, Product{7, 5, 17}, Product{50, 33, 16}, Product{100, 64, 40}}) {
    for (const int64_t ta : {0, 1}) {
      for (const int64_t tb : {0, 1}) {
        const Shape a = ta == 1 ? Shape{2, 3, inner, rows} : Shape{2, 3, rows, inner};
        const Shape b = tb == 1 ? Shape{2, 3, columns, inner} : Shape{2, 3, inner, columns};
        BoundCase bound({.op = "matmul",
                         .inputs = {f32(a), f32(b)},
                         .attributes = {{"transpose_a", ta}, {"transpose_b", tb}}});
        EXPECT_EQ(bound.expect_agreement(), 1);
        EXPECT_EQ(bound.lowered(DType::f16, {{"half_partials", int64_t{1}}})
                      .expect_agreement({.tolerance = 0x1p-9, .half = false}),
                  1);
      }
    }
  }
}

}  // namespace
}  // namespace pando::test
