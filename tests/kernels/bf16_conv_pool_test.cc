// Compares pooled convolutions of bf16 numbers with the reference kernel.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/bf16_conv_pool.h"

#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/conv_case.h"
#include "tests/support/kernel_case.h"

namespace pando::test {
namespace {

using kernels::KernelOffer;

KernelCase pooled_case(const ConvCase& c, bool bias, const std::string& activation) {
  KernelCase result = conv(c, bias, activation);
  result.op = "conv_pool";
  result.outputs = 2;
  result.attributes.set("window", ir::Ints(c.x.rank() - 2, 2));
  return result;
}

// With whole numbers every sum is exact in any order, so all kernels find the same maximum.
BoundCase whole_numbers(const KernelCase& kernel_case) {
  BoundCase wide(kernel_case);
  for (int input = 0; input < wide.node().num_inputs(); ++input) {
    wide.map_input(input, [](float v) { return static_cast<float>(static_cast<int>(8 * v)); });
  }
  return wide.lowered(DType::bf16);
}

void expect_bits(const std::vector<Buffer>& got, const std::vector<Buffer>& wanted,
                 const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(std::memcmp(got[i].data(), wanted[i].data(), wanted[i].size()), 0)
        << what << ", output " << i;
  }
}

const std::vector<ConvCase>& pooled_conv_cases() {
  static const std::string same = "same";
  static const std::vector<ConvCase> cases = {
      {{3, 8, 8, 4}, {3, 3, 4, 16}, {{"padding", same}}},
      {{5, 15, 17, 32}, {3, 3, 32, 40}},
      {{7, 32, 32, 16}, {3, 3, 16, 16}, {{"padding", same}}},
      {{2, 9, 7, 6}, {2, 3, 6, 18}, {{"padding", same}}},
      {{2, 12, 12, 32}, {3, 3, 16, 32}, {{"groups", int64_t{2}}, {"padding", same}}},
      {{1, 6, 8, 4, 16}, {3, 3, 3, 16, 8}, {{"padding", same}}},
      {{4, 28, 28, 64}, {3, 3, 64, 112}, {{"padding", same}}},
  };
  return cases;
}

class Bf16ConvPool : public ::testing::Test {
 protected:
  void SetUp() override {
    const BoundCase bound(pooled_case(pooled_conv_cases()[0], true, "relu"));
    const std::string reason =
        kernels::why_not_bf16_conv_pool(bound.node(), WinogradTiles::up_to_4);
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_F(Bf16ConvPool, HasTheBitsOfTheReference) {
  for (const ConvCase& c : pooled_conv_cases()) {
    for (const bool bias : {true, false}) {
      for (const char* rounding : {"nearest", "stochastic"}) {
        BoundCase bound = whole_numbers(pooled_case(c, bias, bias ? "relu" : "none"));
        bound.attributes().set("half_rounding", std::string(rounding));
        bound.attributes().set("half_stream", int64_t{3});
        const KernelOffer offer = bound.offer("native");
        ASSERT_NE(offer.kernel, nullptr) << offer.refusal;
        EXPECT_EQ(offer.packings.at(0).dtype, DType::bf16);
        const kernels::StepArgs step = bound.step({.first_sample = 11});
        const std::vector<Buffer> wanted = bound.run(bound.offer("reference"), step);
        const std::string what = to_string(bound.node().input(0)->type());
        expect_bits(bound.run(offer, step), wanted, what);
        expect_bits(bound.run_parts(offer, step, 3), wanted, what + " in parts");
      }
    }
  }
}

// The division of a batch into slices does not change results.
TEST_F(Bf16ConvPool, SamplesDoNotDependOnTheirNeighbours) {
  for (const ConvCase& one : pooled_conv_cases()) {
    ConvCase six = one;
    ConvCase alone = one;
    six.x[0] = 6;
    alone.x[0] = 1;
    BoundCase all = BoundCase(pooled_case(six, true, "relu")).lowered(DType::bf16);
    BoundCase first = BoundCase(pooled_case(alone, true, "relu")).lowered(DType::bf16);
    for (const int input : {0, 1, 2}) {
      std::memcpy(first.input(input).data(), all.input(input).data(), first.input(input).size());
    }
    const std::vector<Buffer> wanted = all.run(all.offer("native"), all.step({}));
    const std::vector<Buffer> got = first.run(first.offer("native"), first.step({}));
    EXPECT_EQ(std::memcmp(got[0].data(), wanted[0].data(), got[0].size()), 0)
        << to_string(first.node().input(0)->type());
  }
}

TEST_F(Bf16ConvPool, RefusesWhatItCannotPair) {
  const ConvCase odd{{2, 8, 8, 3}, {3, 3, 3, 16}};
  const auto refusal = [](const ConvCase& c, DType half) {
    return BoundCase(pooled_case(c, true, "relu")).lowered(half).offer("native").refusal;
  };
  EXPECT_NE(refusal(odd, DType::bf16).find("pairs of channels"), std::string::npos);
  EXPECT_NE(refusal(pooled_conv_cases()[0], DType::f16).find("bf16"), std::string::npos);
}

TEST_F(Bf16ConvPool, HalfPartialsAreLeftToOthers) {
  BoundCase bound =
      BoundCase(pooled_case(pooled_conv_cases()[0], true, "relu")).lowered(DType::bf16);
  bound.attributes().set("half_partials", int64_t{1});
  EXPECT_NE(bound.offer("native").refusal.find("partial sums"), std::string::npos);
}

}  // namespace
}  // namespace pando::test
