// Compares the direct convolution with plain loops, on every instruction set of this CPU.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/direct_conv.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/support/close_floats.h"
#include "tests/support/isa.h"
#include "tests/support/naive_conv.h"

namespace pando::kernels {

// Prints the case in the output of a failing test; found by argument-dependent lookup.
void PrintTo(const ConvGeometry& g, std::ostream* out) {
  *out << "n" << g.batch << " c" << g.in_channels << ">" << g.out_channels << " g" << g.groups;
  for (size_t i = 0; i < 3; ++i) {
    *out << " [" << g.in[i] << ">" << g.out[i] << " k" << g.filter[i] << " s" << g.stride[i] << " d"
         << g.dilation[i] << " p" << g.pad_low[i] << "," << g.pad_high[i] << "]";
  }
}

namespace {

using test::expect_close;
using test::Floats;
using test::isas_of_this_cpu;
using test::SetIsa;
using test::test_values;
using test::with_outputs;

// Has exactly the requested size, so that a sanitizer detects every overrun.
struct Scratch {
  explicit Scratch(size_t size) : bytes(new std::byte[size]) {}
  std::unique_ptr<std::byte[]> bytes;
};

ConvGeometry conv2d(int64_t batch, int64_t in, int64_t out, int64_t size, int64_t filter) {
  ConvGeometry g{.batch = batch, .in_channels = in, .out_channels = out};
  g.in = {1, size, size + 1};
  g.filter = {1, filter, filter};
  return g;
}

ConvGeometry with_padding(ConvGeometry g, ConvGeometry::Extents low, ConvGeometry::Extents high) {
  g.pad_low = low;
  g.pad_high = high;
  return g;
}

ConvGeometry with_stride(ConvGeometry g, ConvGeometry::Extents stride) {
  g.stride = stride;
  return g;
}

ConvGeometry conv3d(int64_t batch, int64_t in, int64_t out, int64_t size, int64_t filter) {
  ConvGeometry g{.batch = batch, .in_channels = in, .out_channels = out};
  g.in = {size, size - 1, size + 1};
  g.filter = {filter, filter, filter};
  return g;
}

std::vector<ConvGeometry> awkward_2d() {
  ConvGeometry dilated = with_padding(conv2d(2, 5, 9, 9, 3), {0, 2, 1}, {0, 1, 3});
  dilated.dilation = {1, 2, 3};
  ConvGeometry strided_dilated = with_stride(dilated, {1, 3, 2});
  ConvGeometry grouped = with_padding(conv2d(2, 6, 9, 6, 3), {0, 1, 1}, {0, 1, 1});
  grouped.groups = 3;
  ConvGeometry depthwise = with_stride(grouped, {1, 2, 2});
  depthwise.groups = depthwise.out_channels = 6;
  ConvGeometry whole = conv2d(2, 3, 17, 5, 5);
  whole.filter = {1, 5, 6};
  ConvGeometry dense{.in_channels = 37, .out_channels = 10};
  dense.in = {1, 1, 19};
  ConvGeometry only_padding{.in_channels = 2, .out_channels = 3};
  only_padding.pad_low = only_padding.pad_high = {0, 1, 1};
  only_padding.stride = {1, 3, 3};
  return {
      conv2d(1, 1, 1, 1, 1),
      conv2d(3, 1, 32, 8, 3),
      conv2d(2, 17, 5, 5, 1),
      with_padding(conv2d(2, 3, 16, 7, 3), {0, 1, 1}, {0, 1, 1}),
      with_padding(conv2d(1, 16, 48, 6, 3), {0, 0, 1}, {0, 1, 0}),
      with_padding(conv2d(1, 5, 17, 6, 2), {0, 3, 4}, {0, 2, 0}),
      with_stride(with_padding(conv2d(2, 4, 33, 9, 3), {0, 0, 0}, {0, 1, 1}), {1, 2, 2}),
      with_stride(conv2d(2, 5, 7, 10, 2), {1, 3, 4}),
      with_stride(conv2d(2, 8, 24, 7, 1), {1, 2, 2}),
      with_stride(with_padding(conv2d(1, 3, 8, 13, 7), {0, 3, 3}, {0, 3, 3}), {1, 2, 2}),
      with_padding(conv2d(1, 40, 72, 4, 3), {0, 1, 1}, {0, 1, 1}),
      with_padding(conv2d(7, 4, 8, 3, 3), {0, 1, 1}, {0, 1, 1}),
      with_padding(conv2d(1, 130, 20, 3, 3), {0, 1, 1}, {0, 1, 1}),
      dilated,
      strided_dilated,
      grouped,
      depthwise,
      whole,
      dense,
      only_padding,
  };
}

std::vector<ConvGeometry> awkward_3d() {
  ConvGeometry depth_one = with_padding(conv3d(2, 3, 4, 1, 3), {1, 1, 1}, {1, 1, 1});
  depth_one.in = {1, 4, 5};
  return {
      conv3d(1, 4, 16, 4, 2),
      with_padding(conv3d(2, 4, 16, 5, 2), {0, 0, 0}, {1, 1, 1}),
      with_stride(with_padding(conv3d(1, 5, 3, 6, 3), {1, 0, 2}, {0, 1, 1}), {2, 1, 3}),
      depth_one,
  };
}

// Larger than the window of one block, so that the window slides.
std::vector<ConvGeometry> sliding() {
  ConvGeometry wide = with_padding(conv2d(2, 8, 8, 40, 3), {0, 1, 1}, {0, 1, 1});
  wide.in = {1, 40, 260};
  ConvGeometry deep = with_padding(conv3d(1, 4, 8, 9, 2), {0, 0, 0}, {1, 1, 1});
  deep.in = {9, 62, 66};
  return {wide, with_stride(wide, {1, 2, 2}), deep, with_stride(deep, {2, 2, 2})};
}

// Filters of 1x1 whose gradients pack x: odd numbers of pixels and channels, more of both than are
// packed at a time, columns of three vectors, strides, padding, groups and volumes. The padded one
// has several phases and packs nothing.
std::vector<ConvGeometry> pointwise() {
  ConvGeometry padded = with_padding(conv2d(2, 80, 260, 10, 1), {0, 1, 0}, {0, 0, 2});
  ConvGeometry grouped = conv2d(2, 130, 520, 9, 1);
  grouped.groups = 2;
  ConvGeometry deep{.batch = 2, .in_channels = 70, .out_channels = 272};
  deep.in = {5, 4, 7};
  return {
      conv2d(1, 64, 256, 11, 1),
      conv2d(3, 77, 301, 7, 1),
      conv2d(1, 270, 72, 2, 1),
      conv2d(2, 258, 257, 12, 1),
      with_stride(conv2d(2, 100, 270, 19, 1), {1, 2, 2}),
      with_stride(conv2d(2, 270, 100, 7, 1), {1, 2, 3}),
      padded,
      grouped,
      deep,
  };
}

std::vector<ConvGeometry> awkward_cases() {
  std::vector<ConvGeometry> cases;
  for (const auto& list : {awkward_2d(), awkward_3d(), sliding(), pointwise()}) {
    for (const ConvGeometry& g : list) cases.push_back(with_outputs(g));
  }
  return cases;
}

class DirectConvCases : public testing::TestWithParam<ConvGeometry> {
 protected:
  const ConvGeometry& g() const { return GetParam(); }
  Floats x = test_values(test::x_size(g()), 1);
  Floats filter = test_values(test::kernel_size(g()), 2);
  Floats dy = test_values(test::y_size(g()), 3);
  Floats bias = test_values(static_cast<size_t>(g().out_channels), 4);

