// Shapes are small and awkward: extents that strides do not divide, dilations, groups, unequal
// padding, single channels.
// SPDX-License-Identifier: MIT
#include "tests/ops/gradient_cases.h"

#include "pando/base/strings.h"

namespace pando::test {

namespace {

using Cases = std::vector<GradientCase>;

// A graph of one node whose first output is the result.
std::string one_node(const std::string& inputs, const std::string& node) {
  return concat("graph(", inputs, ") { ", node, " return result y=y }");
}

void add_conv_cases(Cases& cases) {
  const auto conv = [&](const std::string& name, const std::string& x, const std::string& kernel,
                        const std::string& attributes, bool bias = false) {
    const std::string out = kernel.substr(kernel.rfind(',') + 1);
    const std::string inputs = "x: f32[" + x + "] variable, k: f32[" + kernel + "] variable" +
                               (bias ? ", b: f32[" + out + "] variable" : "");
    cases.push_back({"conv_" + name, one_node(inputs, concat("y = conv(x, k", bias ? ", b" : "",
                                                             ") {", attributes, "}"))});
  };
  conv("valid", "2,5,4,3", "3,2,3,2", "", true);
  conv("same_stride", "1,7,5,2", "3,3,2,3", "padding=\"same\", strides=[2,3]", true);
  conv("same_even_kernel", "1,4,5,1", "2,4,1,2", "padding=\"same\"");
  conv("explicit", "1,4,5,2", "3,3,2,2", "padding=\"explicit\", pads=[0,2,1,0], strides=[2,1]");
  conv("dilated", "1,7,6,2", "3,2,2,2", "dilations=[2,3], padding=\"same\"");
  conv("groups", "2,4,4,6", "3,3,2,3", "groups=3, padding=\"same\"", true);
  conv("depthwise_multiplier", "1,5,5,3", "2,2,1,6", "groups=3, strides=[2,2]");
  conv("pointwise_stride", "2,5,3,4", "1,1,4,3", "strides=[2,2]", true);
  conv("three_axes", "1,3,4,5,2", "2,3,2,2,2", "padding=\"same\", strides=[2,1,2]", true);
  conv("three_axes_dilated", "1,5,3,4,1", "2,1,3,1,2", "dilations=[3,1,1]");
  cases.push_back(
      {"conv_bias_only", one_node("x: f32[2,3,3,1] feed, k: f32[2,2,1,2] feed, b: f32[2] variable",
                                  "y = conv(x, k, b)")});
}

void add_conv_transpose_cases(Cases& cases) {
  const auto transposed = [&](const std::string& name, const std::string& x,
                              const std::string& kernel, const std::string& attributes,
                              const std::string& bias = "") {
    const std::string inputs = "x: f32[" + x + "] variable, k: f32[" + kernel + "] variable" +
                               (bias.empty() ? "" : ", b: f32[" + bias + "] variable");
    cases.push_back({"conv_transpose_" + name,
                     one_node(inputs, concat("y = conv_transpose(x, k", bias.empty() ? "" : ", b",
                                             ") {", attributes, "}"))});
  };
  transposed("valid", "2,3,2,3", "3,2,2,3", "output=[5,3]", "2");
  transposed("same_stride", "1,3,2,2", "3,3,3,2", "padding=\"same\", strides=[2,3], output=[6,6]",
             "3");
  transposed("unet", "2,3,2,4", "2,2,3,4", "strides=[2,2], output=[6,4]", "3");
  transposed("gaps", "1,3,2,2", "1,2,2,2", "strides=[3,2], output=[9,5]", "2");
  transposed("dilated", "1,3,4,2", "2,3,2,2", "dilations=[3,2], output=[6,8]");
  transposed("explicit", "1,3,4,2", "3,3,1,2",
             "padding=\"explicit\", pads=[1,0,2,1], strides=[2,1], output=[5,5]");
  transposed("groups", "1,3,3,6", "3,3,2,6", "groups=3, padding=\"same\", output=[3,3]", "6");
  transposed("three_axes", "1,2,3,2,2", "2,3,2,3,2",
             "padding=\"same\", strides=[2,1,2], output=[4,3,3]", "3");
}

void add_dense_cases(Cases& cases) {
  cases.push_back(
      {"dense", one_node("x: f32[3,4] variable, k: f32[4,5] variable", "y = dense(x, k)")});
  cases.push_back(
      {"dense_bias", one_node("x: f32[2,7] variable, k: f32[7,1] variable, b: f32[1] variable",
                              "y = dense(x, k, b)")});
  cases.push_back(
      {"dense_untrained_kernel",
       one_node("x: f32[2,3] variable, k: f32[3,2] feed, b: f32[2] feed", "y = dense(x, k, b)")});
}

void add_norm_cases(Cases& cases) {
  const std::string given =
      "x: f32[3,2,2,2] variable, m: f32[2] state, v: f32[2] state, g: f32[2] variable, "
      "b: f32[2] variable";
  const Values positive = {{"v", Tensor::of_f32({2}, {0.5f, 2})}};
  cases.push_back({.name = "batch_norm_moving",
                   .graph = one_node(given, "y = batch_norm(x, m, v, g, b) {epsilon=0.1}"),
                   .values = positive});
  const auto whole = [](const std::string& x) {
    return concat("graph(x: f32[", x, "] variable, g: f32[3] variable, b: f32[3] variable) {",
                  " s = batch_moments(x) m, v, u = combine_moments(s)",
                  " y = batch_norm(x, m, v, g, b) {batch_statistics=1, epsilon=0.01}",
                  " return result y=y }");
  };
  cases.push_back({"batch_norm_batch", whole("4,2,1,3")});
  cases.push_back({"batch_norm_matrix", whole("5,3")});
  cases.push_back({.name = "batch_norm_padding", .graph = whole("5,2,2,3"), .valid = 3});
  cases.push_back({"batch_norm_input_only",
                   "graph(x: f32[4,2] variable, g: f32[2] feed, b: f32[2] feed) {"
                   " s = batch_moments(x) m, v, u = combine_moments(s)"
                   " y = batch_norm(x, m, v, g, b) {batch_statistics=1} return result y=y }"});
  const auto group = [&](const std::string& name, const std::string& x,
                         const std::string& attributes) {
    const std::string channels = x.substr(x.rfind(',') + 1);
    cases.push_back({"group_norm_" + name,
                     one_node(concat("x: f32[", x, "] variable, g: f32[", channels,
                                     "] variable, b: f32[", channels, "] variable"),
                              concat("y, m, s = group_norm(x, g, b) {", attributes, "}"))});
  };
  group("contiguous", "2,3,2,4", "groups=2");
  group("strided", "2,2,2,6", "groups=3, strided=1, epsilon=0.05");
  group("one_group", "2,2,1,2,3", "groups=1");
  group("matrix", "3,6", "groups=2");
  group("instance", "2,3,2,2", "groups=2");
  const auto layer = [&](const std::string& name, const std::string& weights,
                         const std::string& node) {
    cases.push_back({"layer_norm_" + name, one_node("x: f32[2,3,2,4] variable" + weights,
                                                    "y, m, s = layer_norm(" + node)});
  };
  layer("last", ", g: f32[4] variable, b: f32[4] variable", "x, g, b)");
  layer("three", ", g: f32[3,2,4] variable, b: f32[3,2,4] variable",
        "x, g, b) {axes=3, epsilon=0.1}");
  layer("plain", "", "x) {scale=0, center=0}");
  layer("beta", ", b: f32[2,4] variable", "x, b) {axes=2, scale=0}");
  layer("gamma", ", g: f32[4] variable", "x, g) {center=0}");
}

void add_elementwise_cases(Cases& cases) {
  const auto unary = [&](const std::string& name, const std::string& node) {
    cases.push_back({name, one_node("x: f32[3,5] variable", node)});
  };
  unary("relu", "y = relu(x)");
  unary("leaky_relu", "y = leaky_relu(x)");
  unary("leaky_relu_alpha", "y = leaky_relu(x) {alpha=0.01}");
  unary("tanh", "y = tanh(x)");
  unary("sigmoid", "y = sigmoid(x)");
  for (const char* curve : {"clip", "elu", "gelu", "hard_sigmoid", "hard_swish", "mish", "relu6",
                            "selu", "softplus", "swish"}) {
    unary(curve, concat("y = ", curve, "(x)"));
  }
  unary("clip_limits", "y = clip(x) {min=-0.4, max=0.3}");
  unary("elu_alpha", "y = elu(x) {alpha=0.3}");
  unary("gelu_approximate", "y = gelu(x) {approximate=1.0}");
  unary("hard_sigmoid_slope", "y = hard_sigmoid(x) {alpha=0.35, beta=0.45}");
  unary("softmax", "y = softmax(x)");
  unary("scale", "y = scale(x) {factor=-2.5, offset=3.0}");
  unary("dropout", "y = dropout(x) {rate=0.4, key=77}");
  unary("dropout_samples", "y = dropout(x) {rate=0.5, key=3, mask=\"sample\"}");
  unary("dropout_channels", "y = dropout(x) {rate=0.4, key=5, mask=\"channel\"}");
  unary("gaussian_noise", "y = gaussian_noise(x) {stddev=0.3, key=77}");
  unary("cast", "y = cast(x) {dtype=\"f32\"}");
  unary("checkpoint", "y = checkpoint(x)");
  unary("reshape", "y = reshape(x) {shape=[5,1]}");
  cases.push_back({"softmax_rows", one_node("x: f32[2,3,4] variable", "y = softmax(x)")});
  cases.push_back({"add_same_twice", one_node("a: f32[2,3] variable", "y = add(a, a)")});
  cases.push_back({"multiply_square", one_node("a: f32[2,3] variable", "y = multiply(a, a)")});
}

// Operands that are repeated within a sample; the second of divide stays away from zero.
void add_broadcast_cases(Cases& cases) {
  const auto pair = [&](const std::string& name, const std::string& a, const std::string& b) {
    const std::string inputs = concat("a: f32[", a, "] variable, b: f32[", b, "] variable");
    for (const std::string op : {"add", "subtract", "multiply", "divide", "maximum", "minimum"}) {
      GradientCase each{concat(op, "_", name), one_node(inputs, concat("y = ", op, "(a, b)"))};
      if (op == "divide") {
        each.low = 0.5f;
        each.high = 2;
      }
      cases.push_back(each);
    }
  };
  pair("equal", "2,3", "2,3");
  pair("channels", "2,3,2,4", "2,1,1,4");
  pair("vector", "2,3,2,2", "2,2");
  pair("pixels", "2,3,2,4", "2,3,2,1");
  pair("both", "2,3,1,2", "2,1,2,2");
  pair("first", "2,1,3", "2,2,3");
  pair("number", "2,3,2", "2");
  cases.push_back(
      {"expand", one_node("x: f32[2,1,3] variable", "y = expand(x) {shape=[2,2,4,3]}")});
  const auto prelu = [&](const std::string& name, const std::string& alpha) {
    cases.push_back(
        {"prelu_" + name,
         one_node("x: f32[3,2,3,2] variable, a: f32[" + alpha + "] variable", "y = prelu(x, a)")});
  };
  prelu("channels", "1,1,2");
  prelu("own", "2,3,2");
  prelu("rows", "2,1,2");
  prelu("one", "1,1,1");
}

void add_math_cases(Cases& cases) {
  const auto math = [&](const std::string& function, const std::string& before) {
    cases.push_back({"math_" + function,
                     one_node("x: f32[3,5] variable",
                              concat(before, " y = math(s) {function=\"", function, "\"}"))});
  };
  for (const char* function : {"abs", "asinh", "atan", "ceil", "cos", "cosh", "erf", "exp", "floor",
                               "not", "round", "sign", "sin", "sinh", "softsign", "tan"}) {
    math(function, "s = scale(x) {factor=0.9, offset=0.03}");
  }
  for (const char* function : {"acos", "asin", "atanh", "log", "reciprocal", "sqrt"}) {
    math(function, "t = sigmoid(x) s = scale(t) {factor=0.9}");
  }
  math("acosh", "t = sigmoid(x) s = scale(t) {offset=1.2}");
  cases.push_back({"to_power", one_node("a: f32[2,3,4] variable, b: f32[2,4] variable",
                                        "p = sigmoid(a) y = to_power(p, b)")});
  cases.push_back({"to_power_exponent", one_node("a: f32[3,5] variable",
                                                 "p = sigmoid(a) y = to_power(p) {exponent=1.7}")});
  const char* three = "c: f32[2,3] feed, a: f32[2,3] variable, b: f32[2,3] variable";
  for (const char* when : {"holds", "fails"}) {
    const std::string attributes = concat(" {when=\"", when, "\"}");
    cases.push_back(
        {concat("select_", when), one_node(three, "m = relu(c) y = select(m, a, b)" + attributes)});
    cases.push_back(
        {concat("select_or_0_", when), one_node("c: f32[2,3] feed, a: f32[2,3] variable",
                                                "m = relu(c) y = select(m, a)" + attributes)});
  }
  cases.push_back(
      {"spread", one_node("x: f32[3,2] feed, w: f32[2,3,2] variable", "y = spread(x, w)")});
  cases.push_back(
      {"pick_last", one_node("x: f32[2,2,4] variable", "y = pick(x) {axis=2, indices=[3,0,3,1]}")});
  cases.push_back({"pick_first", one_node("x: f32[2,3,2,2] variable",
                                          "y = pick(x) {axis=1, indices=[2,2,1,0,0]}")});
}

void add_axes_cases(Cases& cases) {
  for (const std::string op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"}) {
    const auto reduce = [&](const std::string& name, const std::string& attributes) {
      cases.push_back({op + "_" + name, one_node("x: f32[2,3,4,2] variable",
                                                 "y = " + op + "(x) {" + attributes + "}")});
    };
    reduce("pixels", "axes=[1,2]");
    reduce("last", "axes=[3], keepdims=1");
    reduce("apart", "axes=[1,3], keepdims=1");
    reduce("middle", "axes=[2]");
    reduce("all", "axes=[1,2,3]");
    reduce("none", "axes=[]");
  }
  cases.push_back({"reduce_sum_products", one_node("a: f32[2,3,2] variable, b: f32[2,3,2] variable",
                                                   "y = reduce_sum(a, b) {axes=[1]}")});
  cases.push_back(
      {"transpose", one_node("x: f32[2,3,4,2] variable", "y = transpose(x) {perm=[0,3,1,2]}")});
  const auto matmul = [&](const std::string& name, const std::string& a, const std::string& b,
                          const std::string& attributes) {
    cases.push_back(
        {"matmul_" + name, one_node(concat("a: f32[", a, "] variable, b: f32[", b, "] variable"),
                                    "y = matmul(a, b) {" + attributes + "}")});
  };
  matmul("plain", "2,3,4", "2,4,2", "");
  matmul("heads", "2,2,3,4", "2,2,4,2", "");
  matmul("left", "2,4,3", "2,4,2", "transpose_a=1");
  matmul("right", "2,3,4", "2,2,4", "transpose_b=1");
  matmul("both", "2,4,3", "2,2,4", "transpose_a=1, transpose_b=1");
}

void add_movement_cases(Cases& cases) {
  cases.push_back(
      {"pad", one_node("x: f32[2,3,2] variable", "y = pad(x) {low=[0,1,0], high=[0,0,2]}")});
  cases.push_back(
      {"slice", one_node("x: f32[2,5,4] variable", "y = slice(x) {begin=[0,1,0], size=[2,3,2]}")});
  cases.push_back(
      {"slice_strided", one_node("x: f32[2,5,4] variable",
                                 "y = slice(x) {begin=[0,0,1], size=[2,3,2], strides=[1,2,2]}")});
  cases.push_back({"concat_last", one_node("a: f32[2,2,3] variable, b: f32[2,2,1] variable",
                                           "y = concat(a, b, a) {axis=2}")});
  cases.push_back({"concat_middle", one_node("a: f32[2,2,3] feed, b: f32[2,4,3] variable",
                                             "y = concat(a, b) {axis=1}")});
}

void add_resize_cases(Cases& cases) {
  const auto resize = [&](const std::string& name, const std::string& x,
                          const std::string& attributes) {
    cases.push_back({"resize_" + name, one_node("x: f32[" + x + "] variable",
                                                concat("y = resize(x) {", attributes, "}"))});
  };
  resize("nearest", "2,2,3,2", "size=[4,6]");
  resize("nearest_down", "1,5,4,2", "size=[2,3], nearest=\"floor\"");
  resize("linear", "1,2,3,2", "size=[4,5], mode=\"linear\"");
  resize("linear_down", "1,7,5,1", "size=[3,2], mode=\"linear\"");
  resize("align_corners", "1,3,4,1", "size=[5,1], mode=\"linear\", coordinates=\"align_corners\"");
  resize("asymmetric", "1,3,4,1", "size=[4,7], mode=\"linear\", coordinates=\"asymmetric\"");
  resize("scales", "1,3,4,1", "size=[4,6], scales=[1.5,1.7], mode=\"linear\"");
  resize("symmetric", "1,3,4,1",
         "size=[4,6], scales=[1.5,1.7], mode=\"linear\", coordinates=\"half_pixel_symmetric\"");
  resize("one_axis", "2,3,2", "size=[7], mode=\"linear\"");
  resize("three_axes", "1,2,3,2,2", "size=[3,2,4], mode=\"linear\"");
  for (const std::string mode : {"DCR", "CRD"}) {
    cases.push_back({"depth_to_space_" + mode,
                     one_node("x: f32[2,2,1,8] variable",
                              "y = depth_to_space(x) {block=2, mode=\"" + mode + "\"}")});
    cases.push_back({"space_to_depth_" + mode,
                     one_node("x: f32[1,6,3,2] variable",
                              "y = space_to_depth(x) {block=3, mode=\"" + mode + "\"}")});
  }
}

void add_pixel_cases(Cases& cases) {
  Tensor flags(DType::u8, {3});
  flags.u8()[1] = 1;
  flags.u8()[2] = 255;
  cases.push_back(
      {.name = "flip_where",
       .graph = one_node("x: f32[3,2,3,2] variable, f: u8[3] feed", "y = flip_where(x, f)"),
       .values = {{"f", flags}}});
  cases.push_back({"flip_where_all", one_node("x: f32[2,2,3,2] variable", "y = flip_where(x)")});
  const std::string map = "scale=[2,-0.5,1], shift=[0,1,0.25]";
  cases.push_back({"normalise_pixels",
                   one_node("x: f32[2,2,1,3] variable", "y = normalise_pixels(x) {" + map + "}")});
  cases.push_back(
      {"normalise_pixels_wider",
       one_node("x: f32[2,2,1,3] variable", "y = normalise_pixels(x) {channels=5, " + map + "}")});
}

void add_pool_cases(Cases& cases) {
  const auto pool = [&](const std::string& name, const std::string& x,
                        const std::string& attributes) {
    const std::string inputs = "x: f32[" + x + "] variable";
    cases.push_back(
        {"max_pool_" + name, one_node(inputs, concat("y, i = max_pool(x) {", attributes, "}"))});
    cases.push_back(
        {"avg_pool_" + name, one_node(inputs, concat("y = avg_pool(x) {", attributes, "}"))});
  };
  pool("valid", "2,5,4,2", "window=[2,2]");
  pool("overlapping", "1,5,6,2", "window=[3,2], strides=[1,2]");
  pool("same", "1,5,4,2", "window=[3,3], strides=[2,2], padding=\"same\"");
  pool("explicit", "1,4,4,1", "window=[3,2], strides=[2,1], padding=\"explicit\", pads=[1,0,2,1]");
  pool("gaps", "1,7,5,1", "window=[2,1], strides=[3,2]");
  pool("three_axes", "1,3,4,3,2", "window=[2,2,2], strides=[1,2,1], padding=\"same\"");
  pool("ceil", "1,5,6,2", "window=[2,2], strides=[2,3], ceil_mode=1");
  pool("ceil_padded", "1,4,6,1",
       "window=[3,3], strides=[2,2], padding=\"explicit\", pads=[1,0,1,1], ceil_mode=1");
  cases.push_back(
      {"global_max_pool", one_node("x: f32[2,3,2,4] variable", "y, i = global_max_pool(x)")});
  cases.push_back({"global_max_pool_three_axes",
                   one_node("x: f32[2,2,1,3,2] variable", "y, i = global_max_pool(x)")});
  cases.push_back(
      {"global_avg_pool", one_node("x: f32[2,3,2,4] variable", "y = global_avg_pool(x)")});
  cases.push_back({"global_avg_pool_three_axes",
                   one_node("x: f32[2,2,1,3,2] variable", "y = global_avg_pool(x)")});
}

void add_loss_cases(Cases& cases) {
  const Values sparse = {{"t", Tensor::of_i32({3}, {1, 0, 3})},
                         {"w", Tensor::of_f32({3}, {1, 0.5f, 2})}};
  // The second sample has no label: its loss does not depend on its predictions.
  const Values unlabelled = {{"t", Tensor::of_i32({3}, {1, -1, 4})}};
  const Values dense = {
      {"t", Tensor::of_f32({3, 4}, {0.2f, 0.3f, 0, 0.5f, 1, 0, 0, 0, 0.5f, 0.5f, 0.5f, 0})}};
  const std::string logits = "p: f32[3,4] variable, t: i32[3] feed";
  const std::string weighted = logits + ", w: f32[3] feed";
  const std::string distribution = "p: f32[3,4] variable, t: f32[3,4] feed";
  const auto entropy = [&](const std::string& name, const std::string& inputs,
                           const std::string& node, const Values& values) {
    cases.push_back({.name = "cross_entropy_" + name,
                     .graph = one_node(inputs, node),
                     .low = 0.1f,
                     .high = 0.9f,
                     .values = values});
  };
  entropy("sparse", logits, "y = cross_entropy(p, t)", sparse);
  entropy("weighted", weighted, "y = cross_entropy(p, t, w) {label_smoothing=0.1}", sparse);
  entropy("dense", distribution, "y = cross_entropy(p, t)", dense);
  entropy("logits", logits, "y = cross_entropy(p, t) {from_logits=1}", sparse);
  entropy("logits_weighted", weighted,
          "y = cross_entropy(p, t, w) {from_logits=1, label_smoothing=0.2}", sparse);
  entropy("logits_dense", distribution, "y = cross_entropy(p, t) {from_logits=1}", dense);
  entropy("unlabelled", logits, "y = cross_entropy(p, t) {from_logits=1}", unlabelled);
  entropy("focal", logits, "y = cross_entropy(p, t) {gamma=2.0, alpha=0.25}", sparse);
  entropy("focal_dense", distribution, "y = cross_entropy(p, t) {gamma=1.5, label_smoothing=0.1}",
          dense);
  entropy("focal_logits", weighted, "y = cross_entropy(p, t, w) {gamma=2.0, from_logits=1}",
          sparse);
  const Values pixels = {{"t", Tensor::of_i32({2, 2, 2}, {1, 0, 2, -1, 0, 0, 1, 7})},
                         {"w", Tensor::of_f32({2}, {0.5f, 2})}};
  const std::string mask = "p: f32[2,2,2,3] variable, t: i32[2,2,2] feed, w: f32[2] feed";
  entropy("pixels", mask, "y = cross_entropy(p, t, w) {from_logits=1}", pixels);
  entropy("pixels_of_probabilities", mask, "y = cross_entropy(p, t, w) {gamma=1.0}", pixels);
  // The second sample has no label at all.
  const Values bare = {{"t", Tensor::of_i32({2, 2, 2}, {1, -1, 2, -1, -1, -1, -1, -1})},
                       {"w", Tensor::of_f32({2}, {0.5f, 2})}};
  entropy("pixels_without_labels", mask, "y = cross_entropy(p, t, w)", bare);
  const Values shares = {{"t", Tensor::of_f32({3, 2, 1}, {0, 1, 0.3f, 1, 0.5f, 0})},
                         {"w", Tensor::of_f32({3}, {1, 0.5f, 2})}};
  const std::string elements = "p: f32[3,2,1] variable, t: f32[3,2,1] feed";
  const auto binary = [&](const std::string& name, const std::string& attributes, float low) {
    cases.push_back({.name = "binary_cross_entropy_" + name,
                     .graph = one_node(elements + ", w: f32[3] feed",
                                       "y = binary_cross_entropy(p, t, w) {" + attributes + "}"),
                     .low = low,
                     .high = 0.9f,
                     .values = shares});
  };
  binary("plain", "", 0.1f);
  binary("logits", "from_logits=1, label_smoothing=0.2", -2);
  binary("focal", "gamma=2.0, alpha=0.25", 0.1f);
  binary("focal_logits", "gamma=1.5, alpha=0.75, from_logits=1, label_smoothing=0.1", -2);
  cases.push_back({.name = "huber",
                   .graph = one_node(elements, "y = huber(p, t) {delta=0.4}"),
                   .values = {{"t", Tensor::of_f32({3, 2, 1}, {2, -2, 0.05f, -0.05f, 0, 2})}}});
  cases.push_back({.name = "dice",
                   .graph = one_node(elements + ", w: f32[3] feed", "y = dice(p, t, w)"),
                   .low = 0.1f,
                   .values = shares});
  const Values targets = {{"t", Tensor::of_f32({3, 2, 1}, {2, -2, 3, -2, -3, 2})},
                          {"w", Tensor::of_f32({3}, {1, 0.5f, 2})}};
  for (const std::string op : {"mean_squared_error", "mean_absolute_error"}) {
    const std::string inputs = "p: f32[3,2,1] variable, t: f32[3,2,1] feed";
    cases.push_back(
        {.name = op, .graph = one_node(inputs, "y = " + op + "(p, t)"), .values = targets});
    cases.push_back({.name = op + "_weighted",
                     .graph = one_node(inputs + ", w: f32[3] feed", "y = " + op + "(p, t, w)"),
                     .values = targets});
  }
  cases.push_back({"sum_losses", one_node("a: f32[3] variable, b: f32[3] variable",
                                          "y = sum_losses(a, b) {weight_a=0.5, weight_b=3.0}")});
}

}  // namespace

const std::vector<GradientCase>& gradient_cases() {
  static const std::vector<GradientCase> cases = [] {
    Cases all;
    add_conv_cases(all);
    add_conv_transpose_cases(all);
    add_dense_cases(all);
    add_norm_cases(all);
    add_elementwise_cases(all);
    add_broadcast_cases(all);
    add_math_cases(all);
    add_axes_cases(all);
    add_movement_cases(all);
    add_resize_cases(all);
    add_pixel_cases(all);
    add_pool_cases(all);
    add_loss_cases(all);
    return all;
  }();
  return cases;
}

}  // namespace pando::test
