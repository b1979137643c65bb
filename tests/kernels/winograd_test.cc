// Compares Winograd's convolution with plain loops, on every instruction set of this CPU.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/kernels/winograd/winograd_conv.h"
#include "tests/support/close_floats.h"
#include "tests/support/expect_error.h"
#include "tests/support/isa.h"
#include "tests/support/kernel_case.h"
#include "tests/support/naive_conv.h"

namespace pando::kernels {
namespace {

using test::expect_close;
using test::Floats;
using test::isas_of_this_cpu;
using test::SetIsa;
using test::test_values;

struct Case {
  int64_t batch, height, width, in, out;
  int64_t pads[4] = {0, 0, 0, 0};  // top, left, bottom, right
};

ConvGeometry geometry_of(const Case& c) {
  ConvGeometry g{.batch = c.batch, .in_channels = c.in, .out_channels = c.out};
  g.in = {1, c.height, c.width};
  g.filter = {1, 3, 3};
  g.pad_low = {0, c.pads[0], c.pads[1]};
  g.pad_high = {0, c.pads[2], c.pads[3]};
  return test::with_outputs(g);
}

std::vector<ConvGeometry> winograd_cases() {
  std::vector<ConvGeometry> cases;
  for (const Case& c : {
           Case{1, 3, 3, 1, 1},                    // one output
           Case{1, 1, 1, 2, 3, {1, 1, 1, 1}},      // one input
           Case{2, 4, 5, 3, 5},                    // fewer channels than lanes
           Case{3, 8, 8, 16, 16, {1, 1, 1, 1}},    // whole tiles
           Case{1, 7, 9, 16, 32, {1, 1, 1, 1}},    // half a tile at both borders
           Case{3, 6, 11, 17, 16},                 // a channel beyond a vector
           Case{2, 9, 6, 32, 17, {0, 1, 2, 0}},    // asymmetric padding
           Case{1, 5, 4, 7, 33, {4, 3, 0, 5}},     // outputs of padding only
           Case{2, 9, 10, 64, 48, {1, 1, 1, 1}},   // columns of different width
           Case{1, 3, 260, 40, 64, {1, 1, 1, 1}},  // a row of tiles in several runs
           Case{2, 33, 30, 32, 16, {1, 1, 1, 1}},  // several blocks of several rows
           Case{1, 6, 8, 272, 250, {1, 1, 1, 1}},  // a filter that no cache holds
       }) {
    cases.push_back(geometry_of(c));
  }
  return cases;
}

std::string text(const ConvGeometry& g) {
  return concat("n", g.batch, " ", g.in[1], "x", g.in[2], "x", g.in_channels, " -> ", g.out[1], "x",
                g.out[2], "x", g.out_channels);
}

// Has exactly the requested size, so that a sanitizer detects every overrun, and contents that must
// not matter.
std::unique_ptr<std::byte[]> make_scratch(size_t size) {
  std::unique_ptr<std::byte[]> bytes(new std::byte[size]);
  std::fill_n(bytes.get(), size, std::byte{0xFF});
  return bytes;
}

// One convolution with its data, on the current instruction set.
struct Bound {
  Bound(const ConvGeometry& geometry, int tile) : g(geometry), conv(geometry, tile) {}

  ConvGeometry g;
  WinogradConv conv;
  Floats x = test_values(test::x_size(g), 1);
  Floats filter = test_values(test::kernel_size(g), 2);
  Floats dy = test_values(test::y_size(g), 3);
  Floats bias = test_values(static_cast<size_t>(g.out_channels), 4);

  Floats packed_forward(int parts) const {
    Floats packed(conv.forward_kernel_floats(), NAN);
    for (int i = 0; i < parts; ++i) conv.pack_forward(filter.data(), packed.data(), {i, parts});
    return packed;
  }

  Floats forward(const Epilogue& epilogue, int parts) const {
    const Floats packed = packed_forward(parts);
    Floats y(test::y_size(g), NAN);
    for (int i = 0; i < parts; ++i) {
      const auto scratch = make_scratch(conv.forward_scratch_bytes());
      conv.forward({x.data(), packed.data(), epilogue}, y.data(), scratch.get(), {i, parts});
    }
    return y;
  }