  Floats packed_forward(const DirectConv& conv, int parts) const {
    Floats packed(conv.forward_kernel_floats(), NAN);
    for (int i = 0; i < parts; ++i) conv.pack_forward(filter.data(), packed.data(), {i, parts});
    return packed;
  }

  Floats forward(const DirectConv& conv, const Epilogue& epilogue, int parts) const {
    const Floats packed = packed_forward(conv, parts);
    Floats y(test::y_size(g()), NAN);
    for (int i = 0; i < parts; ++i) {
      conv.forward(x.data(), packed.data(), epilogue, y.data(), {i, parts});
    }
    return y;
  }

  Floats backward_input(const DirectConv& conv, int parts) const {
    Floats packed(conv.backward_kernel_floats(), NAN);
    for (int i = 0; i < parts; ++i) conv.pack_backward(filter.data(), packed.data(), {i, parts});
    Floats dx(test::x_size(g()), NAN);
    for (int i = 0; i < parts; ++i) {
      conv.backward_input(dy.data(), packed.data(), {}, dx.data(), {i, parts});
    }
    return dx;
  }

  // Adds the sums of the parts in order. The bias gradient follows the filter gradient.
  Floats backward_kernel(const DirectConv& conv, int parts) const {
    Floats sum(filter.size() + bias.size(), 0.0f);
    for (int i = 0; i < parts; ++i) {
      const Scratch scratch(conv.backward_kernel_scratch_bytes());
      Floats dkernel(filter.size(), NAN), dbias(bias.size(), NAN);
      conv.backward_kernel(x.data(), dy.data(), {dkernel.data(), dbias.data()}, scratch.bytes.get(),
                           {i, parts});
      dkernel.insert(dkernel.end(), dbias.begin(), dbias.end());
      std::transform(sum.begin(), sum.end(), dkernel.begin(), sum.begin(), std::plus<>());
    }
    return sum;
  }

