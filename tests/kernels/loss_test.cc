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
