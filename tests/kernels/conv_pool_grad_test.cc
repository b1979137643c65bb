// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "tests/support/kernel_case.h"

namespace pando::kernels {
namespace {

using test::BoundCase;
using test::f32;

struct PooledCase {
  Shape x;
  ir::Ints filter;  // spatial
  int64_t channels = 4;
  ir::Ints window;
  std::string padding = "same";
  ir::Ints pads = {};
};

// Covers runs of every length that the kernels handle separately, edges on one side and on both,
// volumes smaller than a window, pixels that no pooling window covers, and groups of channels that
// are not full.
std::vector<PooledCase> cases() {
  return {{{1, 8, 8, 8, 4}, {2, 2, 2}, 16, {2, 2, 2}},
          {{2, 6, 4, 6, 16}, {2, 2, 2}, 32, {2, 2, 2}},
          {{1, 4, 6, 4, 32}, {2, 2, 2}, 8, {2, 2, 2}},
          {{1, 4, 4, 4, 64}, {2, 2, 2}, 7, {2, 2, 2}},
          {{1, 6, 6, 6, 16}, {3, 3, 3}, 9, {2, 2, 2}},
          {{1, 6, 6, 6, 8}, {2, 2, 2}, 12, {2, 2, 2}, "valid"},
          {{1, 7, 5, 6, 3}, {3, 2, 3}, 5, {2, 2, 2}, "valid"},
          {{2, 2, 2, 2, 5}, {3, 3, 3}, 3, {2, 2, 2}},
          {{1, 1, 4, 4, 16}, {3, 3, 3}, 4, {1, 2, 4}},
          {{1, 9, 8, 16}, {2, 2}, 24, {2, 4}, "valid"},
          {{2, 8, 8, 24}, {3, 3}, 10, {4, 2}, "explicit", {2, 0, 0, 2}},
          {{1, 6, 6, 6, 48}, {1, 1, 1}, 11, {3, 3, 3}},
          {{2, 8, 6, 7, 32}, {2, 2, 2}, 70, {2, 2, 2}, "explicit", {1, 1, 1, 1, 1, 1}},
          {{1, 2, 2, 2, 16}, {2, 2, 2}, 130, {2, 2, 2}},
          {{1, 5, 6, 6, 28}, {2, 3, 2}, 20, {2, 2, 2}}};
}

ir::Attributes attributes_of(const PooledCase& pooled) {
  ir::Attributes attributes;
  attributes.set("padding", pooled.padding);
  if (!pooled.pads.empty()) attributes.set("pads", pooled.pads);
  attributes.set("window", pooled.window);
  return attributes;
}

Shape kernel_shape(const PooledCase& pooled) {
  ir::Ints dims = pooled.filter;
  dims.push_back(pooled.x.back());
  dims.push_back(pooled.channels);
  return Shape(dims);
}

// The gradients of one case, with the maxima of a forward pass.
class Gradients {
 public:
  Gradients(const PooledCase& pooled, const std::string& activation)
      : forward_({.op = "conv_pool",
                  .inputs = {f32(pooled.x), f32(kernel_shape(pooled))},
                  .attributes = attributes_of(pooled),
                  .outputs = 2}),
        pooled_(pooled),
        masked_(activation != "none"),
        y_(forward_.node().output(0)->shape()),
        maxima_(forward_.run(forward_.offer("reference"), forward_.step({}))) {
    attributes_ = attributes_of(pooled);
    attributes_.set("activation", activation);
    if (activation == "leaky_relu") attributes_.set("alpha", 0.25);
  }

  BoundCase of_input() const {
    ir::Attributes attributes = attributes_;
    attributes.set("input", ir::Ints(pooled_.x.begin() + 1, pooled_.x.end() - 1));
    BoundCase bound({.op = "conv_pool_input_grad",
                     .inputs = with_y({f32(y_), {DType::u8, y_}, f32(kernel_shape(pooled_))}),
                     .attributes = attributes});
    bound.input(1) = maxima_[1];
    return bound;
  }
  BoundCase of_kernel(int outputs) const {
    ir::Attributes attributes = attributes_;
    attributes.set("filter", pooled_.filter);
    BoundCase bound({.op = "conv_pool_filter_grad",
                     .inputs = with_y({f32(pooled_.x), f32(y_), {DType::u8, y_}}),
                     .attributes = attributes,
                     .outputs = outputs});
    bound.input(2) = maxima_[1];
    return bound;
  }

 private:
  std::vector<ir::TensorType> with_y(std::vector<ir::TensorType> inputs) const {
    if (masked_) inputs.push_back(f32(y_));
    return inputs;
  }

  BoundCase forward_;
  PooledCase pooled_;
  bool masked_;
  Shape y_;
  std::vector<test::Buffer> maxima_;
  ir::Attributes attributes_;
};

TEST(ConvPoolGrad, OfTheInputAgrees) {
  for (const PooledCase& pooled : cases()) {
    for (const char* activation : {"none", "relu", "leaky_relu"}) {
      EXPECT_EQ(Gradients(pooled, activation).of_input().expect_agreement(), 1) << pooled.x;
    }
  }
}

TEST(ConvPoolGrad, OfTheKernelAgrees) {
  for (const PooledCase& pooled : cases()) {
    for (const char* activation : {"none", "relu", "leaky_relu"}) {
      EXPECT_EQ(Gradients(pooled, activation).of_kernel(2).expect_agreement(), 1) << pooled.x;
    }
    EXPECT_EQ(Gradients(pooled, "relu").of_kernel(1).expect_agreement(), 1) << pooled.x;
  }
}

// Parts divide a sample by planes; the bits of the result do not depend on where.
TEST(ConvPoolGrad, OfTheInputHasTheSameBitsInAnyNumberOfParts) {
  for (const PooledCase& pooled : cases()) {
    const BoundCase bound = Gradients(pooled, "leaky_relu").of_input();
    const KernelOffer fast = bound.offer("fast");
    const std::vector<test::Buffer> whole = bound.run(fast, bound.step({}));
    for (const int parts : {2, 3, 5, 8, 11}) {
      test::expect_close(bound.node(), bound.run_parts(fast, bound.step({}), parts), whole, 0,
                         "in " + std::to_string(parts) + " parts");
    }
  }
}

TEST(ConvPoolGrad, StridesAreLeftToTheReference) {
  PooledCase pooled{{1, 8, 8, 8, 4}, {2, 2, 2}, 16, {2, 2, 2}};
  ir::Attributes attributes = attributes_of(pooled);
  attributes.set("strides", ir::Ints{2, 2, 2});
  attributes.set("filter", pooled.filter);
  const Shape y = {1, 2, 2, 2, 16};
  const BoundCase bound({.op = "conv_pool_filter_grad",
                         .inputs = {f32(pooled.x), f32(y), {DType::u8, y}},
                         .attributes = attributes});
  EXPECT_NE(bound.offer("fast").refusal.find("strided"), std::string::npos);
}

}  // namespace
}  // namespace pando::kernels