  Floats expected_forward(Activation activation, float alpha) const {
    Floats y = test::naive_forward(g(), x, filter);
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] += bias[i % bias.size()];
      if (y[i] < 0 && activation == Activation::relu) y[i] = 0;
      if (y[i] < 0 && activation == Activation::leaky_relu) y[i] *= alpha;
    }
    return y;
  }

  Floats expected_backward_kernel() const {
    Floats gradient = test::naive_backward_kernel(g(), x, dy);
    Floats dbias(bias.size());
    for (size_t i = 0; i < dy.size(); ++i) dbias[i % bias.size()] += dy[i];
    gradient.insert(gradient.end(), dbias.begin(), dbias.end());
    return gradient;
  }
};

TEST_P(DirectConvCases, ForwardAppliesBiasAndActivation) {
  for (const char* isa : isas_of_this_cpu()) {
    const SetIsa scope(isa);
    const DirectConv conv(g());
    expect_close(forward(conv, {}, 1), test::naive_forward(g(), x, filter), isa);
    const Epilogue relu{bias.data(), Activation::relu};
    expect_close(forward(conv, relu, 1), expected_forward(Activation::relu, 0), isa);
    const Epilogue leaky{bias.data(), Activation::leaky_relu, 0.3f};
    const Floats whole = forward(conv, leaky, 1);
    expect_close(whole, expected_forward(Activation::leaky_relu, 0.3f), isa);
    for (const int parts : {2, 3}) EXPECT_EQ(forward(conv, leaky, parts), whole) << isa;
  }
}

TEST_P(DirectConvCases, ForwardAddsTheResidualBeforeTheActivation) {
  Floats want = test::naive_forward(g(), x, filter);
  for (size_t i = 0; i < want.size(); ++i) want[i] = std::max(want[i] + dy[i], 0.0f);
  const Epilogue epilogue{.activation = Activation::relu, .residual = dy.data()};
  for (const char* isa : isas_of_this_cpu()) {
    const SetIsa scope(isa);
    const DirectConv conv(g());
    expect_close(forward(conv, epilogue, 1), want, isa);
    EXPECT_EQ(forward(conv, epilogue, 3), forward(conv, epilogue, 1)) << isa;
  }
}

TEST_P(DirectConvCases, BackwardInput) {
  const Floats want = test::naive_backward_input(g(), dy, filter);
  for (const char* isa : isas_of_this_cpu()) {
    const SetIsa scope(isa);
    const DirectConv conv(g());
    const Floats whole = backward_input(conv, 1);
    expect_close(whole, want, isa);
    for (const int parts : {2, 3}) EXPECT_EQ(backward_input(conv, parts), whole) << isa;
  }
}

TEST_P(DirectConvCases, BackwardKernel) {
  const Floats want = expected_backward_kernel();
  for (const char* isa : isas_of_this_cpu()) {
    const SetIsa scope(isa);
    const DirectConv conv(g());
    for (const int parts : {1, 2, 3}) expect_close(backward_kernel(conv, parts), want, isa);
    EXPECT_EQ(backward_kernel(conv, 2), backward_kernel(conv, 2)) << isa;
  }
}

TEST_P(DirectConvCases, SampleDoesNotDependOnItsBatch) {
  ConvGeometry one = g();
  one.batch = 1;
  const DirectConv whole(g()), single(one);
  const Floats packed = packed_forward(whole, 1);
  const Floats y = forward(whole, {}, 1);
  Floats last(y.size() / static_cast<size_t>(g().batch));
  const float* last_x = x.data() + x.size() - x.size() / static_cast<size_t>(g().batch);
  single.forward(last_x, packed.data(), {}, last.data());
  EXPECT_TRUE(std::equal(last.rbegin(), last.rend(), y.rbegin()));
}

