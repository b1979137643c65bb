// Compares the fast kernels of the element-wise ops with the reference.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "pando/kernels/half/rounding_key.h"
#include "pando/tensor/tensor.h"
#include "tests/support/kernel_case.h"

namespace pando::test {
namespace {

const std::vector<Shape>& elementwise_shapes() {
  static const std::vector<Shape> list = {{1, 1},  {1, 3, 3, 5},    {2, 7, 5, 17}, {3, 4, 4, 16},
                                          {4, 10}, {2, 3, 5, 4, 3}, {5, 1000}};
  return list;
}

TEST(FastElementwise, UnaryOpsAgree) {
  for (const Shape& shape : elementwise_shapes()) {
    for (const char* op :
         {"relu", "leaky_relu", "tanh", "sigmoid", "softmax", "clip", "elu", "gelu", "hard_sigmoid",
          "hard_swish", "mish", "relu6", "selu", "softplus", "swish"}) {
      BoundCase bound({.op = op, .inputs = {f32(shape)}});
      bound.map_input(0, [](float x) { return 4 * x; });
      EXPECT_EQ(bound.expect_agreement({.tolerance = 1e-6}), 1);
    }
    EXPECT_EQ(BoundCase({.op = "scale",
                         .inputs = {f32(shape)},
                         .attributes = {{"factor", -0.75}, {"offset", 2.0}}})
                  .expect_agreement(),
              1);
  }
}

TEST(FastElementwise, BinaryOpsAgree) {
  for (const Shape& shape : elementwise_shapes()) {
    for (const char* op :
         {"relu_grad", "leaky_relu_grad", "tanh_grad", "sigmoid_grad", "softmax_grad", "add",
          "multiply", "clip_grad", "elu_grad", "gelu_grad", "hard_sigmoid_grad", "hard_swish_grad",
          "mish_grad", "relu6_grad", "selu_grad", "softplus_grad", "swish_grad"}) {
      BoundCase bound({.op = op, .inputs = {f32(shape), f32(shape)}});
      bound.map_input(1, [](float x) { return 4 * x; });
      EXPECT_EQ(bound.expect_agreement(), 1);
    }
    for (const char* activation : {"relu", "leaky_relu"}) {
      const ir::Attributes attributes{{"activation", std::string(activation)}, {"alpha", 0.125}};
      BoundCase({.op = "add", .inputs = {f32(shape), f32(shape)}, .attributes = attributes})
          .expect_agreement();
    }
  }
}

TEST(FastElementwise, KeepsWhatIsNotANumber) {
  const float odd[] = {std::nanf(""),
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity(),
                       -0.0f,
                       1e-40f,
                       100.0f,
                       -100.0f};
  for (const char* op :
       {"relu", "leaky_relu", "tanh", "sigmoid", "clip", "elu", "gelu", "hard_sigmoid",
        "hard_swish", "mish", "relu6", "selu", "softplus", "swish"}) {
    BoundCase bound({.op = op, .inputs = {f32({1, 35})}});
    for (int i = 0; i < 35; ++i) bound.input(0).floats()[i] = odd[i % 7];
    bound.expect_agreement({.tolerance = 1e-6});
  }
}

// Results of 0 and 1 must not raise overflow exceptions, because training can be told to stop at
// the processor's floating-point exceptions.
TEST(FastElementwise, LargeNumbersRaiseNoExceptions) {
  for (float size = 0.1f; size < 65504; size *= 1.2f) {
    for (const char* op :
         {"sigmoid", "tanh", "softmax", "elu", "gelu", "hard_swish", "mish", "selu", "softplus",
          "swish", "gelu_grad", "hard_swish_grad", "mish_grad", "softplus_grad", "swish_grad"}) {
      const bool is_gradient = std::string_view(op).ends_with("_grad");
      BoundCase bound(
          {.op = op, .inputs = std::vector<ir::TensorType>(is_gradient ? 2 : 1, f32({4, 9}))});
      bound.map_input(is_gradient ? 1 : 0, [&](float x) { return x < 0 ? -size : size; });
      for (const char* candidate : {"fast", "reference"}) {
        const auto offer = bound.offer(candidate);
        std::feclearexcept(FE_ALL_EXCEPT);
        bound.run(offer, bound.step({}));
        EXPECT_EQ(std::fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW), 0)
            << candidate << " " << op << " of " << size;
      }
    }
  }
}

TEST(FastElementwise, DropoutHasTheSameMask) {
  for (const Shape& shape : elementwise_shapes()) {
    for (const double rate : {0.0, 0.25, 0.9}) {
      for (const char* mask : {"element", "channel", "sample"}) {
        const BoundCase bound(
            {.op = "dropout",
             .inputs = {f32(shape)},
             .attributes = {{"rate", rate}, {"key", int64_t{12345}}, {"mask", std::string(mask)}}});
        EXPECT_EQ(bound.expect_agreement({.tolerance = 0, .first_sample = (int64_t{3} << 32) + 5}),
                  1);
      }
    }
  }
}

// Counts the samples, and the channels of samples, of which all pixels are dropped or none is.
TEST(FastElementwise, DropoutMasksCoverChannelsOrSamples) {
  const Shape shape{20, 3, 3, 8};
  for (const char* mask : {"channel", "sample"}) {
    BoundCase bound({.op = "dropout",
                     .inputs = {f32(shape)},
                     .attributes = {{"rate", 0.5}, {"mask", std::string(mask)}}});
    bound.map_input(0, [](float) { return 1.0f; });
    const auto outputs = bound.run(bound.offer("fast"), bound.step({}));
    const float* y = outputs[0].floats();
    int dropped_channels = 0;
    int dropped_samples = 0;
    for (int n = 0; n < 20; ++n) {
      int dropped = 0;
      for (int c = 0; c < 8; ++c) {
        float sum = 0;
        for (int pixel = 0; pixel < 9; ++pixel) sum += y[(n * 9 + pixel) * 8 + c];
        EXPECT_TRUE(sum == 0 || sum == 18) << sum;
        dropped += sum == 0 ? 1 : 0;
      }
      dropped_channels += dropped;
      dropped_samples += dropped == 8 ? 1 : 0;
      EXPECT_TRUE(mask == std::string("channel") || dropped == 0 || dropped == 8) << dropped;
    }
    EXPECT_GT(dropped_channels, 20) << mask;
    EXPECT_LT(dropped_channels, 140) << mask;
    EXPECT_EQ(dropped_samples > 2, mask == std::string("sample"));
  }
}

TEST(FastElementwise, GaussianNoiseAgrees) {
  for (const Shape& shape : elementwise_shapes()) {
    const BoundCase bound({.op = "gaussian_noise",
                           .inputs = {f32(shape)},
                           .attributes = {{"stddev", 0.7}, {"key", int64_t{12345}}}});
    EXPECT_EQ(bound.expect_agreement({.tolerance = 2e-6, .first_sample = (int64_t{3} << 32) + 5}),
              1);
  }
}

TEST(FastElementwise, GaussianNoiseIsNormal) {
  BoundCase bound(
      {.op = "gaussian_noise", .inputs = {f32({4, 10000})}, .attributes = {{"stddev", 2.0}}});
  bound.map_input(0, [](float) { return 1.0f; });
  const auto outputs = bound.run(bound.offer("fast"), bound.step({}));
  double sum = 0;
  double squares = 0;
  int within = 0;  // one deviation
  for (int i = 0; i < 40000; ++i) {
    const double away = (outputs[0].floats()[i] - 1.0) / 2;
    sum += away;
    squares += away * away;
    within += std::abs(away) < 1 ? 1 : 0;
  }
  EXPECT_NEAR(sum / 40000, 0, 0.02);
  EXPECT_NEAR(squares / 40000, 1, 0.03);
  EXPECT_NEAR(within / 40000.0, 0.6827, 0.01);
}

TEST(FastElementwise, DropoutMasksDifferBetweenSamples) {
  const BoundCase bound({.op = "dropout", .inputs = {f32({2, 64})}});
  const auto outputs = bound.run(bound.offer("fast"), bound.step({}));
  int different = 0;
  for (int i = 0; i < 64; ++i) {
    different += (outputs[0].floats()[i] == 0) != (outputs[0].floats()[64 + i] == 0) ? 1 : 0;
  }
  EXPECT_GT(different, 10);
}

TEST(FastElementwise, CastsAgreeForAllPairs) {
  for (const char* to : {"f32", "f16", "bf16", "u8", "i32"}) {
    for (const DType from : {DType::f32, DType::f16, DType::bf16, DType::u8, DType::i32}) {
      BoundCase bound(
          {.op = "cast", .inputs = {{from, {3, 57}}}, .attributes = {{"dtype", std::string(to)}}});
      if (from == DType::f32) bound.map_input(0, [](float x) { return 100 * std::abs(x); });
      EXPECT_EQ(bound.expect_agreement({.tolerance = 0}), 1);
    }
  }
}

TEST(FastElementwise, CastsOfWhatDoesNotFitAreThoseOfTheHost) {
  const float odd[] = {-3e9f, 3e9f, std::nanf(""), -1, 256, -1.9f, 1e38f};
  Tensor x(DType::f32, {1, 70});
  for (size_t i = 0; i < 70; ++i) x.f32()[i] = odd[i % 7];
  for (const DType to : {DType::u8, DType::i32}) {
    BoundCase bound({.op = "cast",
                     .inputs = {f32({1, 70})},
                     .attributes = {{"dtype", std::string(to_string(to))}}});
    std::memcpy(bound.input(0).data(), x.data(), x.bytes());
    const Tensor wanted = cast(x, to);
    for (const char* kernel : {"fast", "reference"}) {
      const auto outputs = bound.run(bound.offer(kernel), bound.step({}));
      EXPECT_EQ(std::memcmp(outputs[0].data(), wanted.data(), wanted.bytes()), 0)
          << kernel << " to " << to_string(to);
    }
  }
}

// Covers every 16-bit number, and numbers that round, overflow and underflow.
TEST(FastElementwise, HalfCastsAgreeBitForBit) {
  for (const char* dtype : {"f16", "bf16"}) {
    BoundCase down(
        {.op = "cast", .inputs = {f32({1, 4096})}, .attributes = {{"dtype", std::string(dtype)}}});
    for (uint32_t i = 0; i < 4096; ++i) {
      const uint32_t bits = i << 20 | i << 7 | (i % 5 == 0 ? 0x1000u : i);
      std::memcpy(down.input(0).floats() + i, &bits, sizeof(bits));
    }
    down.expect_agreement({.tolerance = 0});
  }
  for (const DType from : {DType::f16, DType::bf16}) {
    BoundCase up({.op = "cast",
                  .inputs = {{from, {1, 65536}}},
                  .attributes = {{"dtype", std::string("f32")}}});
    auto* bits = reinterpret_cast<uint16_t*>(up.input(0).data());
    for (uint32_t i = 0; i < 65536; ++i) bits[i] = static_cast<uint16_t>(i);
    up.expect_agreement({.tolerance = 0});
  }
}

KernelCase cast_case(const char* dtype, Shape shape) {
  return {.op = "cast",
          .inputs = {f32(std::move(shape))},
          .attributes = {{"dtype", std::string(dtype)}}};
}

// Sets the attributes that the pass lower-precision sets.
void round_stochastically(BoundCase& bound) {
  bound.attributes().set("half_rounding", std::string("stochastic"));
  bound.attributes().set("half_stream", int64_t{7});
}

TEST(FastElementwise, StochasticCastsAgreeBitForBit) {
  for (const char* dtype : {"f16", "bf16"}) {
    for (const Shape& shape : {Shape{3, 57}, Shape{40, 5}, Shape{2, 4096}, Shape{70}}) {
      BoundCase bound(cast_case(dtype, shape));
      round_stochastically(bound);
      EXPECT_EQ(bound.expect_agreement({.tolerance = 0, .first_sample = 12}), 1);
    }
  }
}

// A sample is rounded the same way wherever it is in a slice; another sample is rounded
// differently.
TEST(FastElementwise, StochasticCastsDependOnTheSample) {
  BoundCase bound(cast_case("f16", {2, 100}));
  round_stochastically(bound);
  bound.map_input(0, [](float) { return 1.0f / 3; });
  const auto halves = [&](int64_t first_sample) {
    const auto outputs = bound.run(bound.offer("fast"), bound.step({.first_sample = first_sample}));
    const auto* bits = reinterpret_cast<const uint16_t*>(outputs[0].data());
    return std::vector<uint16_t>(bits, bits + 200);
  };
  const std::vector<uint16_t> two = halves(5);
  const std::vector<uint16_t> next = halves(6);
  EXPECT_TRUE(std::equal(two.begin() + 100, two.end(), next.begin()));
  EXPECT_FALSE(std::equal(two.begin() + 100, two.end(), two.begin()));
  EXPECT_EQ(halves(5), two);
}

// A variable has no samples: the noise is numbered over all its elements.
TEST(FastElementwise, RoundedVariablesAgreeBitForBit) {
  for (const Shape& shape : {Shape{3, 3, 17, 5}, Shape{130}}) {
    BoundCase bound({.op = "round_variable",
                     .inputs = {f32(shape)},
                     .attributes = {{"dtype", std::string("f16")}}});
    round_stochastically(bound);
    EXPECT_EQ(bound.expect_agreement({.tolerance = 0, .first_sample = 3}), 1);

    const auto outputs = bound.run(bound.offer("fast"), bound.step({.first_sample = 3}));
    const kernels::half::NodeRounding rounding(bound.node());
    const HalfRounding whole = rounding.of(bound.step({.first_sample = 3}), 3);
    const auto* bits = reinterpret_cast<const uint16_t*>(outputs[0].data());
    for (int64_t i = 0; i < shape.elements(); ++i) {
      EXPECT_EQ(bits[i], round_half(DType::f16, bound.input(0).floats()[i], whole,
                                    static_cast<uint64_t>(i)));
    }
  }
}

TEST(FastElementwise, CastsThatOverflowSaturateOrGiveNan) {
  BoundCase bound(cast_case("f16", {1, 40}));
  bound.map_input(0, [](float) { return 1e6f; });
  for (const uint16_t wanted : {uint16_t{0x7bff}, uint16_t{0x7e00}}) {
    for (const char* kernel : {"fast", "reference"}) {
      const auto outputs = bound.run(bound.offer(kernel), bound.step({}));
      const auto* bits = reinterpret_cast<const uint16_t*>(outputs[0].data());
      EXPECT_EQ(std::count(bits, bits + 40, wanted), 40) << kernel;
    }
    bound.attributes().set("half_overflow", std::string("nan"));
  }
}

}  // namespace
}  // namespace pando::test
