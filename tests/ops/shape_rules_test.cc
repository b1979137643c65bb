// Tables of shape rules: the types that every op infers from its inputs, and every error.
// SPDX-License-Identifier: MIT
#include "pando/ops/shape_rules.h"

#include <gtest/gtest.h>

#include "tests/ops/infer_text.h"
#include "tests/support/expect_error.h"

namespace pando::ops {
namespace {

struct ShapeCase {
  std::string inputs;
  std::string node;
  std::string expected;  // types, or parts of the message with '|' between them
};

void expect_all(const std::vector<ShapeCase>& cases) {
  for (const ShapeCase& row : cases) {
    const std::string text = test::infer_text(row.inputs, row.node);
    const std::vector<std::string> parts = split(row.expected, '|');
    if (parts.size() == 1) {
      EXPECT_EQ(text, row.expected) << row.inputs << " | " << row.node;
    }
    for (const std::string& part : parts) {
      EXPECT_TRUE(testing_support::says(text, part)) << part << " | " << text;
    }
  }
}

TEST(ShapeRules, Elementwise) {
  expect_all({
      {"x: f32[2,3]", "y = relu(x) a = tanh(y) b = sigmoid(a) c = scale(b)",
       "f32[2,3] f32[2,3] f32[2,3] f32[2,3]"},
      {"x: f32[2,3]", "y = dropout(x) s = softmax(y)", "f32[2,3] f32[2,3]"},
      {"x: u8[2,3]", "y = relu(x)", "relu 'relu'|input 0|expected f32|got u8[2,3]"},
      {"a: f32[2,3], b: f32[3,2]", "y = add(a, b) @join", "add 'join'|[2,3] and [3,2]"},
      {"a: f32[2,3], b: f32[3,2]", "y = relu_grad(a, b)",
       "relu_grad 'relu_grad'|same type|f32[2,3] and f32[3,2]"},
      {"a: f32[2,3], b: i32[2,3]", "y = multiply(a, b)",
       "multiply 'multiply'|expected f32|got i32[2,3]"},
      {"x: f32[3]", "y = softmax(x)", "softmax 'softmax'|input 0|2 to 5 axes|got shape [3]"},
      {"x: f32[2]", "y = leaky_relu(x) {alpha=-0.1}",
       "leaky_relu 'leaky_relu'|alpha: expected 0 or more|got -0.1"},
      {"x: f32[2]", "y = add(x, x) {activation=\"leaky_relu\", alpha=-1}",
       "add 'add'|alpha: expected 0 or more|got -1"},
      {"x: f32[2]", "y = dropout(x) {rate=1}",
       "dropout 'dropout'|rate: expected 0 or more and below 1|got 1"},
      {"x: f32[2,3]", "y = dropout(x) {mask=\"chanel\"}", "mask|did you mean 'channel'"},
      {"x: f32[2,3]", "y = gaussian_noise(x)", "f32[2,3]"},
      {"x: f32[2,3]", "y = gaussian_noise(x) {stddev=-1.0}",
       "gaussian_noise 'gaussian_noise'|stddev: expected 0 or more|got -1"},
      {"x: f32[2]", "y = dropout(x) {rate=-0.5}",
       "dropout 'dropout'|rate: expected 0 or more and below 1|got -0.5"},
      {"x: u8[2,3]", "y = cast(x) z = cast(y) {dtype=\"bf16\"}", "f32[2,3] bf16[2,3]"},
      {"x: f32[7]", "y = pack(x) {layout=\"panel\"}", "f32[7]"},
      {"x: f32[7]", "y = sum_slices(x)", "f32[7]"},
  });
}

TEST(ShapeRules, Dense) {
  expect_all({
      {"x: f32[5,3], k: f32[3,4], b: f32[4]", "y = dense(x, k, b)", "f32[5,4]"},
      {"x: f32[5,3], k: f32[4,4]", "y = dense(x, k) @fc",
       "dense 'fc'|weights [4,4]|4 features|input [5,3] has 3"},
      {"x: f32[5,3,1], k: f32[3,4]", "y = dense(x, k)",
       "dense 'dense'|input 0|2 axes|got shape [5,3,1]"},
      {"x: f32[5,3], k: f32[3,4], b: f32[3]", "y = dense(x, k, b)",
       "dense 'dense'|input 2|expected shape [4]|got [3]"},
      {"dy: f32[5,4], k: f32[3,4]", "y = dense_input_grad(dy, k)", "f32[5,3]"},
      {"dy: f32[5,2], k: f32[3,4]", "y = dense_input_grad(dy, k)",
       "dense_input_grad 'dense_input_grad'|input 0|expected shape [5,4]|got [5,2]"},
      {"x: f32[5,3], dy: f32[5,4]", "k, b = dense_filter_grad(x, dy)", "f32[3,4] f32[4]"},
      {"x: f32[5,3], dy: f32[5,4]", "k = dense_filter_grad(x, dy)", "f32[3,4]"},
      {"x: f32[5,3], dy: f32[6,4]", "k = dense_filter_grad(x, dy)",
       "dense_filter_grad 'dense_filter_grad'|input 1|expected shape [5,4]|got [6,4]"},
  });
}

TEST(ShapeRules, BatchNorm) {
  const std::string c = ", c: f32[3]";
  expect_all({
      {"x: f32[2,4,3]", "s = batch_moments(x) m, v, u = combine_moments(s)",
       "f32[7] f32[3] f32[3] f32[3]"},
      {"s: f32[6]", "m, v, u = combine_moments(s)",
       "combine_moments 'combine_moments'|moments|6 elements"},
      {"x: f32[2,4,3]" + c, "y = batch_norm(x, c, c, c, c)", "f32[2,4,3]"},
      {"x: f32[2,4,5]" + c, "y = batch_norm(x, c, c, c, c) @bn",
       "batch_norm 'bn'|input 1|expected shape [5]|got [3]"},
      {"x: f32[2,3]" + c, "y = batch_norm(x, c, c, c, c) {epsilon=-1.0}",
       "batch_norm 'batch_norm'|epsilon: expected 0 or more|got -1"},
      {"x: f32[2,3]" + c, "y = batch_norm(x, c, c, c, c) {batch_statistics=2}",
       "batch_norm 'batch_norm'|batch_statistics: expected 0 or 1|got 2"},
      {"x: f32[2,3]" + c, "b, g = batch_norm_sums(x, x, c, c)", "f32[3] f32[3]"},
      {"x: f32[2,3]" + c, "b, g = batch_norm_sums(x, x, c, c, c, c) {activation=\"relu\"}",
       "f32[3] f32[3]"},
      {"x: f32[2,3]" + c, "b, g = batch_norm_sums(x, x, c, c, c, c)",
       "batch_norm_sums 'batch_norm_sums'|4 inputs|gamma and beta last|got 6 inputs|\"none\""},
      {"x: f32[2,3]" + c, "b, g = batch_norm_sums(x, x, c, c, c, x) {activation=\"relu\"}",
       "batch_norm_sums 'batch_norm_sums'|input 5|expected shape [3]|got [2,3]"},
      {"x: f32[2,3]" + c, "dx = batch_norm_input_grad(x, x, c, c, c)", "f32[2,3]"},
      {"x: f32[2,3]" + c, "dx = batch_norm_input_grad(x, x, c, c, c, c, c)", "f32[2,3]"},
      {"x: f32[2,3]" + c,
       "dx = batch_norm_input_grad(x, x, c, c, c, c, c, c) {activation=\"relu\"}", "f32[2,3]"},
      {"x: f32[2,3]" + c, "dx = batch_norm_input_grad(x, x, c, c, c, c) {activation=\"relu\"}",
       "f32[2,3]"},
      {"x: f32[2,3]" + c, "dx = batch_norm_input_grad(x, x, c, c, c, c)",
       "batch_norm_input_grad 'batch_norm_input_grad'|5 inputs|7 with both totals|got 6 "
       "inputs|\"none\""},
      {"x: f32[2,3], dy: f32[1,3]" + c, "dx = batch_norm_input_grad(dy, x, c, c, c)",
       "batch_norm_input_grad 'batch_norm_input_grad'|input 0|expected shape [2,3]|got [1,3]"},
  });
}

TEST(ShapeRules, GroupNorm) {
  const std::string c = ", c: f32[6]";
  expect_all({
      {"x: f32[2,5,5,6]" + c, "y, m, s = group_norm(x, c, c) {groups=3}",
       "f32[2,5,5,6] f32[2,3] f32[2,3]"},
      {"x: f32[2,6]" + c, "y, m, s = group_norm(x, c, c) @gn",
       "group_norm 'gn'|groups: expected at least 1|got 0"},
      {"x: f32[2,6]" + c, "y, m, s = group_norm(x, c, c) {groups=4}",
       "group_norm 'group_norm'|6 channels|4 groups"},
      {"x: f32[2,6]" + c, "y, m, s = group_norm(x, c, c) {groups=2, strided=3}",
       "group_norm 'group_norm'|strided: expected 0 or 1|got 3"},
      {"x: f32[2,6]" + c, "y, m, s = group_norm(x, c, c) {groups=2, epsilon=-0.5}",
       "group_norm 'group_norm'|epsilon: expected 0 or more|got -0.5"},
      {"x: f32[2,6], m: f32[2,2]", "b, g = group_norm_sums(x, x, m, m) {groups=2}",
       "f32[6] f32[6]"},
      {"x: f32[2,6], m: f32[2,3]", "b, g = group_norm_sums(x, x, m, m) {groups=2}",
       "group_norm_sums 'group_norm_sums'|input 2|expected shape [2,2]|got [2,3]"},
      {"x: f32[2,6], m: f32[2,2]" + c, "dx = group_norm_input_grad(x, x, m, m, c) {groups=2}",
       "f32[2,6]"},
  });
}

TEST(ShapeRules, LayerNorm) {
  const std::string c = ", c: f32[6]";
  expect_all({
      {"x: f32[2,5,4,6]" + c, "y, m, s = layer_norm(x, c, c)", "f32[2,5,4,6] f32[2,20] f32[2,20]"},
      {"x: f32[2,6]" + c, "y, m, s = layer_norm(x, c, c)", "f32[2,6] f32[2,1] f32[2,1]"},
      {"x: f32[2,5,4,6], c: f32[4,6]", "y, m, s = layer_norm(x, c) {axes=2, scale=0}",
       "f32[2,5,4,6] f32[2,5] f32[2,5]"},
      {"x: f32[2,6]", "y, m, s = layer_norm(x) {axes=2} @ln",
       "layer_norm 'ln'|axes: expected 1 to 1|got 2"},
      {"x: f32[2,6]", "y, m, s = layer_norm(x) {center=2}", "center: expected 0 or 1|got 2"},
      {"x: f32[2,6]" + c, "y, m, s = layer_norm(x, c) {epsilon=-1.0}",
       "epsilon: expected 0 or more|got -1"},
      {"x: f32[2,6]" + c, "y, m, s = layer_norm(x, c)", "expected 2 weights|got 1"},
      {"x: f32[2,0]", "y, m, s = layer_norm(x) {scale=0, center=0}", "expected elements|[2,0]"},
      {"x: f32[2,5,6], m: f32[2,5]", "b, g = layer_norm_sums(x, x, m, m)", "f32[6] f32[6]"},
      {"x: f32[2,5,6], m: f32[2,6]", "b, g = layer_norm_sums(x, x, m, m)",
       "input 2|expected shape [2,5]|got [2,6]"},
      {"x: f32[2,5,6], m: f32[2,5]" + c, "dx = layer_norm_input_grad(x, x, m, m, c)", "f32[2,5,6]"},
  });
}

TEST(ShapeRules, Broadcast) {
  for (const std::string op : {"add", "subtract", "multiply", "divide", "maximum", "minimum"}) {
    const std::string y = "y = " + op + "(a, b) @two";
    expect_all({
        {"a: f32[2,5,4,6], b: f32[2,5,4,6]", y, "f32[2,5,4,6]"},
        {"a: f32[2,5,4,6], b: f32[2,1,1,6]", y, "f32[2,5,4,6]"},
        {"a: f32[2,6], b: f32[2,5,4,6]", y, "f32[2,5,4,6]"},
        {"a: f32[2,5,1,6], b: f32[2,4,1]", y, "f32[2,5,4,6]"},
        {"a: f32[2], b: f32[2,5]", y, "f32[2,5]"},
        {"a: f32[2,5], b: f32[1,5]", y, op + " 'two'|[2,5] and [1,5]"},
        {"a: f32[2,5,4], b: f32[2,5]", y, op + " 'two'|[2,5,4] and [2,5]"},
        {"a: f32[2,5], b: i32[2,5]", y, op + " 'two'|expected f32|got i32[2,5]"},
    });
  }
  expect_all({
      {"x: f32[2,1,3]", "y = expand(x) {shape=[2,4,5,3]}", "f32[2,4,5,3]"},
      {"x: f32[2,3]", "y = expand(x) {shape=[2,4]}", "expand 'expand'|[2,3] to [2,4]"},
      {"x: f32[2,3]", "y = expand(x) {shape=[4,3]}", "expand 'expand'|[2,3] to [4,3]"},
      {"a: f32[2,1], b: f32[2,3], d: f32[2,3]", "k = keep_at_least(a, b, d)", "f32[2,3]"},
      {"a: f32[2,1], b: f32[2,3], d: f32[2,1]", "k = keep_at_least(a, b, d)",
       "input 2|expected shape [2,3]|got [2,1]"},
      {"d: f32[2,3], s: f32[2,3]", "x = times_slope(d, s)", "f32[2,3]"},
      {"x: f32[2,4,3], a: f32[1,3]", "y = prelu(x, a)", "f32[2,4,3]"},
      {"x: f32[2,4,3], a: f32[3]", "y = prelu(x, a)", "prelu 'prelu'|sample of [2,4,3]|got [3]"},
      {"x: f32[2,4,3], a: f32[2,3]", "y = prelu(x, a)", "prelu 'prelu'|got [2,3]"},
      {"x: f32[2,4,3]", "a = prelu_sums(x, x) {shape=[4,1]}", "f32[4,1]"},
  });
}

TEST(ShapeRules, Axes) {
  for (const std::string op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"}) {
    const auto y = [&](const std::string& attributes) {
      return "y = " + op + "(x) {" + attributes + "} @r";
    };
    expect_all({
        {"x: f32[2,5,4,6]", y("axes=[1,2]"), "f32[2,6]"},
        {"x: f32[2,5,4,6]", y("axes=[1,2], keepdims=1"), "f32[2,1,1,6]"},
        {"x: f32[2,5]", y("axes=[1]"), "f32[2]"},
        {"x: f32[2,5]", y("axes=[0]"), op + " 'r'|axes: expected numbers from 1 to 1|got [0]"},
        {"x: f32[2,5,4]", y("axes=[2,1]"), "rising order|got [2,1]"},
        {"x: f32[2,5]", y("axes=[1], keepdims=2"), "keepdims: expected 0 or 1|got 2"},
        {"x: f32[2,0]", y("axes=[1]"), "expected elements|[2,0]"},
    });
  }
  expect_all({
      {"x: f32[2,5,3]", "y = transpose(x) {perm=[0,2,1]}", "f32[2,3,5]"},
      {"x: f32[2,5,3]", "y = transpose(x) {perm=[1,0,2]}", "transpose 'transpose'|got [1,0,2]"},
      {"x: f32[2,5,3]", "y = transpose(x) {perm=[0,1]}", "perm|1 to 2|got [0,1]"},
      {"x: f32[2,5,3]", "y = transpose(x) {perm=[0,1,1]}", "perm|got [0,1,1]"},
      {"a: f32[2,5,3], b: f32[2,3,4]", "y = matmul(a, b)", "f32[2,5,4]"},
      {"a: f32[2,5,3], b: f32[2,4,5]", "y = matmul(a, b) {transpose_a=1, transpose_b=1}",
       "f32[2,3,4]"},
      {"a: f32[2,5,3], b: f32[2,4,3]", "y = matmul(a, b)",
       "matmul 'matmul'|[2,5,3] by [2,4,3]|as many columns"},
      {"a: f32[2,2,5,3], b: f32[2,1,3,4]", "y = matmul(a, b)", "matmul 'matmul'|equal axes"},
      {"a: f32[2,5,3], b: f32[2,3,4]", "y = matmul(a, b) {transpose_a=2}",
       "transpose_a: expected 0 or 1|got 2"},
      {"a: f32[2,5], b: f32[2,5]", "y = matmul(a, b)", "expected 3 to 5 axes|[2,5]"},
  });
}

TEST(ShapeRules, Movement) {
  expect_all({
      {"x: f32[2,3,4]", "y = pad(x) {low=[0,1,2], high=[0,0,1]}", "f32[2,4,7]"},
      {"x: f32[2,3]", "y = pad(x) {low=[0,1], high=[0]}",
       "pad 'pad'|high: expected 2 items|got [0]"},
      {"x: f32[2,3]", "y = pad(x) {low=[1,0], high=[0,0]}", "pad 'pad'|low [1,0]|batch axis"},
      {"x: f32[2,3]", "y = pad(x) {low=[0,0], high=[0,-1]}", "pad 'pad'|high [0,-1]|negative"},
      {"x: f32[2,5,4]", "y = slice(x) {begin=[0,1,0], size=[2,2,4], strides=[1,3,1]}",
       "f32[2,2,4]"},
      {"x: f32[2,5]", "y = slice(x) {begin=[0,1], size=[2,5]}",
       "slice 'slice'|begin [0,1]|size [2,5]|strides [1,1]|shape [2,5]"},
      {"x: f32[2,5]", "y = slice(x) {begin=[1,1], size=[1,2]}",
       "slice 'slice'|batch axis of [2,5]"},
      {"x: f32[2,5]", "y = slice(x) {begin=[0,1], size=[2,2], strides=[2]}",
       "slice 'slice'|strides: expected 2 items|got [2]"},
      {"x: f32[2,5]", "y = slice(x) {begin=[0], size=[2,2]}",
       "slice 'slice'|begin: expected 2 items|got [0]"},
      {"x: f32[2,5]", "y = slice(x) {begin=[0,0], size=[2]}",
       "slice 'slice'|size: expected 2 items|got [2]"},
      {"x: f32[2,3,4]", "y = pick(x) {axis=2, indices=[3,3]}", "f32[2,3,2]"},
      {"x: f32[2,3]", "y = pick(x) {axis=0, indices=[1]}", "pick 'pick'|axis|1 to 1|got 0"},
      {"x: f32[2,3]", "y = pick(x) {axis=1, indices=[]}", "pick 'pick'|at least one"},
      {"x: f32[2,3]", "y = pick(x) {axis=1, indices=[3]}", "pick 'pick'|0 to 2|got 3"},
      {"x: f32[2]", "y = pick(x) {axis=1, indices=[0]}", "expected 2 to 5 axes|[2]"},
      {"dy: f32[2,2]", "dx = pick_grad(dy) {axis=1, indices=[4,0], extent=5}", "f32[2,5]"},
      {"dy: f32[2,2]", "dx = pick_grad(dy) {axis=1, indices=[4], extent=5}",
       "indices: expected 2 items|got [4]"},
      {"c: f32[3,2], a: f32[3,2]", "y = select(c, a)", "f32[3,2]"},
      {"c: f32[3,2], a: f32[3,1]", "y = select(c, a)", "select 'select'|[3,2]|[3,1]"},
      {"x: f32[3,2], w: f32[4,5]", "y = spread(x, w)", "f32[3,4,5]"},
      {"x: f32[3,2], w: f32[1,1,1,1,1]", "y = spread(x, w)",
       "input 1: expected 0 to 4 axes|[1,1,1,1,1]"},
      {"dy: f32[3,4,5]", "dw = spread_sums(dy)", "f32[4,5]"},
      {"dy: f32[2,2]", "dx = slice_grad(dy) {begin=[0,1], strides=[1,2], shape=[2,5]}", "f32[2,5]"},
      {"dy: f32[2,2]", "dx = slice_grad(dy) {begin=[0,1], shape=[2,2]}",
       "slice_grad 'slice_grad'|begin [0,1]|size [2,2]|strides [1,1]|shape [2,2]"},
      {"a: f32[2,3,4], b: f32[2,1,4]", "y = concat(a, b, a)", "f32[2,7,4]"},
      {"a: f32[2,3]", "y = concat(a) {axis=0}", "concat 'concat'|axis: expected 1 to 1|got 0"},
      {"a: f32[2,3]", "y = concat(a) {axis=2}", "concat 'concat'|axis: expected 1 to 1|got 2"},
      {"a: f32[2,3,4], b: f32[2,3,3]", "y = concat(a, b) {axis=1}",
       "concat 'concat'|input 1|expected shape [2,3,4]|got [2,3,3]"},
      {"x: u8[2,3,4]", "y = checkpoint(x)", "u8[2,3,4]"},
      {"x: f32[2,3,4]", "y = reshape(x) {shape=[12]}", "f32[2,12]"},
      {"x: u8[2,3,4]", "y = reshape(x) {shape=[4,1,3]}", "u8[2,4,1,3]"},
      {"x: f32[2,1]", "y = reshape(x)", "f32[2]"},
      {"x: f32[2,3]", "y = reshape(x) {shape=[-1]}", "reshape 'reshape'|shape [2,-1]|negative"},
      {"x: f32[2,3]", "y = reshape(x) {shape=[4]} @flat",
       "reshape 'flat'|[2,3] to [2,4]|3 elements|got 4"},
  });
}

TEST(ShapeRules, Resizing) {
  expect_all({
      {"x: f32[2,3,4,5]", "y = resize(x) {size=[6,2]}", "f32[2,6,2,5]"},
      {"x: f32[2,3,5]", "y = resize(x) {size=[4], scales=[1.5], mode=\"linear\"}", "f32[2,4,5]"},
      {"x: f32[2,3,4,5,6]", "y = resize(x) {size=[1,2,3]}", "f32[2,1,2,3,6]"},
      {"x: f32[2,3]", "y = resize(x) {size=[]}", "resize 'resize'|input 0|3 to 5 axes"},
      {"x: f32[2,3,4,5]", "y = resize(x) {size=[6]}", "resize 'resize'|size: expected 2 items"},
      {"x: f32[2,3,4,5]", "y = resize(x) {size=[6,0]}", "resize 'resize'|size|expected 1 to|[6,0]"},
      {"x: f32[2,3,4,5]", "y = resize(x) {size=[6,99999999]}", "resize 'resize'|size|99999999"},
      {"x: f32[2,0,4,5]", "y = resize(x) {size=[6,1]}", "resize 'resize'|[2,0,4,5]|empty"},
      {"x: f32[2,3,4,5]", "y = resize(x) {size=[6,2], scales=[2.0]}",
       "resize 'resize'|scales: expected 2 items"},
      {"x: f32[2,3,4,5]", "y = resize(x) {size=[6,2], scales=[2.0,0.0]}",
       "resize 'resize'|scales: expected more than 0|got 0"},
      {"x: f32[2,3,4,5]", "y = resize(x) {size=[6,2], coordinates=\"corner\"}",
       "resize 'resize'|coordinates|align_corners"},
      {"dy: f32[2,6,2,5]", "dx = resize_grad(dy) {size=[6,2], input=[3,4]}", "f32[2,3,4,5]"},
      {"dy: f32[2,6,2,5]", "dx = resize_grad(dy) {size=[6,3], input=[3,4]}",
       "resize_grad 'resize_grad'|input 0|expected shape [2,6,3,5]"},
      {"dy: f32[2,6,2,5]", "dx = resize_grad(dy) {size=[6,2], input=[3]}",
       "resize_grad 'resize_grad'|input: expected 2 items"},
      {"x: f32[2,3,4,12]", "y = depth_to_space(x) {block=2}", "f32[2,6,8,3]"},
      {"x: f32[2,6,8,3]", "y = space_to_depth(x) {block=2, mode=\"CRD\"}", "f32[2,3,4,12]"},
      {"x: f32[2,3,4,10]", "y = depth_to_space(x) {block=2}",
       "depth_to_space 'depth_to_space'|10 channels|2x2"},
      {"x: f32[2,6,7,3]", "y = space_to_depth(x) {block=2}",
       "space_to_depth 'space_to_depth'|6x7 pixels|2x2"},
      {"x: f32[2,6,7,3]", "y = space_to_depth(x)",
       "space_to_depth 'space_to_depth'|block: expected 1 to 65535|got 0"},
      {"x: f32[2,6,7,3,4]", "y = depth_to_space(x) {block=2}",
       "depth_to_space 'depth_to_space'|input 0|4 axes"},
  });
}

TEST(ShapeRules, Pixels) {
  expect_all({
      {"x: u8[2,4,5,3], f: u8[2]", "y = flip_where(x, f)", "u8[2,4,5,3]"},
      {"x: f32[2,4,5,3], f: u8[2]", "y = flip_where(x, f)", "f32[2,4,5,3]"},
      {"x: f32[2,4,5,3]", "y = flip_where(x)", "f32[2,4,5,3]"},
      {"x: i32[2,4,5,3], f: u8[2]", "y = flip_where(x, f)",
       "flip_where 'flip_where'|input 0|expected u8 or f32|got i32[2,4,5,3]"},
      {"x: u8[2,4,5], f: u8[2]", "y = flip_where(x, f)",
       "flip_where 'flip_where'|input 0|4 axes|got shape [2,4,5]"},
      {"x: u8[2,4,5,3], f: f32[2]", "y = flip_where(x, f)",
       "flip_where 'flip_where'|input 1|expected u8|got f32[2]"},
      {"x: u8[2,4,5,3], f: u8[3]", "y = flip_where(x, f)",
       "flip_where 'flip_where'|input 1|expected shape [2]|got [3]"},
      {"x: u8[2,4,5,1]", "y = normalise_pixels(x) {scale=[2], shift=[0.5]}", "f32[2,4,5,1]"},
      {"x: f32[2,4,5,2]", "y = normalise_pixels(x) {scale=[2,1], shift=[0,0.5], channels=4}",
       "f32[2,4,5,4]"},
      {"x: u8[2,4,5,2]", "y = normalise_pixels(x) {scale=[2.5], shift=[0,0]} @front",
       "normalise_pixels 'front'|scale|2 items|channel|got [2.5]"},
      {"x: u8[2,4,5,1]", "y = normalise_pixels(x) {scale=[2]} @front",
       "normalise_pixels 'front'|shift|1 items|channel|got []"},
      {"x: u8[2,4,5,1]", "y = normalise_pixels(x) {scale=2}",
       "normalise_pixels 'normalise_pixels'|attribute 'scale': expected a list of numbers|got an "
       "integer"},
      {"x: u8[2,4,5,3]", "y = standardise_image(x) z = standardise_image(x) {channels=4}",
       "f32[2,4,5,3] f32[2,4,5,4]"},
      {"x: u8[2,4,5,3]", "y = standardise_image(x) {channels=2}",
       "standardise_image 'standardise_image'|channels|3 of the input|got 2"},
      {"x: u8[2,4]", "y = standardise_image(x)",
       "standardise_image 'standardise_image'|input 0|4 axes|got shape [2,4]"},
  });
}

TEST(ShapeRules, Losses) {
  const std::string p = "p: f32[4,3], ";
  expect_all({
      {p + "t: i32[4], w: f32[4]", "l = cross_entropy(p, t, w)", "f32[4]"},
      {p + "t: f32[4,3]", "l = cross_entropy(p, t)", "f32[4]"},
      {p + "t: i32[4,1]", "l = cross_entropy(p, t) @loss",
       "cross_entropy 'loss'|labels|i32[4] or f32[4,3]|got i32[4,1]"},
      {p + "t: i32[4], w: f32[3]", "l = cross_entropy(p, t, w)",
       "cross_entropy 'cross_entropy'|input 2|expected shape [4]|got [3]"},
      {p + "t: i32[4]", "l = cross_entropy(p, t) {from_logits=2}",
       "cross_entropy 'cross_entropy'|from_logits: expected 0 or 1|got 2"},
      {p + "t: i32[4]", "l = cross_entropy(p, t) {label_smoothing=1.5}",
       "cross_entropy 'cross_entropy'|label_smoothing: expected 0 to 1|got 1.5"},
      {p + "t: i32[4], d: f32[4]", "l = cross_entropy_grad(d, p, t)", "f32[4,3]"},
      {p + "t: i32[4], d: f32[3]", "l = cross_entropy_grad(d, p, t)",
       "cross_entropy_grad 'cross_entropy_grad'|input 0|expected shape [4]|got [3]"},
      {p + "w: f32[4]", "a = mean_squared_error(p, p) b = mean_absolute_error(p, p, w)",
       "f32[4] f32[4]"},
      {p + "t: f32[4,2]", "a = mean_squared_error(p, t)",
       "mean_squared_error 'mean_squared_error'|input 1|expected shape [4,3]|got [4,2]"},
      {p + "d: f32[4]", "a = mean_squared_error_grad(d, p, p)", "f32[4,3]"},
      {"p: f32[4,5,6,3], t: i32[4,5,6]", "l = cross_entropy(p, t)", "f32[4]"},
      {"p: f32[4,5,6,3], t: f32[4,5,6,3]", "l = cross_entropy(p, t)", "f32[4]"},
      {"p: f32[4,5,6,3], t: i32[4]", "l = cross_entropy(p, t)", "expected i32[4,5,6]|got i32[4]"},
      {"p: f32[4,5,6,3], t: i32[4,5,6]", "h = top_k_accuracy(p, t)", "f32[4]"},
      {p + "t: i32[4]", "l = cross_entropy(p, t) {gamma=-1.0}", "gamma: expected 0 or more|got -1"},
      {p + "t: i32[4]", "l = cross_entropy(p, t) {alpha=1.5}", "alpha: expected at most 1|got 1.5"},
      {p + "t: f32[4,3], d: f32[4]", "l = binary_cross_entropy(p, t) g = dice_grad(d, p, t)",
       "f32[4] f32[4,3]"},
      {p + "t: f32[4]", "l = binary_cross_entropy(p, t)", "expected shape [4,3]|got [4]"},
      {p + "t: f32[4,3]", "l = huber(p, t) {delta=0.0}",
       "huber 'huber'|delta: expected a number above 0|got 0"},
      {p + "t: f32[4,3]", "l = dice(p, t) {smooth=0.0}",
       "dice 'dice'|smooth: expected a number above 0|got 0"},
      {p + "t: i32[4]", "h = top_k_accuracy(p, t) {k=2}", "f32[4]"},
      {p + "t: i32[4]", "h = top_k_accuracy(p, t) {k=0}",
       "top_k_accuracy 'top_k_accuracy'|k: expected at least 1|got 0"},
      {"w: f32[4], v: f32[4]", "a = weigh(w, v) b = weigh(w)", "f32[4] f32[4]"},
      {"w: f32[4], v: f32[3]", "a = weigh(w, v)", "weigh 'weigh'|values of 4 samples|got [3]"},
      {"w: f32[4], v: f32[4,7]", "a = weigh(w, v)", "f32[4,7]"},
      {"a: f32[4], b: f32[4]", "c = sum_losses(a, b) d = sum_losses(a)", "f32[4] f32[4]"},
      {"a: f32[4], b: f32[3]", "c = sum_losses(a, b)",
       "sum_losses 'sum_losses'|input 1|expected shape [4]|got [3]"},
      {"p: f32[2,5,3], t: i32[2,5]", "c = class_counts(p, t)", "f32[2,9]"},
      {"p: f32[2,5,3], t: f32[2,5,3]", "c = class_counts(p, t) {by_class=0}", "f32[2,3]"},
      {"p: f32[2,3], t: i32[3]", "c = class_counts(p, t)", "class_counts|i32[2]|got i32[3]"},
      {"p: f32[2,3], t: i32[2]", "c = class_counts(p, t) {by_class=0}",
       "class_counts|f32 labels|got i32"},
      {"p: f32[2,3], t: f32[2,3]", "c = score_counts(p, t)", "f32[2,400]"},
      {"p: f32[2,3], t: f32[2,3]", "c = score_counts(p, t) {buckets=1}", "buckets|got 1"},
      {"p: f32[2,5,3], t: f32[2,5,3]", "c = target_sums(p, t)", "f32[2,45]"},
      {"x: f32[1]", "s = loss_seed() {batch=4}", "f32[4]"},
      {"x: f32[1]", "s = loss_seed()", "loss_seed 'loss_seed'|batch: expected at least 1|got 0"},
  });
}

}  // namespace
}  // namespace pando::ops