// Every element is one chain of multiply-adds in the order of the pixels, so neither tiles nor
// chunks nor the packing of x, which differ with the shape, change its bits.
TEST(DirectConv, PointwiseFilterGradientsAreChainsOfMultiplyAdds) {
  const std::vector<std::array<int64_t, 3>> shapes = {{70, 263, 19}, {300, 272, 11}, {33, 40, 9}};
  for (const auto& [channels, outputs, size] : shapes) {
    const ConvGeometry g = with_outputs(conv2d(1, channels, outputs, size, 1));
    Floats x = test_values(test::x_size(g), 1), dy = test_values(test::y_size(g), 3);
    for (float& value : x) value *= 0.3f;  // so that every sum is rounded
    for (float& value : dy) value *= 0.7f;
    const auto in = static_cast<size_t>(channels), out = static_cast<size_t>(outputs);
    Floats want(in * out, 0.0f);
    for (size_t pixel = 0; pixel * in < x.size(); ++pixel) {
      for (size_t i = 0; i < want.size(); ++i) {
        want[i] = std::fma(x[pixel * in + i / out], dy[pixel * out + i % out], want[i]);
      }
    }
    for (const char* isa : isas_of_this_cpu()) {
      if (std::string(isa) == "sse2") continue;  // rounds products
      const SetIsa scope(isa);
      const DirectConv conv(g);
      Floats gradient(want.size(), NAN);
      const Scratch scratch(conv.backward_kernel_scratch_bytes());
      conv.backward_kernel(x.data(), dy.data(), {gradient.data()}, scratch.bytes.get());
      EXPECT_EQ(gradient, want) << isa << " " << channels << " -> " << outputs;
    }
  }
}

