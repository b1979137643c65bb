// Resizing by examples of the ONNX standard, and the fast kernels of resizing and of moving
// channels into pixels against the reference.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "pando/base/strings.h"
#include "tests/support/kernel_case.h"
#include "tests/support/run_graph.h"

namespace pando::test {
namespace {

// The picture with one channel and the numbers 1, 2, 3, ... , resized by each candidate.
void expect_resized(const Shape& picture, const std::string& attributes,
                    const std::vector<float>& wanted) {
  Tensor x(DType::f32, {1, picture[0], picture[1], 1});
  for (int64_t i = 0; i < x.elements(); ++i) {
    x.f32()[static_cast<size_t>(i)] = static_cast<float>(i + 1);
  }
  const ir::Graph graph = typed_graph(concat("graph(x: ", ir::to_string({x.dtype(), x.shape()}),
                                             " feed) { y = resize(x) {", attributes, "} return }"));
  for (const char* candidate : {"reference", "fast"}) {
    RunOptions options;
    options.use = prefer(candidate);
    const Tensor y = run_graph(graph, {{"x", x}}, options).at("y");
    ASSERT_EQ(y.elements(), static_cast<int64_t>(wanted.size())) << attributes;
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(y.f32()[i], wanted[i], 1e-5) << candidate << " " << attributes << " " << i;
    }
  }
}

TEST(Resize, LinearAsInTheStandard) {
  const std::string linear = ", mode=\"linear\"";
  expect_resized(
      {2, 2}, "size=[4,4]" + linear,
      {1, 1.25f, 1.75f, 2, 1.5f, 1.75f, 2.25f, 2.5f, 2.5f, 2.75f, 3.25f, 3.5f, 3, 3.25f, 3.75f, 4});
  expect_resized({2, 2}, "size=[4,4], coordinates=\"align_corners\"" + linear,
                 {1, 1.3333333f, 1.6666667f, 2, 1.6666667f, 2, 2.3333333f, 2.6666667f, 2.3333333f,
                  2.6666667f, 3, 3.3333333f, 3, 3.3333333f, 3.6666667f, 4});
  expect_resized({2, 4}, "size=[1,2], scales=[0.6,0.6]" + linear, {2.6666667f, 4.3333333f});
  // The corners of the result, which has whole pixels, are those of the input.
  expect_resized({2, 4}, "size=[1,2], scales=[0.6,0.6], coordinates=\"align_corners\"" + linear,
                 {1, 4});
  expect_resized({4, 4}, "size=[3,1], coordinates=\"pytorch_half_pixel\"" + linear,
                 {1.6666667f, 7, 12.333333f});
  expect_resized({1, 3}, "size=[1,6], coordinates=\"asymmetric\"" + linear,
                 {1, 1.5f, 2, 2.5f, 3, 3});
}

TEST(Resize, SymmetricAsInTheStandard) {
  const std::string symmetric = ", coordinates=\"half_pixel_symmetric\", mode=\"linear\"";
  expect_resized({1, 4}, "size=[1,2], scales=[1.0,0.6]" + symmetric, {1.6666667f, 3.3333333f});
  expect_resized(
      {2, 2}, "size=[4,5], scales=[2.3,2.94]" + symmetric,
      {1,          1.1598639f, 1.5f,       1.8401361f, 2,          1.5652174f, 1.7250814f,
       2.0652174f, 2.4053535f, 2.5652174f, 2.4347826f, 2.5946465f, 2.9347826f, 3.2749187f,
       3.4347826f, 3,          3.1598639f, 3.5f,       3.8401361f, 4});
  // Without scales the middles meet anyway.
  expect_resized({2, 2}, "size=[1,4]" + symmetric, {2, 2.25f, 2.75f, 3});
}

TEST(Resize, NearestAsInTheStandard) {
  expect_resized({2, 2}, "size=[4,6], scales=[2.0,3.0]",
                 {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4});
  expect_resized({2, 4}, "size=[1,2], scales=[0.6,0.6]", {1, 3});
  // One row of four becomes one of eight.
  const auto row = [](const std::string& attributes, const std::vector<float>& wanted) {
    expect_resized({1, 4}, "size=[1,8], " + attributes, wanted);
  };
  row("coordinates=\"align_corners\", nearest=\"floor\"", {1, 1, 1, 2, 2, 3, 3, 4});
  row("coordinates=\"asymmetric\", nearest=\"round_prefer_ceil\"", {1, 2, 2, 3, 3, 4, 4, 4});
  row("coordinates=\"asymmetric\", nearest=\"round_prefer_floor\"", {1, 1, 2, 2, 3, 3, 4, 4});
  row("coordinates=\"half_pixel\", nearest=\"ceil\"", {1, 2, 2, 3, 3, 4, 4, 4});
  row("coordinates=\"half_pixel\", nearest=\"floor\"", {1, 1, 1, 2, 2, 3, 3, 4});
}

TEST(Resize, CandidatesAgree) {
  const std::string linear = "linear";
  const std::vector<KernelCase> cases = {
      {"resize", {f32({2, 4, 5, 16})}, {{"size", ir::Ints{8, 10}}}},
      {"resize", {f32({3, 4, 5, 3})}, {{"size", ir::Ints{9, 3}}, {"mode", linear}}},
      {"resize", {f32({2, 7, 5, 17})}, {{"size", ir::Ints{3, 9}}, {"mode", linear}}},
      {"resize", {f32({1, 9, 8, 2})}, {{"size", ir::Ints{2, 3}}}},
      {"resize", {f32({2, 3, 4, 5, 6})}, {{"size", ir::Ints{6, 2, 7}}, {"mode", linear}}},
      {"resize", {f32({2, 5, 6})}, {{"size", ir::Ints{11}}, {"mode", linear}}},
      {"resize",
       {f32({2, 5, 6})},
       {{"size", ir::Ints{8}},
        {"scales", ir::Numbers{1.7}},
        {"mode", linear},
        {"coordinates", std::string("half_pixel_symmetric")}}},
  };
  for (const KernelCase& one : cases) {
    const BoundCase bound(one);
    EXPECT_EQ(bound.expect_agreement(), 1);
    const Shape& x = one.inputs[0].shape;
    ir::Attributes attributes = one.attributes;
    attributes.set("input", ir::Ints(x.begin() + 1, x.end() - 1));
    const BoundCase gradient(
        {.op = "resize_grad", .inputs = {bound.node().output()->type()}, .attributes = attributes});
    EXPECT_EQ(gradient.expect_agreement(), 1);
  }
}

// Box (i, j) of a picture with two channels and blocks of two pixels.
TEST(DepthToSpace, OrdersAsInTheStandard) {
  Tensor x(DType::f32, {1, 1, 1, 8});
  for (size_t i = 0; i < 8; ++i) x.f32()[i] = static_cast<float>(i);
  for (const char* candidate : {"reference", "fast"}) {
    const auto moved = [&](const std::string& mode) {
      RunOptions options;
      options.use = prefer(candidate);
      const Values values =
          run_graph(typed_graph(concat(
                        "graph(x: f32[1,1,1,8] feed) { y = depth_to_space(x) {block=2, mode=\"",
                        mode, "\"} z = space_to_depth(y) {block=2, mode=\"", mode, "\"} return }")),
                    {{"x", x}}, options);
      const auto z = values.at("z").f32();
      EXPECT_TRUE(std::equal(z.begin(), z.end(), x.f32().begin())) << mode;
      const auto y = values.at("y").f32();
      return std::vector<float>(y.begin(), y.end());
    };
    EXPECT_EQ(moved("DCR"), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(moved("CRD"), (std::vector<float>{0, 4, 1, 5, 2, 6, 3, 7}));
  }
}

TEST(DepthToSpace, CandidatesAgree) {
  for (const std::string mode : {"DCR", "CRD"}) {
    const ir::Attributes attributes{{"block", int64_t{3}}, {"mode", mode}};
    EXPECT_EQ(BoundCase({"depth_to_space", {f32({2, 4, 5, 36})}, attributes})
                  .expect_agreement({.tolerance = 0}),
              1);
    EXPECT_EQ(BoundCase({"space_to_depth", {f32({2, 6, 9, 5})}, attributes})
                  .expect_agreement({.tolerance = 0}),
              1);
  }
}

}  // namespace
}  // namespace pando::test
