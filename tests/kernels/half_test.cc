// Kernels with 16-bit operands: tiles, noise and partial sums. All other kernel tests compare them
// in f16 too.
// SPDX-License-Identifier: MIT
#include "pando/tensor/half.h"

#include <cfenv>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pando/base/strings.h"
#include "pando/kernels/half/cutting.h"
#include "pando/kernels/half/partials.h"
#include "tests/support/kernel_case.h"
#include "tests/support/run_graph.h"

namespace pando::test {
namespace {

ir::Attributes same() { return {{"padding", std::string("same")}}; }

// The batches are larger than a tile, and the last tile is smaller.
TEST(HalfKernels, TilesCoverEverySample) {
  for (const int64_t batch : {1, 5, 7}) {
    const BoundCase conv({.op = "conv",
                          .inputs = {f32({batch, 48, 40, 16}), f32({3, 3, 16, 16}), f32({16})},
                          .attributes = same()});
    const BoundCase grad(
        {.op = "conv_filter_grad",
         .inputs = {f32({batch, 48, 40, 16}), f32({batch, 48, 40, 16})},
         .attributes = {{"padding", std::string("same")}, {"filter", ir::Ints{3, 3}}},
         .outputs = 2});
    const BoundCase norm({.op = "batch_moments", .inputs = {f32({batch, 64, 64, 16})}});
    for (const DType half : {DType::f16, DType::bf16}) {
      const double tolerance = half == DType::f16 ? 0x1p-10 : 0x1p-7;
      const Agreement agreement{.tolerance = tolerance, .half = false};
      EXPECT_GT(conv.lowered(half).expect_agreement(agreement), 0);
      EXPECT_GT(grad.lowered(half).expect_agreement(agreement), 0);
      EXPECT_GT(norm.lowered(half).expect_agreement(agreement), 0);
    }
  }
}

TEST(HalfKernels, TheRecordOfTheOpSaysHowItIsCut) {
  namespace half = kernels::half;
  const auto cut = [](const std::string& inputs, const std::string& node) {
    const ir::Graph graph = typed_graph(concat("graph(", inputs, ") { ", node, " return }"));
    return half::cut_of(*graph.nodes()[0]);
  };
  const half::Cut dense = cut("x: f32[6,4] feed, k: f32[4,3] variable", "y = dense(x, k)");
  EXPECT_EQ(dense.unit, half::Unit::sample);
  EXPECT_EQ(dense.inputs, (std::vector{half::Share::rows, half::Share::whole}));
  EXPECT_EQ(dense.units, 6);
  const half::Cut moments = cut("x: f32[2,3,5,4] feed", "m = batch_moments(x)");
  EXPECT_EQ(moments.unit, half::Unit::pixel);
  EXPECT_EQ(moments.outputs, std::vector{half::Share::moments});
  EXPECT_EQ(moments.units, 30);
  const half::Cut sums = cut("x: f32[6,4] feed, dy: f32[6,3] feed", "k = dense_filter_grad(x, dy)");
  EXPECT_EQ(sums.outputs, std::vector{half::Share::sum});
}

TEST(HalfKernels, ConcatenationsMayBeLong) {
  KernelCase concat{.op = "concat", .attributes = {{"axis", int64_t{3}}}};
  concat.inputs.assign(40, f32({2, 4, 4, 3}));
  EXPECT_EQ(BoundCase(concat).lowered(DType::f16).expect_agreement({.half = false}), 1);
}

TEST(HalfKernels, AnOperandIsNeverWidenedAsAWhole) {
  const BoundCase conv(
      {.op = "conv", .inputs = {f32({64, 64, 64, 32}), f32({3, 3, 32, 32})}, .attributes = same()});
  const auto offer = conv.lowered(DType::f16).offer("direct");
  ASSERT_NE(offer.kernel, nullptr);
  EXPECT_LT(offer.kernel->scratch_bytes(), size_t{4} << 20);  // x and y have 33 MB each in f32
}

// The noise of an element depends only on seed, node, sample and position.
TEST(HalfKernels, NoiseBelongsToTheSample) {
  const ir::Attributes noisy = {{"half_rounding", std::string("stochastic")},
                                {"half_stream", int64_t{3}}};
  const BoundCase add =
      BoundCase({.op = "add", .inputs = {f32({6, 30, 50, 16}), f32({6, 30, 50, 16})}})
          .lowered(DType::f16, noisy);
  const auto fast = add.offer("fast");
  const kernels::StepArgs step = add.step({.first_sample = 100});
  const auto whole = add.run(fast, step);
  expect_close(add.node(), add.run(add.offer("reference"), step), whole, 0, "reference");
  expect_close(add.node(), add.run_parts(fast, step, 3), whole, 0, "parts");
  // Runs sample 2 of this batch as sample 0 of a batch that begins with it.
  BoundCase later = BoundCase({.op = "add", .inputs = {f32({6, 30, 50, 16}), f32({6, 30, 50, 16})}})
                        .lowered(DType::f16, noisy);
  const size_t sample = size_t{30} * 50 * 16;
  for (int i = 0; i < 2; ++i) {
    std::memcpy(later.input(i).data(),
                reinterpret_cast<const std::byte*>(halves(later.input(i)) + 2 * sample),
                2 * sample);
  }
  const auto shifted = later.run(fast, later.step({.first_sample = 102}));
  EXPECT_EQ(std::memcmp(halves(shifted[0]), halves(whole[0]) + 2 * sample, 2 * sample), 0);
  // Another sample has different noise, and so has another node.
  kernels::StepArgs moved = step;
  moved.first_sample = 101;
  EXPECT_NE(std::memcmp(halves(add.run(fast, moved)[0]), halves(whole[0]), 2 * sample), 0);
}

TEST(HalfKernels, OverflowSaturatesOrGivesNan) {
  const KernelCase scale{.op = "scale", .inputs = {f32({2, 3})}, .attributes = {{"factor", 1e6}}};
  BoundCase bound(scale);
  bound.map_input(0, [](float) { return -2.0f; });
  const auto largest = bound.lowered(DType::f16);
  std::feclearexcept(FE_ALL_EXCEPT);
  EXPECT_EQ(halves(largest.run(largest.offer("fast"), largest.step({}))[0])[5], 0xfbff);
  EXPECT_NE(std::fetestexcept(FE_OVERFLOW), 0);
  const auto nan = bound.lowered(DType::f16, {{"half_overflow", std::string("nan")}});
  EXPECT_TRUE(std::isnan(from_f16(halves(nan.run(nan.offer("fast"), nan.step({}))[0])[5])));
  std::feclearexcept(FE_ALL_EXCEPT);
}

const ir::Attributes& partials() {
  static const ir::Attributes marks = {{"half_partials", int64_t{1}}};
  return marks;
}

TEST(HalfPartials, AllCandidatesAgree) {
  const std::vector<KernelCase> cases = {
      {.op = "conv",
       .inputs = {f32({3, 9, 11, 40}), f32({3, 3, 40, 24}), f32({24})},
       .attributes = {{"padding", std::string("same")}, {"activation", std::string("relu")}}},
      {.op = "conv", .inputs = {f32({5, 8, 8, 16}), f32({1, 1, 16, 8})}},
      {.op = "conv",
       .inputs = {f32({2, 8, 8, 8}), f32({3, 3, 1, 8})},
       .attributes = {{"groups", int64_t{8}}}},
      {.op = "conv_input_grad",
       .inputs = {f32({3, 9, 11, 40}), f32({3, 3, 24, 40})},
       .attributes = {{"padding", std::string("same")}, {"input", ir::Ints{9, 11}}}},
      {.op = "conv_transpose",
       .inputs = {f32({3, 5, 6, 40}), f32({2, 2, 24, 40}), f32({24})},
       .attributes = {{"strides", ir::Ints{2, 2}},
                      {"output", ir::Ints{10, 12}},
                      {"activation", std::string("relu")}}},
      {.op = "conv_filter_grad",
       .inputs = {f32({4, 9, 11, 24}), f32({4, 9, 11, 40})},
       .attributes = {{"padding", std::string("same")}, {"filter", ir::Ints{3, 3}}},
       .outputs = 2},
      {.op = "dense", .inputs = {f32({7, 100}), f32({100, 33}), f32({33})}},
      {.op = "dense_input_grad", .inputs = {f32({7, 100}), f32({33, 100})}},
      {.op = "dense_filter_grad", .inputs = {f32({7, 100}), f32({7, 33})}, .outputs = 2},
  };
  for (const KernelCase& one : cases) {
    const BoundCase bound = BoundCase(one).lowered(DType::f16, partials());
    // Rounding differences of the partial sums add up.
    EXPECT_GT(bound.expect_agreement({.tolerance = 0x1p-8, .half = false}), 0) << one.op;
    EXPECT_EQ(bound.offer("reference").kernel->name(), "f16:partials of reference") << one.op;
  }
}

// 2048 + 1 + 1: each addition of 1 is lost in half precision, the addition of their sum is not.
TEST(HalfPartials, BlocksOfSixteenChannelsAreRounded) {
  BoundCase dense({.op = "dense", .inputs = {f32({1, 48}), f32({48, 1})}});
  int at = 0;
  dense.map_input(0, [&](float) {
    const int i = at++;
    return i == 0 ? 2048.0f : i == 16 || i == 47 ? 1.0f : 0.0f;
  });
  dense.map_input(1, [](float) { return 1.0f; });
  for (const char* candidate : {"direct", "reference"}) {
    const BoundCase plain = dense.lowered(DType::f16);
    EXPECT_EQ(from_f16(*halves(plain.run(plain.offer(candidate), plain.step({}))[0])), 2050);
    const BoundCase rounded = dense.lowered(DType::f16, partials());
    EXPECT_EQ(from_f16(*halves(rounded.run(rounded.offer(candidate), rounded.step({}))[0])), 2048);
  }
}

TEST(HalfPartials, FilterGradientsAreRoundedAfterEverySample) {
  BoundCase grad({.op = "dense_filter_grad", .inputs = {f32({3, 1}), f32({3, 1})}, .outputs = 2});
  int at = 0;
  grad.map_input(0, [&](float) { return at++ == 0 ? 2048.0f : 1.0f; });
  grad.map_input(1, [](float) { return 1.0f; });
  for (const char* candidate : {"direct", "reference"}) {
    const BoundCase plain = grad.lowered(DType::f16);
    EXPECT_EQ(from_f16(*halves(plain.run(plain.offer(candidate), plain.step({}))[0])), 2050);
    const BoundCase rounded = grad.lowered(DType::f16, partials());
    EXPECT_EQ(from_f16(*halves(rounded.run(rounded.offer(candidate), rounded.step({}))[0])), 2048);
  }
}

}  // namespace
}  // namespace pando::test
