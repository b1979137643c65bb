// Compares the fast kernels of the ops that convert pixels with the reference.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/kernel_case.h"

namespace pando::test {
namespace {

// Covers odd sizes, single pixels, more pixels than a row of constants, and 1 to 5 channels.
const std::vector<Shape>& pixel_shapes() {
  static const std::vector<Shape> list = {{1, 1, 1, 1}, {2, 1, 1, 3},  {3, 5, 7, 1},
                                          {2, 3, 2, 3}, {3, 11, 9, 3}, {2, 8, 8, 4},
                                          {1, 3, 5, 2}, {2, 4, 3, 5},  {5, 32, 32, 3}};
  return list;
}

constexpr DType kPixels[] = {DType::u8, DType::f32};

TEST(FlipWhere, AgreesBitForBit) {
  for (const DType dtype : kPixels) {
    for (const Shape& shape : pixel_shapes()) {
      BoundCase bound({.op = "flip_where", .inputs = {{dtype, shape}, {DType::u8, {shape[0]}}}});
      for (int64_t n = 0; n < shape[0]; ++n) {
        bound.input(1).data()[n] = static_cast<std::byte>(n % 2 == 0 ? 1 + n : 0);
      }
      EXPECT_EQ(bound.expect_agreement({.tolerance = 0}), 1);
      const BoundCase all({.op = "flip_where", .inputs = {{dtype, shape}}});
      EXPECT_EQ(all.expect_agreement({.tolerance = 0}), 1);
    }
  }
}

TEST(FlipWhere, MirrorsTheChosenSamples) {
  BoundCase bound({.op = "flip_where", .inputs = {{DType::u8, {3, 2, 3, 1}}, {DType::u8, {3}}}});
  const char pixels[] = "abcdefghijklmnopqr";
  std::memcpy(bound.input(0).data(), pixels, 18);
  const uint8_t flags[] = {1, 0, 200};
  std::memcpy(bound.input(1).data(), flags, 3);
  for (const char* kernel : {"fast", "reference"}) {
    const auto outputs = bound.run(bound.offer(kernel), bound.step({}));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(outputs[0].data()), 18),
              "cbafedghijklonmrqp")
        << kernel;
  }
}

TEST(FlipWhere, MirrorsAllSamplesWithoutFlags) {
  BoundCase bound({.op = "flip_where", .inputs = {{DType::u8, {2, 2, 3, 1}}}});
  const char pixels[] = "abcdefghijkl";
  std::memcpy(bound.input(0).data(), pixels, 12);
  for (const char* kernel : {"fast", "reference"}) {
    const auto outputs = bound.run(bound.offer(kernel), bound.step({}));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(outputs[0].data()), 12), "cbafedihglkj")
        << kernel;
  }
}

ir::Numbers progression(int64_t count, double first, double step) {
  ir::Numbers list;
  for (int64_t i = 0; i < count; ++i) list.push_back(first + step * static_cast<double>(i));
  return list;
}

TEST(NormalisePixels, Agrees) {
  for (const DType dtype : kPixels) {
    for (const Shape& shape : pixel_shapes()) {
      for (const int64_t more : {0, 1, 2}) {
        const int64_t channels = shape.back();
        const BoundCase bound({.op = "normalise_pixels",
                               .inputs = {{dtype, shape}},
                               .attributes = {{"scale", progression(channels, 0.25, -0.125)},
                                              {"shift", progression(channels, -1, 0.75)},
                                              {"channels", more == 0 ? 0 : channels + more}}});
        EXPECT_EQ(bound.expect_agreement({.tolerance = 1e-6}), 1);
      }
    }
  }
}

TEST(NormalisePixels, AddedChannelsAreZeroWhateverTheNextPixelHolds) {
  BoundCase bound({.op = "normalise_pixels",
                   .inputs = {{DType::f32, {1, 1, 3, 3}}},
                   .attributes = {{"scale", ir::Numbers(3, 2.0)},
                                  {"shift", ir::Numbers(3, 1.0)},
                                  {"channels", int64_t{4}}}});
  bound.map_input(0, [](float) { return std::nanf(""); });
  const auto outputs = bound.run(bound.offer("fast"), bound.step({}));
  for (int p = 0; p < 3; ++p) EXPECT_EQ(outputs[0].floats()[4 * p + 3], 0);
}

TEST(StandardiseImage, Agrees) {
  for (const DType dtype : kPixels) {
    for (const Shape& shape : pixel_shapes()) {
      for (const int64_t more : {0, 1, 2}) {
        BoundCase bound({.op = "standardise_image",
                         .inputs = {{dtype, shape}},
                         .attributes = {{"channels", more == 0 ? 0 : shape.back() + more}}});
        if (dtype == DType::f32) bound.map_input(0, [](float x) { return 127 + 60 * x; });
        EXPECT_EQ(bound.expect_agreement({.tolerance = 1e-6}), 1);
      }
    }
  }
}

TEST(StandardiseImage, GivesMeanZeroAndDeviationOne) {
  const BoundCase bound({.op = "standardise_image", .inputs = {{DType::u8, {2, 16, 16, 3}}}});
  for (const char* kernel : {"fast", "reference"}) {
    const auto outputs = bound.run(bound.offer(kernel), bound.step({}));
    for (int n = 0; n < 2; ++n) {
      double sum = 0;
      double squares = 0;
      for (int i = 0; i < 768; ++i) {
        const double value = outputs[0].floats()[n * 768 + i];
        sum += value;
        squares += value * value;
      }
      EXPECT_NEAR(sum / 768, 0, 1e-6) << kernel;
      EXPECT_NEAR(squares / 768, 1, 1e-6) << kernel;
    }
  }
}

TEST(StandardiseImage, OneColourBecomesZeros) {
  for (const DType dtype : kPixels) {
    BoundCase bound({.op = "standardise_image", .inputs = {{dtype, {1, 5, 7, 3}}}});
    if (dtype == DType::f32) {
      bound.map_input(0, [](float) { return 0.1f; });
    } else {
      std::memset(bound.input(0).data(), 201, bound.input(0).size());
    }
    for (const char* kernel : {"fast", "reference"}) {
      const auto outputs = bound.run(bound.offer(kernel), bound.step({}));
      for (int i = 0; i < 105; ++i) ASSERT_EQ(outputs[0].floats()[i], 0) << kernel;
    }
  }
}

// Differences that come only from rounding must not be amplified into a picture. The sizes are not
// multiples of the blocks of a sum.
TEST(StandardiseImage, OneColourButForRoundingsBecomesZeros) {
  for (const Shape& shape : {Shape{1, 33, 31, 3}, Shape{1, 224, 224, 1}}) {
    for (const float other : {0.1f, std::nextafter(0.1f, 1.0f)}) {
      BoundCase bound({.op = "standardise_image", .inputs = {{DType::f32, shape}}});
      int count = 0;
      bound.map_input(0, [&](float) { return ++count % 3 == 0 ? other : 0.1f; });
      for (const char* kernel : {"fast", "reference"}) {
        const auto outputs = bound.run(bound.offer(kernel), bound.step({}));
        for (int i = 0; i < count; ++i) ASSERT_EQ(outputs[0].floats()[i], 0) << kernel;
      }
    }
  }
}

}  // namespace
}  // namespace pando::test
