// Compares the fast kernels of losses and metrics with the reference.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/kernel_case.h"

namespace pando::test {
namespace {

int32_t* labels_of(Buffer& buffer) { return reinterpret_cast<int32_t*>(buffer.data()); }

float probability(float x) { return 1 / (1 + std::exp(-x)); }

struct CrossEntropyCase {
  int64_t classes;
  bool sparse;
  bool weighted;
  bool from_logits;
  double smoothing;
};

std::vector<CrossEntropyCase> cross_entropy_cases() {
  std::vector<CrossEntropyCase> cases;
  for (const int64_t classes : {2, 10, 17, 40}) {
    for (int bits = 0; bits < 16; ++bits) {
      cases.push_back({classes, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                       (bits & 8) != 0 ? 0.1 : 0.0});
    }
  }
  return cases;
}

// Fills the predictions, labels and weight of a case, from input `first` on.
void prepare(BoundCase& bound, const CrossEntropyCase& c, int first) {
  if (!c.from_logits) bound.map_input(first, probability);
  if (c.sparse) {
    int32_t* labels = labels_of(bound.input(first + 1));
    for (int32_t n = 0; n < 5; ++n) labels[n] = n % static_cast<int32_t>(c.classes);
    labels[3] = -1;  // labels that mark padding
    labels[4] = static_cast<int32_t>(c.classes);
  } else {
    bound.map_input(first + 1, probability);
  }
}

KernelCase cross_entropy(const CrossEntropyCase& c, bool gradient) {
  KernelCase result{
      .op = gradient ? "cross_entropy_grad" : "cross_entropy",
      .attributes = {{"from_logits", int64_t{c.from_logits}}, {"label_smoothing", c.smoothing}}};
  if (gradient) result.inputs.push_back(f32({5}));
  result.inputs.push_back(f32({5, c.classes}));
  result.inputs.push_back(c.sparse ? ir::TensorType{DType::i32, {5}} : f32({5, c.classes}));
  if (c.weighted) result.inputs.push_back(f32({5}));
  return result;
}

TEST(FastLoss, CrossEntropyAgrees) {
  for (const CrossEntropyCase& c : cross_entropy_cases()) {
    for (const bool gradient : {false, true}) {
      BoundCase bound(cross_entropy(c, gradient));
      prepare(bound, c, gradient ? 1 : 0);
      EXPECT_EQ(bound.expect_agreement({.tolerance = 2e-6}), 1);
    }
  }
}

TEST(FastLoss, CrossEntropyOfClippedProbabilities) {
  for (const bool gradient : {false, true}) {
    const CrossEntropyCase c{10, true, false, false, 0.0};
    BoundCase bound(cross_entropy(c, gradient));
    prepare(bound, c, gradient ? 1 : 0);
    bound.map_input(gradient ? 1 : 0, [](float p) { return p > 0.5f ? 1.0f : 0.0f; });
    bound.expect_agreement({.tolerance = 2e-6});
  }
}

TEST(FastLoss, LargeLogitsDoNotOverflow) {
  const CrossEntropyCase c{10, true, false, true, 0.0};
  for (const bool gradient : {false, true}) {
    BoundCase bound(cross_entropy(c, gradient));
    prepare(bound, c, gradient ? 1 : 0);
    bound.map_input(gradient ? 1 : 0, [](float x) { return 1000 * x; });
    bound.expect_agreement({.tolerance = 2e-6});
  }
}

TEST(FastLoss, RegressionLossesAgree) {
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 5}, Shape{2, 3, 7, 3}, Shape{4, 1000}}) {
    for (const bool weighted : {false, true}) {
      for (const std::string op : {"mean_squared_error", "mean_absolute_error"}) {
        KernelCase loss{.op = op, .inputs = {f32(shape), f32(shape)}};
        KernelCase grad{.op = op + "_grad",
                        .inputs = {f32({shape.front()}), f32(shape), f32(shape)}};
        if (weighted) {
          loss.inputs.push_back(f32({shape.front()}));
          grad.inputs.push_back(f32({shape.front()}));
        }
        EXPECT_EQ(BoundCase(loss).expect_agreement({.tolerance = 2e-6}), 1);
        EXPECT_EQ(BoundCase(grad).expect_agreement({.tolerance = 2e-6}), 1);
      }
    }
  }
}

// Pixels, of which some have no label, and the focal loss.
TEST(FastLoss, CrossEntropyOfPixelsAgrees) {
  for (const bool gradient : {false, true}) {
    for (int bits = 0; bits < 8; ++bits) {
      const bool sparse = (bits & 1) != 0;
      const bool logits = (bits & 2) != 0;
      KernelCase loss{.op = gradient ? "cross_entropy_grad" : "cross_entropy",
                      .attributes = {{"from_logits", int64_t{logits}}, {"label_smoothing", 0.1}}};
      if ((bits & 4) != 0) {
        loss.attributes.set("gamma", 2.0);
        loss.attributes.set("alpha", 0.25);
      }
      if (gradient) loss.inputs.push_back(f32({3}));
      loss.inputs.push_back(f32({3, 7, 5, 4}));
      loss.inputs.push_back(sparse ? ir::TensorType{DType::i32, {3, 7, 5}} : f32({3, 7, 5, 4}));
      loss.inputs.push_back(f32({3}));
      BoundCase bound(loss);
      const int first = gradient ? 1 : 0;
      if (!logits) bound.map_input(first, probability);
      if (sparse) {
        for (int n = 0; n < 3 * 35; ++n) labels_of(bound.input(first + 1))[n] = n % 6 - 1;
      } else {
        bound.map_input(first + 1, probability);
      }
      EXPECT_EQ(bound.expect_agreement({.tolerance = 5e-6}), 1) << bits;
    }
  }
}

