// Compares the kernels of depthwise windows with the reference: every width of a row, borders,
// strides, channels that fill no vector, all vector widths, several bands.
// SPDX-License-Identifier: MIT
#include <cstring>

#include <gtest/gtest.h>

#include "pando/base/strings.h"
#include "tests/support/conv_case.h"
#include "tests/support/isa.h"
#include "tests/support/kernel_case.h"

namespace pando::test {
namespace {

ConvCase windows(const Shape& x, int64_t window, int64_t stride, const ir::Ints& pads) {
  return {x,
          {window, window, 1, x.back()},
          {{"groups", x.back()},
           {"strides", ir::Ints{stride, stride}},
           {"padding", std::string("explicit")},
           {"pads", pads}}};
}

std::vector<ConvCase> window_cases() {
  std::vector<ConvCase> cases;
  for (int64_t width = 1; width <= 20; ++width) {
    cases.push_back(windows({1, 4, width, 19}, 3, 1, {1, 1, 1, 1}));
    cases.push_back(windows({1, 5, width, 19}, 3, 2, {1, 1, 1, 1}));
    cases.push_back(windows({1, 4, width + 2, 19}, 3, 2, {0, 0, 1, 1}));
    cases.push_back(windows({1, 6, width, 19}, 5, 1, {2, 2, 2, 2}));
    cases.push_back(windows({1, 5, width, 19}, 5, 2, {1, 2, 3, 2}));
  }
  for (const int64_t side : {3, 6, 7, 12}) {
    cases.push_back(windows({2, side, side, 27}, 3, 2, {1, 1, 1, 1}));
    cases.push_back(windows({2, side, side, 48}, 5, 1, {2, 2, 2, 2}));
    cases.push_back(windows({2, side, side, 17}, 5, 2, {2, 2, 2, 2}));
  }
  cases.push_back(windows({1, 9, 10, 16}, 3, 1, {0, 0, 0, 0}));
  cases.push_back(windows({1, 9, 10, 16}, 3, 2, {0, 0, 1, 1}));
  cases.push_back(windows({1, 5, 6, 24}, 3, 1, {2, 0, 1, 3}));  // rows of padding alone
  cases.push_back(windows({1, 3, 2, 33}, 5, 2, {4, 3, 4, 5}));
  cases.push_back(windows({1, 7, 16, 16}, 3, 2, {0, 0, 0, 0}));  // the last pixels meet no window
  for (const int64_t stride : {1, 2}) {                          // several bands
    cases.push_back(windows({2, 40, 30, 200}, 3, stride, {1, 1, 1, 1}));
  }
  return cases;
}

KernelCase input_grad_of(const ConvCase& c) {
  KernelCase result{.op = "conv_input_grad",
                    .inputs = {BoundCase(conv(c, false)).node().output()->type(), f32(c.filter)},
                    .attributes = c.attributes};
  result.attributes.set("input", ir::Ints{c.x[1], c.x[2]});
  return result;
}

KernelCase filter_grad_of(const ConvCase& c, int outputs) {
  KernelCase result{.op = "conv_filter_grad",
                    .inputs = {f32(c.x), BoundCase(conv(c, false)).node().output()->type()},
                    .attributes = c.attributes,
                    .outputs = outputs};
  result.attributes.set("filter", ir::Ints{c.filter[0], c.filter[1]});
  return result;
}

void expect_depthwise_agrees(const KernelCase& one, double tolerance) {
  const BoundCase bound(one);
  const kernels::KernelOffer offer = bound.offer("depthwise");
  ASSERT_NE(offer.kernel, nullptr) << offer.refusal;
  const auto wanted = bound.run(bound.offer("reference"), bound.step({}));
  expect_close(bound.node(), bound.run(offer, bound.step({})), wanted, tolerance, "windows");
  expect_close(bound.node(), bound.run_parts(offer, bound.step({}), 3), wanted, tolerance,
               "windows in parts");
}

TEST(DepthwiseWindows, AgreeOnEveryInstructionSet) {
  for (const char* isa : isas_of_this_cpu()) {
    SCOPED_TRACE(isa);
    const SetIsa set(isa);
    for (const ConvCase& c : window_cases()) {
      expect_depthwise_agrees(conv(c, false), 1e-5);
      expect_depthwise_agrees(input_grad_of(c), 1e-5);
      expect_depthwise_agrees(filter_grad_of(c, 1), 5e-5);
    }
  }
}

TEST(DepthwiseWindows, FinishResults) {
  const ConvCase c = windows({2, 7, 9, 43}, 3, 1, {1, 1, 1, 1});
  const ConvCase wide = windows({2, 7, 18, 43}, 3, 1, {1, 1, 1, 1});
  for (const std::string& activation : all_activations()) {
    SCOPED_TRACE(activation);
    expect_depthwise_agrees(conv(c, true, activation), 1e-5);
    expect_depthwise_agrees(conv(wide, true, activation), 1e-5);
  }
  expect_depthwise_agrees(filter_grad_of(c, 2), 5e-5);
}

// The bits of a result must not depend on how the rows are cut.
TEST(DepthwiseWindows, PartsHaveTheBitsOfTheWhole) {
  std::vector<KernelCase> cases;
  for (const int64_t width : {3, 7, 14, 21}) {
    for (const int64_t window : {3, 5}) {
      const int64_t pad = window / 2;
      const ConvCase c = windows({2, 11, width, 40}, window, 1, {pad, pad, pad, pad});
      const ConvCase halved = windows({2, 11, width, 40}, window, 2, {pad, pad, pad, pad});
      cases.insert(cases.end(), {conv(c, true, "relu6"), input_grad_of(c), input_grad_of(halved)});
    }
  }
  for (const KernelCase& one : cases) {
    const BoundCase bound(one);
    const kernels::KernelOffer offer = bound.offer("depthwise");
    const auto whole = bound.run(offer, bound.step({}));
    const auto parts = bound.run_parts(offer, bound.step({}), 5);
    EXPECT_EQ(std::memcmp(whole[0].data(), parts[0].data(), whole[0].size()), 0) << one.op;
  }
}

TEST(DepthwiseWindows, NameTheWindow) {
  const auto name = [](const ConvCase& c) {
    return BoundCase(conv(c, false)).offer("depthwise").kernel->name();
  };
  EXPECT_EQ(name(windows({1, 8, 8, 16}, 3, 1, {1, 1, 1, 1})), "depthwise:3x3");
  EXPECT_EQ(name(windows({1, 8, 8, 16}, 5, 2, {2, 2, 2, 2})), "depthwise:5x5");
  EXPECT_EQ(name(windows({1, 8, 8, 16}, 7, 1, {3, 3, 3, 3})), "depthwise");
  EXPECT_EQ(name(windows({1, 8, 8, 16}, 3, 3, {1, 1, 1, 1})), "depthwise");
}

}  // namespace
}  // namespace pando::test
