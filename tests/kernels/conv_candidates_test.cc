// Compares the Winograd, direct and oneDNN candidates of convolutions and dense layers with the
// reference.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/conv_case.h"
#include "tests/support/expect_error.h"
#include "tests/support/isa.h"
#include "tests/support/kernel_case.h"

namespace pando::test {
namespace {

const std::vector<ConvCase>& conv_cases() {
  static const std::string same = "same";
  static const std::string with_pads = "explicit";
  static const std::vector<ConvCase> cases = {
      {{1, 5, 5, 1}, {3, 3, 1, 1}},
      {{2, 9, 7, 1}, {3, 3, 1, 32}},
      {{3, 8, 8, 3}, {3, 3, 3, 16}, {{"padding", same}}},
      {{2, 7, 9, 5}, {2, 3, 5, 17}, {{"padding", same}, {"strides", ir::Ints{2, 2}}}},
      {{2, 8, 8, 16}, {3, 3, 16, 16}, {{"padding", same}}},
      {{1, 8, 8, 16}, {1, 1, 16, 32}, {{"strides", ir::Ints{2, 2}}}},
      {{2, 6, 6, 17}, {6, 6, 17, 5}},
      {{1, 11, 10, 4}, {2, 2, 4, 8}, {{"strides", ir::Ints{3, 4}}}},
      {{2, 9, 9, 6}, {3, 3, 6, 8}, {{"dilations", ir::Ints{2, 2}}}},
      {{2, 7, 7, 8}, {3, 3, 4, 6}, {{"groups", int64_t{2}}, {"padding", same}}},
      {{2, 6, 7, 3},
       {3, 2, 3, 5},
       {{"padding", with_pads}, {"pads", ir::Ints{2, 0, 1, 3}}, {"strides", ir::Ints{2, 1}}}},
      {{1, 5, 6, 4, 4}, {2, 2, 2, 4, 16}, {{"padding", same}}},
      {{2, 4, 5, 6, 3}, {3, 3, 3, 3, 5}, {{"strides", ir::Ints{2, 1, 2}}, {"padding", same}}},
      {{1, 32, 32, 32}, {3, 3, 32, 32}, {{"padding", same}}},
      {{3, 13, 15, 33}, {3, 3, 33, 48}},
      {{2, 9, 11, 20}, {3, 3, 1, 20}, {{"groups", int64_t{20}}, {"padding", same}}},
      {{2, 17, 16, 27},
       {3, 3, 1, 27},
       {{"groups", int64_t{27}}, {"padding", same}, {"strides", ir::Ints{2, 2}}}},
      {{1, 13, 12, 40},
       {5, 7, 1, 40},
       {{"groups", int64_t{40}}, {"padding", same}, {"strides", ir::Ints{3, 1}}}},
      {{1, 14, 15, 16},
       {3, 2, 1, 16},
       {{"groups", int64_t{16}}, {"padding", same}, {"dilations", ir::Ints{2, 3}}}},
      {{1, 3, 2, 9},
       {5, 4, 1, 9},
       {{"groups", int64_t{9}}, {"padding", same}, {"strides", ir::Ints{1, 2}}}},
      {{2, 9, 8, 40}, {3, 3, 2, 40}, {{"groups", int64_t{20}}, {"padding", same}}},
      {{1, 9, 13, 52},
       {3, 3, 4, 52},
       {{"groups", int64_t{13}}, {"padding", same}, {"strides", ir::Ints{2, 2}}}},
      {{2, 7, 10, 24}, {3, 2, 8, 24}, {{"groups", int64_t{3}}, {"padding", same}}},
      {{1, 6, 5, 6}, {1, 1, 2, 6}, {{"groups", int64_t{3}}}},
      {{2, 7, 6, 10},
       {3, 3, 1, 20},
       {{"groups", int64_t{10}}, {"padding", same}, {"strides", ir::Ints{1, 2}}}},
      {{2, 9, 11, 7}, {3, 3, 1, 21}, {{"groups", int64_t{7}}, {"padding", same}}},
      {{1, 4, 5, 6, 12},
       {2, 3, 3, 4, 12},
       {{"groups", int64_t{3}}, {"padding", same}, {"strides", ir::Ints{1, 2, 2}}}},
      {{2, 5, 6, 7, 10},
       {3, 2, 3, 1, 10},
       {{"groups", int64_t{10}}, {"padding", same}, {"strides", ir::Ints{2, 1, 2}}}},
  };
  return cases;
}

ir::Ints spatial(const Shape& shape) { return {shape.begin() + 1, shape.end() - 1}; }

TEST(ConvCandidates, ForwardAgrees) {
  int offered = 0;
  for (const ConvCase& c : conv_cases()) {
    for (const std::string& activation : all_activations()) {
      BoundCase bound(conv(c, true, activation));
      bound.map_input(1, [](float x) { return 2 * x; });
      SCOPED_TRACE(activation);
      offered += bound.expect_agreement({.tolerance = tolerance_with(activation)});
    }
    offered += BoundCase(conv(c, false)).expect_agreement();
  }
  EXPECT_GT(offered, 10 * static_cast<int>(conv_cases().size()));  // of 14; oneDNN lacks some
}

TEST(ConvCandidates, ForwardWithResidualAgrees) {
  int offered = 0;
  for (const ConvCase& c : conv_cases()) {
    for (const char* activation : {"none", "leaky_relu"}) {
      KernelCase residual = conv(c, true, activation);
      residual.inputs.push_back(BoundCase(residual).node().output()->type());
      offered += BoundCase(residual).expect_agreement();
    }
  }
  EXPECT_GT(offered, 2 * static_cast<int>(conv_cases().size()));
}

// Groups narrower than a vector have a kernel of their own that fills the vectors.
TEST(ConvCandidates, NarrowGroupsFillVectors) {
  const auto offer = [](const Shape& x, const Shape& filter, int64_t groups) {
    return BoundCase(conv({x, filter, {{"groups", groups}}}, false)).offer("depthwise");
  };
  EXPECT_EQ(offer({1, 5, 5, 12}, {3, 3, 1, 12}, 12).kernel->name(), "depthwise:3x3");
  EXPECT_EQ(offer({1, 5, 5, 12}, {3, 3, 2, 12}, 6).kernel->name(), "grouped:2");
  EXPECT_EQ(offer({1, 5, 5, 12}, {3, 3, 1, 24}, 12).kernel->name(), "depthwise:3x3 of 2x");
  EXPECT_SAYS(offer({1, 5, 5, 12}, {3, 3, 12, 12}, 1).refusal, "no groups");
  EXPECT_SAYS(offer({1, 5, 5, 12}, {3, 3, 2, 6}, 6).refusal, "one side");
  EXPECT_SAYS(offer({1, 5, 5, 12}, {3, 3, 3, 12}, 4).refusal, "groups of 3");
  EXPECT_SAYS(offer({1, 5, 5, 64}, {3, 3, 16, 64}, 4).refusal, "groups of 16");
  const SetIsa sse2("sse2");
  EXPECT_SAYS(offer({1, 5, 5, 12}, {3, 3, 4, 12}, 3).refusal, "direct");
}

TEST(ConvCandidates, InputGradAgrees) {
  int offered = 0;
  for (const ConvCase& c : conv_cases()) {
    const BoundCase forward(conv(c, false));
    ir::Attributes attributes = c.attributes;
    attributes.set("input", spatial(c.x));
    const BoundCase bound({.op = "conv_input_grad",
                           .inputs = {forward.node().output()->type(), f32(c.filter)},
                           .attributes = attributes});
    offered += bound.expect_agreement();
  }
  EXPECT_GT(offered, static_cast<int>(conv_cases().size()));
}

// oneDNN judges too: its input gradient has nothing in common with the other candidates.
TEST(ConvCandidates, TransposeAgrees) {
  int offered = 0;
  int onednn = 0;
  for (const ConvCase& c : conv_cases()) {
    const BoundCase forward(conv(c, false));
    ir::Attributes attributes = c.attributes;
    attributes.set("output", spatial(c.x));
    attributes.set("alpha", 0.125);
    KernelCase one{.op = "conv_transpose",
                   .inputs = {forward.node().output()->type(), f32(c.filter)},
                   .attributes = attributes};
    offered += BoundCase(one).expect_agreement();
    one.inputs.push_back(f32({c.x.back()}));
    for (const std::string& activation : all_activations()) {
      one.attributes.set("activation", activation);
      const BoundCase bound(one);
      offered += bound.expect_agreement({.tolerance = tolerance_with(activation)});
      onednn += bound.offer("onednn").kernel != nullptr ? 1 : 0;
    }
  }
  const int cases = static_cast<int>(conv_cases().size() * all_activations().size());
  EXPECT_GT(offered, cases);
  EXPECT_GT(onednn, cases / 2);
}

TEST(ConvCandidates, FilterGradAgrees) {
  int offered = 0;
  for (const ConvCase& c : conv_cases()) {
    const BoundCase forward(conv(c, false));
    ir::Attributes attributes = c.attributes;
    attributes.set("filter", ir::Ints(c.filter.begin(), c.filter.end() - 2));
    for (const int outputs : {1, 2}) {
      const BoundCase bound({.op = "conv_filter_grad",
                             .inputs = {f32(c.x), forward.node().output()->type()},
                             .attributes = attributes,
                             .outputs = outputs});
      offered += bound.expect_agreement({.tolerance = 2e-5});
    }
  }
  EXPECT_GT(offered, 2 * static_cast<int>(conv_cases().size()));
}

TEST(ConvCandidates, ConvPoolAgrees) {
  for (const ConvCase& c : conv_cases()) {
    const BoundCase plain(conv(c, false));
    const Shape& y = plain.node().output()->shape();
    if (y[1] < 2 || y[2] < 2 || (y.rank() == 5 && y[3] < 2)) continue;
    KernelCase pooled = conv(c, true, "relu");
    pooled.op = "conv_pool";
    pooled.outputs = 2;
    pooled.attributes.set("window", ir::Ints(static_cast<size_t>(y.rank() - 2), 2));
    BoundCase bound(pooled);
    // With whole numbers every sum is exact, so the same element of a window must win.
    bound.map_input(0, [](float v) { return std::round(2 * v); });
    bound.map_input(1, [](float v) { return std::round(2 * v); });
    bound.map_input(2, [](float v) { return std::round(2 * v); });
    EXPECT_GE(bound.expect_agreement({.tolerance = 0}), 1);
  }
}

TEST(DenseCandidates, Agree) {
  int offered = 0;
  for (const DenseCase& d : {DenseCase{1, 1, 1}, DenseCase{1, 400, 10}, DenseCase{7, 33, 17},
                             DenseCase{64, 128, 10}, DenseCase{5, 3, 40}, DenseCase{3, 64, 64}}) {
    const ir::TensorType x = f32({d.batch, d.features});
    const ir::TensorType y = f32({d.batch, d.units});
    const ir::TensorType filter = f32({d.features, d.units});
    for (const std::string& activation : all_activations()) {
      const ir::Attributes attributes{{"activation", activation}, {"alpha", 0.5}};
      offered +=
          BoundCase(
              {.op = "dense", .inputs = {x, filter, f32({d.units})}, .attributes = attributes})
              .expect_agreement();
    }
    offered += BoundCase({.op = "dense", .inputs = {x, filter}}).expect_agreement();
    offered += BoundCase({.op = "dense_input_grad", .inputs = {y, filter}}).expect_agreement();
    for (const int outputs : {1, 2}) {
      offered += BoundCase({.op = "dense_filter_grad", .inputs = {x, y}, .outputs = outputs})
                     .expect_agreement();
    }
  }
  EXPECT_GT(offered, 6 * 7);
}

// Several threads run one kernel, each with its own arguments.
TEST(ConvCandidates, OneKernelRunsInSeveralThreads) {
  const ConvCase c{{4, 8, 8, 32}, {3, 3, 32, 32}, {{"padding", std::string("same")}}};
  const BoundCase bound(conv(c, true));
  const auto step = bound.step({});
  const auto wanted = bound.run(bound.offer("reference"), step);
  for (const char* candidate : {"winograd4", "winograd", "direct", "onednn"}) {
    const kernels::KernelOffer offer = bound.offer(candidate);
    ASSERT_NE(offer.kernel, nullptr) << offer.refusal;
    std::vector<std::vector<Buffer>> results(4);
    std::vector<std::thread> threads;
    for (auto& result : results) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5; ++i) result = bound.run(offer, step);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& result : results) {
      expect_close(bound.node(), result, wanted, 1e-5, candidate);
    }
  }
}

}  // namespace
}  // namespace pando::test