TEST_P(DirectConvCases, ForwardPool) {
  for (const ConvGeometry::Extents& wanted :
       {ConvGeometry::Extents{2, 2, 2}, ConvGeometry::Extents{1, 2, 3}}) {
    PoolGeometry pool;
    for (size_t i = 0; i < 3; ++i) {
      pool.window[i] = pool.stride[i] = std::min(wanted[i], g().out[i]);
      pool.out[i] = g().out[i] / pool.window[i];
    }
    for (const char* isa : isas_of_this_cpu()) {
      const SetIsa scope(isa);
      const DirectConv conv(g(), pool);
      const Epilogue leaky{bias.data(), Activation::leaky_relu, 0.3f};
      const test::Pooled want = test::naive_max_pool(g(), forward(conv, leaky, 1), pool.window);
      const Floats packed = packed_forward(conv, 1);
      for (const int parts : {1, 2, 3}) {
        Floats y(want.y.size(), NAN);
        std::vector<uint8_t> index(want.index.size(), 255);
        for (int i = 0; i < parts; ++i) {
          const Scratch scratch(conv.forward_pool_scratch_bytes());
          conv.forward_pool(x.data(), packed.data(), leaky, {y.data(), index.data()},
                            scratch.bytes.get(), {i, parts});
        }
        EXPECT_EQ(y, want.y) << isa << " parts " << parts;
        EXPECT_EQ(index, want.index) << isa << " parts " << parts;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Awkward, DirectConvCases, testing::ValuesIn(awkward_cases()));

TEST(DirectConv, PoolKeepsTheFirstOfEqualMaxima) {
  ConvGeometry g = with_outputs(conv2d(1, 1, 3, 4, 1));
  const DirectConv conv(g, PoolGeometry{{1, 2, 2}, {1, 2, 2}, {1, 2, 2}});
  const Floats x(test::x_size(g), 1.0f), filter(3, 1.0f);
  Floats packed(conv.forward_kernel_floats()), y(12);
  conv.pack_forward(filter.data(), packed.data());
  std::vector<uint8_t> index(12, 255);
  const Scratch scratch(conv.forward_pool_scratch_bytes());
  conv.forward_pool(x.data(), packed.data(), {}, {y.data(), index.data()}, scratch.bytes.get());
  EXPECT_EQ(y, Floats(12, 1.0f));
  EXPECT_EQ(index, std::vector<uint8_t>(12, 0));
}

// The largest window whose positions fit into an 8-bit index, with the maximum at its last
// position.
TEST(DirectConv, PoolsWindowsOf256Positions) {
  const ConvGeometry g = {.in_channels = 1,
                          .out_channels = 19,
                          .in = {1, 16, 16},
                          .out = {1, 16, 16},
                          .filter = {1, 1, 1}};
  Floats x(256, 1.0f);
  x.back() = 2.0f;
  for (const char* isa : isas_of_this_cpu()) {
    const SetIsa scope(isa);
    const DirectConv conv(g, PoolGeometry{{1, 16, 16}, {1, 16, 16}, {1, 1, 1}});
    Floats packed(conv.forward_kernel_floats()), y(19);
    conv.pack_forward(Floats(19, 1.0f).data(), packed.data());
    std::vector<uint8_t> index(19, 0);
    const Scratch scratch(conv.forward_pool_scratch_bytes());
    conv.forward_pool(x.data(), packed.data(), {}, {y.data(), index.data()}, scratch.bytes.get());
    EXPECT_EQ(y, Floats(19, 2.0f)) << isa;
    EXPECT_EQ(index, std::vector<uint8_t>(19, 255)) << isa;
  }
}

TEST(DirectConv, ReluKeepsNaN) {
  for (const char* isa : isas_of_this_cpu()) {
    const SetIsa scope(isa);
    const ConvGeometry g = with_outputs(conv2d(1, 1, 1, 1, 1));  // two pixels
    const DirectConv conv(g);
    const Floats x = {NAN, -1.0f}, filter = {1.0f};
    Floats packed(conv.forward_kernel_floats()), y(2);
    conv.pack_forward(filter.data(), packed.data());
    conv.forward(x.data(), packed.data(), {.activation = Activation::relu}, y.data());
    EXPECT_TRUE(std::isnan(y[0])) << isa;
    EXPECT_EQ(y[1], 0.0f) << isa;
  }
}

TEST(DirectConv, NamesInstructionSetAndTile) {
  const SetIsa scope("sse2");
  EXPECT_EQ(DirectConv(with_outputs(conv2d(1, 3, 8, 5, 3))).name(), "direct:sse2 5x2");
}

TEST(DirectConv, RefusesUnknownInstructionSet) {
  const SetIsa scope("neon");
  EXPECT_THROW(DirectConv(with_outputs(conv2d(1, 3, 8, 5, 3))), InvalidArgument);
}

TEST(DirectConv, RefusesInstructionSetThatTheCpuLacks) {
  if (isas_of_this_cpu().size() == 3) GTEST_SKIP() << "this CPU has every instruction set";
  const SetIsa scope("avx512");
  EXPECT_THROW(DirectConv(with_outputs(conv2d(1, 3, 8, 5, 3))), Unsupported);
}

TEST(DirectConv, SaysWhyItRefuses) {
  ConvGeometry g = with_outputs(conv2d(1, 3, 8, 5, 3));
  std::string why;
  EXPECT_TRUE(DirectConv::supports(g, &why));
  EXPECT_EQ(why, "");
  g.groups = 2;
  EXPECT_FALSE(DirectConv::supports(g, &why));
  EXPECT_NE(why.find("2 groups"), std::string::npos) << why;
  EXPECT_THROW(DirectConv{g}, Unsupported);
  g.groups = 0;
  EXPECT_FALSE(DirectConv::supports(g));
  g.groups = 1;
  g.out[1] = 4;
  EXPECT_FALSE(DirectConv::supports(g, &why));
  EXPECT_NE(why.find("output extent 4"), std::string::npos) << why;
  g.stride[1] = 0;
  EXPECT_FALSE(DirectConv::supports(g));
  ConvGeometry huge = conv2d(1, 64, 64, 1 << 16, 1);
  EXPECT_FALSE(DirectConv::supports(with_outputs(huge), &why));
  EXPECT_NE(why.find("2^31"), std::string::npos) << why;
}

TEST(DirectConv, RefusesPoolsThatDoNotFit) {
  const ConvGeometry g = with_outputs(conv2d(1, 3, 8, 40, 3));  // 38 x 39 outputs
  EXPECT_THROW(DirectConv(g, PoolGeometry{{1, 3, 3}, {1, 2, 2}, {1, 18, 18}}), InvalidArgument);
  EXPECT_THROW(DirectConv(g, PoolGeometry{{1, 2, 2}, {1, 2, 2}, {1, 19, 20}}), InvalidArgument);
  EXPECT_THROW(DirectConv(g, PoolGeometry{{1, 19, 19}, {1, 19, 19}, {1, 2, 2}}), InvalidArgument);
  EXPECT_THROW(DirectConv(g).forward_pool_scratch_bytes(), InternalError);
}

}  // namespace
}  // namespace pando::kernels