TEST(FastLoss, BinaryLossesAgree) {
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 5}, Shape{2, 3, 7, 3}, Shape{4, 5000}}) {
    for (int bits = 0; bits < 8; ++bits) {
      const bool logits = (bits & 1) != 0;
      ir::Attributes attributes = {{"from_logits", int64_t{logits}}};
      if ((bits & 2) != 0) attributes.set("label_smoothing", 0.1);
      if ((bits & 4) != 0) {
        attributes.set("gamma", 2.0);
        attributes.set("alpha", 0.25);
      }
      for (const bool gradient : {false, true}) {
        KernelCase loss{.op = gradient ? "binary_cross_entropy_grad" : "binary_cross_entropy",
                        .inputs = {f32(shape), f32(shape), f32({shape.front()})},
                        .attributes = attributes};
        if (gradient) loss.inputs.insert(loss.inputs.begin(), f32({shape.front()}));
        BoundCase bound(loss);
        const int first = gradient ? 1 : 0;
        bound.map_input(first, [&](float x) { return logits ? 20 * x : probability(x); });
        bound.map_input(first + 1, [](float x) { return x > 0 ? 1.0f : 0.0f; });
        EXPECT_EQ(bound.expect_agreement({.tolerance = 5e-6}), 1) << shape << bits;
      }
    }
    for (const bool gradient : {false, true}) {
      for (const std::string op : {"huber", "dice"}) {
        KernelCase loss{.op = gradient ? op + "_grad" : op, .inputs = {f32(shape), f32(shape)}};
        if (gradient) loss.inputs.insert(loss.inputs.begin(), f32({shape.front()}));
        BoundCase bound(loss);
        for (const int input : {0, 1}) bound.map_input(input + (gradient ? 1 : 0), probability);
        EXPECT_EQ(bound.expect_agreement({.tolerance = 5e-6}), 1);
      }
    }
  }
}

// Where a probability would round to 0 or 1, logits still have a loss and a gradient.
TEST(FastLoss, BinaryLossesOfLogitsDoNotSaturate) {
  for (const char* candidate : {"reference", "fast"}) {
    BoundCase loss({.op = "binary_cross_entropy",
                    .inputs = {f32({2, 2}), f32({2, 2})},
                    .attributes = {{"from_logits", int64_t{1}}}});
    BoundCase grad({.op = "binary_cross_entropy_grad",
                    .inputs = {f32({2}), f32({2, 2}), f32({2, 2})},
                    .attributes = {{"from_logits", int64_t{1}}}});
    const float x[] = {-50, 200, 30, 30};
    const float y[] = {1, 0, 1, 1};
    for (int i = 0; i < 4; ++i) {
      loss.input(0).floats()[i] = grad.input(1).floats()[i] = x[i];
      loss.input(1).floats()[i] = grad.input(2).floats()[i] = y[i];
    }
    grad.map_input(0, [](float) { return 2.0f; });
    const auto losses = loss.run(loss.offer(candidate), loss.step({}));
    EXPECT_FLOAT_EQ(losses[0].floats()[0], 125);
    EXPECT_NEAR(losses[0].floats()[1], std::exp(-30.0), 1e-18) << candidate;
    const auto slopes = grad.run(grad.offer(candidate), grad.step({}));
    EXPECT_FLOAT_EQ(slopes[0].floats()[0], -1);
    EXPECT_FLOAT_EQ(slopes[0].floats()[1], 1);
    EXPECT_NEAR(slopes[0].floats()[2], -std::exp(-30.0), 1e-18) << candidate;
  }
}

TEST(FastLoss, AccuracyOfPixelsAgrees) {
  BoundCase bound({.op = "top_k_accuracy",
                   .inputs = {f32({3, 6, 5, 4}), ir::TensorType{DType::i32, {3, 6, 5}}}});
  for (int n = 0; n < 90; ++n) labels_of(bound.input(1))[n] = n < 30 ? -1 : n % 5;
  EXPECT_EQ(bound.expect_agreement({.tolerance = 1e-7, .half = false}), 1);
  EXPECT_EQ(bound.run(bound.offer("fast"), bound.step({}))[0].floats()[0], 0);
}

TEST(FastLoss, TopKAgrees) {
  for (const int64_t k : {1, 2, 5}) {
    for (const bool sparse : {true, false}) {
      BoundCase bound(
          {.op = "top_k_accuracy",
           .inputs = {f32({40, 7}), sparse ? ir::TensorType{DType::i32, {40}} : f32({40, 7})},
           .attributes = {{"k", k}}});
      EXPECT_EQ(bound.expect_agreement({.tolerance = 0}), 1);
      // Covers ties, labels outside the classes, and NaN.
      bound.map_input(0, [](float x) { return std::round(x); });
      bound.input(0).floats()[3 * 7 + 2] = std::nanf("");
      if (sparse) {
        labels_of(bound.input(1))[5] = -1;
        labels_of(bound.input(1))[6] = 7;
      }
      bound.expect_agreement({.tolerance = 0});
    }
  }
}

}  // namespace
}  // namespace pando::test
