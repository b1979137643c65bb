// Shape rules of convolution and pooling, with every error.
// SPDX-License-Identifier: MIT
#include "pando/ops/window.h"

#include <gtest/gtest.h>

#include "tests/ops/infer_text.h"
#include "tests/support/expect_error.h"

namespace pando::ops {
namespace {

// y = conv(x, k) {attributes} @c
std::string conv(const std::string& x, const std::string& kernel, const std::string& attributes) {
  return test::infer_text("x: f32[" + x + "], k: f32[" + kernel + "]",
                          "y = conv(x, k) {" + attributes + "} @c");
}

std::string pool(const std::string& x, const std::string& attributes) {
  return test::infer_text("x: f32[" + x + "]", "y, i = max_pool(x) {" + attributes + "} @p");
}

TEST(Window, OutputExtentsOfConvolution) {
  EXPECT_EQ(conv("2,28,28,1", "3,3,1,32", ""), "f32[2,26,26,32]");
  EXPECT_EQ(conv("2,9,8,3", "3,3,3,4", "padding=\"same\", strides=[2,2]"), "f32[2,5,4,4]");
  EXPECT_EQ(conv("2,7,7,3", "3,3,3,4", "dilations=[2,3]"), "f32[2,3,1,4]");
  EXPECT_EQ(conv("2,5,5,4", "3,3,1,8", "groups=4, padding=\"same\""), "f32[2,5,5,8]");
  EXPECT_EQ(conv("1,5,5,1", "7,7,1,1", "padding=\"explicit\", pads=[1,1,2,1]"), "f32[1,2,1,1]");
  EXPECT_EQ(conv("1,4,5,6,2", "2,2,2,2,3", "strides=[1,2,3]"), "f32[1,3,2,2,3]");
  EXPECT_EQ(conv("1,3,3,1", "9,9,1,1", "padding=\"same\""), "f32[1,3,3,1]");
}

TEST(Window, OutputExtentsOfTransposedConvolution) {
  const auto transposed = [](const std::string& x, const std::string& attributes) {
    return test::infer_text("x: f32[" + x + "], k: f32[3,3,5,4], b: f32[5]",
                            "y = conv_transpose(x, k, b) {" + attributes + "} @t");
  };
  EXPECT_EQ(transposed("2,4,6,4", "output=[6,8]"), "f32[2,6,8,5]");
  EXPECT_EQ(transposed("2,4,6,4", "padding=\"same\", strides=[2,2], output=[8,11]"),
            "f32[2,8,11,5]");
  EXPECT_SAYS(transposed("2,4,6,4", "output=[7,8]"), "conv_transpose 't'", "input 0",
              "expected shape [2,5,6,4]", "got [2,4,6,4]");
  EXPECT_SAYS(transposed("2,4,6,3", "output=[6,8]"), "conv_transpose 't'", "[2,4,6,4]");
  EXPECT_SAYS(transposed("2,4,6,4", "output=[6]"), "conv_transpose 't'", "output: expected 2 items",
              "got [6]");
  EXPECT_SAYS(test::infer_text("x: f32[1,2,2,4], k: f32[1,1,5,4], b: f32[4]",
                               "y = conv_transpose(x, k, b) {output=[2,2]}"),
              "input 2", "expected shape [5]", "got [4]");
  EXPECT_EQ(test::infer_text("x: f32[2,3,4,5]", "y = channel_sums(x)"), "f32[5]");
  EXPECT_SAYS(test::infer_text("x: f32[5]", "y = channel_sums(x)"), "2 to 5 axes");
}

TEST(Window, RefusesConvolutions) {
  EXPECT_SAYS(test::infer_text("x: f32[1,5,5,1], k: f32[7,7,1,1]", "y = conv(x, k) @block1/c2"),
              "conv 'block1/c2'", "filter 7x7", "padded input 5x5");
  EXPECT_SAYS(conv("1,5,5,1", "3,3,1,1", "dilations=[3,1]"), "conv 'c'", "filter 7x3",
              "padded input 5x5");
  EXPECT_SAYS(conv("1,5,5,1", "3,3,1,1", "strides=[0,1]"), "conv 'c'", "strides: ", "got [0,1]");
  EXPECT_SAYS(conv("1,5,5,1", "3,3,1,1", "dilations=[1,-1]"), "conv 'c'",
              "dilations: ", "got [1,-1]");
  EXPECT_SAYS(conv("1,5,5,1", "3,3,1,1", "strides=[1]"), "conv 'c'", "strides: expected 2 items",
              "got [1]");
  EXPECT_SAYS(conv("1,5,5,1", "0,3,1,1", ""), "conv 'c'", "filter: ", "got [0,3]");
  EXPECT_SAYS(conv("1,0,5,1", "3,3,1,1", "padding=\"same\""), "conv 'c'", "input 0x5", "empty");
  EXPECT_SAYS(conv("1,5,5,1", "3,3,1,1", "padding=\"explicit\", pads=[1,1]"), "conv 'c'",
              "pads: expected 4 items", "\"explicit\"", "got [1,1]");
  EXPECT_SAYS(conv("1,5,5,1", "3,3,1,1", "pads=[1,1,1,1]"), "conv 'c'", "pads: expected 0 items",
              "\"valid\"", "got [1,1,1,1]");
  EXPECT_SAYS(conv("1,5,5,1", "3,3,1,1", "padding=\"explicit\", pads=[1,1,-1,1]"), "conv 'c'",
              "pads: ", "got [1,1,-1,1]");
  EXPECT_SAYS(conv("1,5,5,1", "3,3,1,1", "groups=0"), "conv 'c'", "groups: expected at least 1",
              "got 0");
  EXPECT_SAYS(conv("1,5,5,3", "3,3,1,4", "groups=2"), "conv 'c'", "3 input", "4 output",
              "2 groups");
  EXPECT_SAYS(conv("1,5,5,3", "3,3,2,4", ""), "conv 'c'", "filter [3,3,2,4]", "2 channels",
              "input [1,5,5,3] has 3");
  EXPECT_SAYS(conv("1,5,5,3", "3,3,3,3,4", ""), "conv 'c'", "input 1", "4 axes",
              "got shape [3,3,3,3,4]");
  EXPECT_SAYS(conv("1,5,3", "3,3,4", ""), "conv 'c'", "input 0", "4 to 5 axes",
              "got shape [1,5,3]");
  EXPECT_SAYS(conv("1,5,5,1", "3,3,1,1", "alpha=-1.0"), "conv 'c'", "alpha: expected 0 or more",
              "got -1");
  EXPECT_SAYS(test::infer_text("x: f32[1,5,5,1], k: f32[3,3,1,2], b: f32[1]", "y = conv(x, k, b)"),
              "conv 'conv'", "input 2", "expected shape [2]", "got [1]");
}

TEST(Window, GradientsOfConvolution) {
  const std::string dy = "dy: f32[2,3,2,6], k: f32[3,3,2,6]";
  EXPECT_EQ(test::infer_text(dy,
                             "dx = conv_input_grad(dy, k) {input=[6,5], strides=[2,3],"
                             " padding=\"same\", groups=2}"),
            "f32[2,6,5,4]");
  EXPECT_SAYS(test::infer_text(dy, "dx = conv_input_grad(dy, k) {input=[9,9]} @g"),
              "conv_input_grad 'g'", "input 0", "expected shape [2,7,7,6]", "got [2,3,2,6]");
  EXPECT_SAYS(test::infer_text(dy, "dx = conv_input_grad(dy, k) {input=[9]} @g"),
              "conv_input_grad 'g'", "input: expected 2 items", "got [9]");
  const std::string x = "x: f32[2,6,5,4], dy: f32[2,4,3,6]";
  EXPECT_EQ(test::infer_text(x, "k, b = conv_filter_grad(x, dy) {filter=[3,3], groups=2}"),
            "f32[3,3,2,6] f32[6]");
  EXPECT_SAYS(test::infer_text(x, "k = conv_filter_grad(x, dy) {filter=[2,3]} @g"),
              "conv_filter_grad 'g'", "input 1", "expected shape [2,5,3,6]", "got [2,4,3,6]");
  EXPECT_SAYS(test::infer_text(x, "k = conv_filter_grad(x, dy) {filter=[3]} @g"),
              "conv_filter_grad 'g'", "filter: expected 2 items", "got [3]");
  EXPECT_SAYS(test::infer_text(x, "k = conv_filter_grad(x, dy) {filter=[3,3], groups=3} @g"),
              "conv_filter_grad 'g'", "4 input", "6 output", "3 groups");
}

TEST(Window, Pooling) {
  EXPECT_EQ(pool("2,5,4,3", "window=[2,2]"), "f32[2,2,2,3] u8[2,2,2,3]");
  EXPECT_EQ(pool("2,5,4,3", "window=[3,3], strides=[2,1], padding=\"same\""),
            "f32[2,3,4,3] u8[2,3,4,3]");
  EXPECT_EQ(pool("1,4,4,4,1", "window=[2,2,2]"), "f32[1,2,2,2,1] u8[1,2,2,2,1]");
  EXPECT_EQ(pool("2,32,32,3", "window=[16,16]"), "f32[2,2,2,3] u8[2,2,2,3]");
  EXPECT_EQ(test::infer_text("x: f32[2,5,4,3]", "y = avg_pool(x) {window=[2,2]}"), "f32[2,2,2,3]");
  EXPECT_EQ(test::infer_text("x: f32[2,5,4,3]", "y = global_avg_pool(x)"), "f32[2,3]");
  EXPECT_EQ(test::infer_text("dy: f32[2,3]", "dx = global_avg_pool_grad(dy) {input=[5,4]}"),
            "f32[2,5,4,3]");
  const std::string dy = "dy: f32[2,2,2,3], i: u8[2,2,2,3]";
  EXPECT_EQ(test::infer_text(dy, "dx = max_pool_grad(dy, i) {window=[2,2], input=[5,4]}"),
            "f32[2,5,4,3]");
  EXPECT_EQ(test::infer_text(dy,
                             "dx = max_pool_grad(dy, i, dy) {window=[2,2], input=[5,4],"
                             " activation=\"leaky_relu\", alpha=0.5}"),
            "f32[2,5,4,3]");
  EXPECT_EQ(test::infer_text(dy, "dx = avg_pool_grad(dy) {window=[2,2], input=[4,4]}"),
            "f32[2,4,4,3]");
}

TEST(Window, CeilModeAddsAWindowForTheRest) {
  EXPECT_EQ(pool("1,5,6,1", "window=[2,2], ceil_mode=1"), "f32[1,3,3,1] u8[1,3,3,1]");
  EXPECT_EQ(pool("1,7,8,1", "window=[3,3], strides=[2,2], ceil_mode=1"),
            "f32[1,3,4,1] u8[1,3,4,1]");
  // A window that would begin behind the input and its padding is left out.
  EXPECT_EQ(pool("1,5,6,1", "window=[1,1], strides=[3,4], ceil_mode=1"),
            "f32[1,2,2,1] u8[1,2,2,1]");
  EXPECT_EQ(pool("1,4,4,1",
                 "window=[2,2], strides=[3,3], padding=\"explicit\", pads=[1,0,1,1], ceil_mode=1"),
            "f32[1,2,2,1] u8[1,2,2,1]");
  EXPECT_EQ(pool("1,1,2,1", "window=[2,2], ceil_mode=1"), "f32[1,1,1,1] u8[1,1,1,1]");
  EXPECT_EQ(pool("1,5,5,1", "window=[2,2], padding=\"same\", ceil_mode=1"),
            "f32[1,3,3,1] u8[1,3,3,1]");
  EXPECT_SAYS(pool("1,5,5,1", "window=[2,2], ceil_mode=2"), "max_pool 'p'",
              "ceil_mode: expected 0 or 1", "got 2");
  EXPECT_EQ(test::infer_text("dy: f32[1,3,3,2]",
                             "dx = avg_pool_grad(dy) {window=[2,2], ceil_mode=1, input=[5,6]}"),
            "f32[1,5,6,2]");
}

TEST(Window, GlobalMaxPooling) {
  EXPECT_EQ(test::infer_text("x: f32[2,5,4,3]", "y, i = global_max_pool(x)"), "f32[2,3] i32[2,3]");
  EXPECT_SAYS(test::infer_text("x: f32[2,0,4,3]", "y, i = global_max_pool(x) @g"),
              "global_max_pool 'g'", "pixels", "[0,4]");
  EXPECT_SAYS(test::infer_text("x: f32[2,3]", "y, i = global_max_pool(x)"), "3 to 5 axes");
  const std::string dy = "dy: f32[2,3], i: i32[2,3], j: i32[2,4]";
  EXPECT_EQ(test::infer_text(dy, "dx = global_max_pool_grad(dy, i) {input=[5,4]}"), "f32[2,5,4,3]");
  EXPECT_SAYS(test::infer_text(dy, "dx = global_max_pool_grad(dy, dy) {input=[5,4]}"), "input 1",
              "expected i32");
  EXPECT_SAYS(test::infer_text(dy, "dx = global_max_pool_grad(dy, j) {input=[5,4]}"), "input 1",
              "expected shape [2,3]");
  EXPECT_SAYS(test::infer_text(dy, "dx = global_max_pool_grad(dy, i) {input=[70000,70000]}"),
              "2^31 - 1 pixels", "[70000,70000]");
}

TEST(Window, RefusesPooling) {
  EXPECT_SAYS(pool("2,5,4,3", "window=[2,5]"), "max_pool 'p'", "window 2x5", "padded input 5x4");
  EXPECT_SAYS(pool("2,5,4,3", ""), "max_pool 'p'", "window: expected 2 items", "got []");
  EXPECT_SAYS(pool("2,5,4,3", "window=[2,0]"), "max_pool 'p'", "window: ", "got [2,0]");
  EXPECT_SAYS(pool("2,34,34,3", "window=[16,17]"), "max_pool 'p'", "window [16,17]", "272", "256");
  EXPECT_SAYS(pool("2,4,4,1", "window=[2,2], padding=\"explicit\", pads=[2,0,0,0]"), "max_pool 'p'",
              "pads [2,0,0,0]", "window [2,2]");
  EXPECT_SAYS(test::infer_text("x: f32[2,0,4,3]", "y = global_avg_pool(x) @g"),
              "global_avg_pool 'g'", "spatial extents [0,4]", "positive");
  const std::string dy = "dy: f32[2,2,2,3], i: u8[2,2,2,3]";
  EXPECT_SAYS(test::infer_text(dy, "dx = max_pool_grad(dy, i) {window=[2,2], input=[6,4]} @g"),
              "max_pool_grad 'g'", "input 0", "expected shape [2,3,2,3]", "got [2,2,2,3]");
  EXPECT_SAYS(test::infer_text(dy, "dx = max_pool_grad(dy, i) {window=[2,2], input=[4]} @g"),
              "max_pool_grad 'g'", "input: expected 2 items", "got [4]");
  EXPECT_SAYS(test::infer_text(dy,
                               "dx = max_pool_grad(dy, i) {window=[2,2], input=[4,4],"
                               " activation=\"relu\"} @g"),
              "max_pool_grad 'g'", "3 inputs", "\"relu\"", "got 2");
  EXPECT_SAYS(test::infer_text(dy, "dx = max_pool_grad(dy, dy) {window=[2,2], input=[4,4]} @g"),
              "max_pool_grad 'g'", "input 1", "expected u8", "got f32[2,2,2,3]");
}

TEST(Window, ConvPool) {
  const std::string inputs = "x: f32[2,9,8,1], k: f32[3,3,1,4], b: f32[4]";
  EXPECT_EQ(test::infer_text(inputs, "y, i = conv_pool(x, k, b) {window=[2,3]}"),
            "f32[2,3,2,4] u8[2,3,2,4]");
  EXPECT_SAYS(test::infer_text(inputs, "y, i = conv_pool(x, k, b) {window=[2,7]} @f"),
              "conv_pool 'f'", "window 2x7", "padded input 7x6");
}

TEST(Window, GradientsOfConvPool) {
  const std::string inputs =
      "x: f32[2,9,8,1], dy: f32[2,3,2,4], i: u8[2,3,2,4], k: f32[3,3,1,4], y: f32[2,3,2,4]";
  const auto kernel = [&](const std::string& call) {
    return test::infer_text(inputs, "dk, db = conv_pool_filter_grad" + call + " @g");
  };
  const auto input = [&](const std::string& call) {
    return test::infer_text(inputs, "dx = conv_pool_input_grad" + call + " @g");
  };
  EXPECT_EQ(kernel("(x, dy, i) {filter=[3,3], window=[2,3]}"), "f32[3,3,1,4] f32[4]");
  EXPECT_EQ(input("(dy, i, k) {input=[9,8], window=[2,3]}"), "f32[2,9,8,1]");
  EXPECT_EQ(input("(dy, i, k, y) {input=[9,8], window=[2,3], activation=\"relu\"}"),
            "f32[2,9,8,1]");
  EXPECT_SAYS(kernel("(x, dy, i) {filter=[3,3], window=[2,2]}"), "conv_pool_filter_grad 'g'",
              "input 1", "expected shape [2,3,3,4]", "got [2,3,2,4]");
  EXPECT_SAYS(kernel("(x, dy, dy) {filter=[3,3], window=[2,3]}"), "conv_pool_filter_grad 'g'",
              "input 2", "expected u8", "got f32[2,3,2,4]");
  EXPECT_SAYS(input("(dy, i, k, y) {input=[9,8], window=[2,3]}"), "conv_pool_input_grad 'g'",
              "3 inputs", "\"none\"", "got 4");
  EXPECT_SAYS(input("(dy, i, k) {input=[9,8], window=[2,3], groups=2}"), "conv_pool_input_grad 'g'",
              "groups: expected 1", "got 2");
}

}  // namespace
}  // namespace pando::ops