  test::Pooled forward_pool(const Epilogue& epilogue, int parts) const {
    const Floats packed = packed_forward(1);
    const int64_t pixels = g.batch * (g.out[1] / 2) * (g.out[2] / 2);
    const auto size = static_cast<size_t>(pixels * g.out_channels);
    test::Pooled pooled{Floats(size, NAN), std::vector<uint8_t>(size, 255)};
    for (int i = 0; i < parts; ++i) {
      const auto scratch = make_scratch(conv.forward_scratch_bytes());
      conv.forward_pool({x.data(), packed.data(), epilogue}, {pooled.y.data(), pooled.index.data()},
                        scratch.get(), {i, parts});
    }
    return pooled;
  }

  Floats backward_input(int parts) const {
    Floats packed(conv.backward_kernel_floats(), NAN);
    for (int i = 0; i < parts; ++i) conv.pack_backward(filter.data(), packed.data(), {i, parts});
    Floats dx(test::x_size(g), NAN);
    for (int i = 0; i < parts; ++i) {
      const auto scratch = make_scratch(conv.backward_input_scratch_bytes());
      conv.backward_input({dy.data(), packed.data()}, dx.data(), scratch.get(), {i, parts});
    }
    return dx;
  }

  // Adds the sums of the parts in order. The bias gradient follows the filter gradient.
  Floats backward_kernel(int parts) const {
    Floats sum(filter.size() + bias.size(), 0.0f);
    for (int i = 0; i < parts; ++i) {
      const auto scratch = make_scratch(conv.backward_kernel_scratch_bytes());
      Floats own(sum.size(), NAN);
      conv.backward_kernel(x.data(), dy.data(), {own.data(), own.data() + filter.size()},
                           scratch.get(), {i, parts});
      std::transform(sum.begin(), sum.end(), own.begin(), sum.begin(), std::plus<>());
    }
    return sum;
  }
};

// Runs a check for every case and size of tiles on every instruction set.
template <typename Check>
void for_each_case(Check&& check) {
  for (const char* isa : isas_of_this_cpu()) {
    const SetIsa scope(isa);
    for (const ConvGeometry& g : winograd_cases()) {
      for (const int tile : {2, 4}) {
        SCOPED_TRACE(concat(isa, " ", text(g), ", tiles of ", tile));
        check(Bound(g, tile));
      }
    }
  }
}

TEST(WinogradConv, ForwardAppliesBiasAndActivation) {
  for_each_case([](const Bound& bound) {
    Floats want = test::naive_forward(bound.g, bound.x, bound.filter);
    expect_close(bound.forward({}, 1), want, "plain");
    for (size_t i = 0; i < want.size(); ++i) {
      want[i] += bound.bias[i % bound.bias.size()];
      if (want[i] < 0) want[i] *= 0.25f;
    }
    const Epilogue leaky{bound.bias.data(), Activation::leaky_relu, 0.25f};
    const Floats whole = bound.forward(leaky, 1);
    expect_close(whole, want, "leaky_relu");
    for (const int parts : {2, 3}) EXPECT_EQ(bound.forward(leaky, parts), whole);
    for (float& value : want) value = std::max(value, 0.0f);
    expect_close(bound.forward({bound.bias.data(), Activation::relu}, 1), want, "relu");
  });
}

TEST(WinogradConv, ForwardAddsTheResidualBeforeTheActivation) {
  for_each_case([](const Bound& bound) {
    Floats want = test::naive_forward(bound.g, bound.x, bound.filter);
    for (size_t i = 0; i < want.size(); ++i) want[i] = std::max(want[i] + bound.dy[i], 0.0f);
    const Epilogue epilogue{.activation = Activation::relu, .residual = bound.dy.data()};
    const Floats whole = bound.forward(epilogue, 1);
    expect_close(whole, want, "residual");
    for (const int parts : {2, 3}) EXPECT_EQ(bound.forward(epilogue, parts), whole);
  });
}

TEST(WinogradConv, ForwardPoolIsTheMaximumOfForward) {
  for_each_case([](const Bound& bound) {
    if (bound.conv.tile() != 2 || bound.g.out[1] < 2 || bound.g.out[2] < 2) return;
    const Epilogue relu{bound.bias.data(), Activation::relu};
    const test::Pooled want = test::naive_max_pool(bound.g, bound.forward(relu, 1), {1, 2, 2});
    for (const int parts : {1, 2, 3}) {
      const test::Pooled got = bound.forward_pool(relu, parts);
      EXPECT_EQ(got.y, want.y);
      EXPECT_EQ(got.index, want.index);
    }
  });
}

// All outputs of an even picture are equal, so that pooling chooses the first one.
TEST(WinogradConv, SmallTilesKeepEvenPicturesEven) {
  Bound bound(geometry_of({1, 12, 12, 24, 16}), 2);
  std::fill(bound.x.begin(), bound.x.end(), 0.3f);
  const test::Pooled pooled = bound.forward_pool({bound.bias.data(), Activation::none}, 1);
  EXPECT_EQ(pooled.index, std::vector<uint8_t>(pooled.index.size(), 0));
}

TEST(WinogradConv, BackwardInput) {
  for_each_case([](const Bound& bound) {
    const Floats whole = bound.backward_input(1);
    expect_close(whole, test::naive_backward_input(bound.g, bound.dy, bound.filter), "dx");
    for (const int parts : {2, 3}) EXPECT_EQ(bound.backward_input(parts), whole);
  });
}

TEST(WinogradConv, BackwardKernel) {
  for_each_case([](const Bound& bound) {
    Floats want = test::naive_backward_kernel(bound.g, bound.x, bound.dy);
    Floats dbias(bound.bias.size());
    for (size_t i = 0; i < bound.dy.size(); ++i) dbias[i % dbias.size()] += bound.dy[i];
    want.insert(want.end(), dbias.begin(), dbias.end());
    for (const int parts : {1, 2, 3, 50}) {
      expect_close(bound.backward_kernel(parts), want, concat(parts, " parts"));
    }
  });
}

TEST(WinogradConv, SampleDoesNotDependOnItsBatch) {
  for (const int tile : {2, 4}) {
    const Bound three(geometry_of({3, 6, 11, 17, 16}), tile);
    Bound one(geometry_of({1, 6, 11, 17, 16}), tile);
    one.x.assign(three.x.end() - static_cast<std::ptrdiff_t>(one.x.size()), three.x.end());
    const Floats y = three.forward({}, 1), last = one.forward({}, 1);
    EXPECT_TRUE(std::equal(last.rbegin(), last.rend(), y.rbegin()));
  }
}

TEST(WinogradConv, SaysWhyItRefuses) {
  const ConvGeometry good = geometry_of({1, 8, 8, 16, 16});
  std::string why;
  EXPECT_TRUE(WinogradConv::supports(good, &why)) << why;
  ConvGeometry g = good;
  g.filter = {1, 3, 2};
  EXPECT_FALSE(WinogradConv::supports(test::with_outputs(g), &why));
  EXPECT_NE(why.find("3x3"), std::string::npos) << why;
  EXPECT_THROW(WinogradConv(test::with_outputs(g), 2), Unsupported);
  g = good;
  g.stride = {1, 2, 2};
  EXPECT_FALSE(WinogradConv::supports(test::with_outputs(g), &why));
  EXPECT_NE(why.find("stride"), std::string::npos) << why;
  g = good;
  g.in[0] = 2;
  EXPECT_FALSE(WinogradConv::supports(test::with_outputs(g)));
  g = good;
  g.groups = 3;
  EXPECT_FALSE(WinogradConv::supports(g, &why));
  EXPECT_NE(why.find("3 groups"), std::string::npos) << why;
}

std::string refusal(Shape x, Shape filter, ir::Attributes attributes = {},
                    const char* candidate = "winograd") {
  const bool pool = attributes.has("window");
  return test::BoundCase({.op = pool ? "conv_pool" : "conv",
                          .inputs = {{DType::f32, std::move(x)}, {DType::f32, std::move(filter)}},
                          .attributes = std::move(attributes),
                          .outputs = pool ? 2 : 1})
      .offer(candidate)
      .refusal;
}

TEST(WinogradCandidate, LeavesToDirectWhatDirectDoesFaster) {
  EXPECT_EQ(refusal({2, 32, 32, 16}, {3, 3, 16, 16}), "");
  EXPECT_EQ(refusal({2, 8, 8, 64}, {3, 3, 64, 64}), "");
  EXPECT_NE(refusal({2, 32, 32, 8}, {3, 3, 8, 32}).find("16 channels"), std::string::npos);
  EXPECT_NE(refusal({1, 7, 7, 512}, {3, 3, 512, 512}).find("256 x 256"), std::string::npos);
  const ir::Attributes same{{"padding", std::string("same")}};
  EXPECT_EQ(refusal({2, 16, 16, 512}, {3, 3, 512, 512}, same), "");
  EXPECT_NE(refusal({8, 7, 7, 512}, {3, 3, 512, 512}, same).find("7x7 outputs"), std::string::npos);
  EXPECT_NE(refusal({2, 3, 3, 64}, {3, 3, 64, 64}).find("1x1 outputs"), std::string::npos);
  EXPECT_NE(refusal({2, 8, 8, 16}, {5, 5, 16, 16}).find("3x3"), std::string::npos);
  EXPECT_NE(refusal({2, 32, 32, 16}, {3, 3, 16, 16}, {{"window", ir::Ints{3, 3}}}).find("2x2"),
            std::string::npos);
  EXPECT_EQ(refusal({2, 32, 32, 16}, {3, 3, 16, 16}, {{"window", ir::Ints{2, 2}}}), "");
}

TEST(WinogradCandidate, TakesLargeTilesWhereTheyPay) {
  const ir::Attributes same{{"padding", std::string("same")}};
  const auto refusal4 = [&](Shape x, Shape filter) {
    return refusal(std::move(x), std::move(filter), same, "winograd4");
  };
  EXPECT_EQ(refusal4({2, 32, 32, 16}, {3, 3, 16, 16}), "");
  EXPECT_EQ(refusal4({2, 8, 8, 64}, {3, 3, 64, 64}), "");
  EXPECT_EQ(refusal4({2, 16, 16, 512}, {3, 3, 512, 512}), "");
  EXPECT_SAYS(refusal4({1, 16, 16, 512}, {3, 3, 512, 512}), "256 x 256", "got 16");
  EXPECT_SAYS(refusal4({2, 9, 9, 64}, {3, 3, 64, 64}), "9x9 outputs");
  EXPECT_SAYS(refusal4({2, 32, 32, 8}, {3, 3, 8, 32}), "16 channels");
}

// A direct sum of f32 numbers of this size has an error of 4e-7 of their root mean square.
TEST(WinogradConv, LargeTilesRoundLittle) {
  Bound bound(geometry_of({2, 32, 32, 64, 16, {1, 1, 1, 1}}), 4);
  for (size_t i = 0; i < bound.x.size(); ++i) bound.x[i] += 1e-3f * static_cast<float>(i % 977);
  const Floats want = test::naive_forward(bound.g, bound.x, bound.filter);
  const Floats got = bound.forward({}, 1);
  double error = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  EXPECT_LT(std::sqrt(error / size), 1e-6);
}

// The gradient of a large filter packs nothing, so it pays off for smaller pictures.
TEST(WinogradCandidate, ComputesTheGradientOfALargeFilter) {
  const auto gradient = [](int64_t batch) {
    return test::BoundCase(
        {.op = "conv_filter_grad",
         .inputs = {{DType::f32, Shape{batch, 8, 8, 260}}, {DType::f32, Shape{batch, 8, 8, 260}}},
         .attributes = {{"padding", std::string("same")}, {"filter", ir::Ints{3, 3}}}});
  };
  EXPECT_NE(gradient(1).offer("winograd").refusal.find("below 32 tiles"), std::string::npos);
  const test::BoundCase bound = gradient(2);
  const KernelOffer offer = bound.offer("winograd");
  ASSERT_EQ(offer.refusal, "");
  test::expect_close(bound.node(), bound.run(offer, bound.step({})),
                     bound.run(bound.offer("reference"), bound.step({})), 5e-5, "winograd");
}

}  // namespace
}  // namespace pando::kernels
