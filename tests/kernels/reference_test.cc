// Results of the reference kernels that can be checked by hand. tests/ops checks their gradients,
// and tests/grad compares whole networks with PyTorch.
// SPDX-License-Identifier: MIT
#include "pando/kernels/reference/reference.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/base/random.h"
#include "pando/ops/op.h"
#include "tests/support/run_graph.h"

namespace pando::kernels {
namespace {

using test::RunOptions;
using test::typed_graph;
using test::Values;
using test::whole_batch;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> floats(const Tensor& tensor) {
  return {tensor.f32().begin(), tensor.f32().end()};
}

// Runs `nodes` on the inputs; the types come from the tensors.
Values run(const Values& inputs, const std::string& nodes, const RunOptions& options = {}) {
  std::string declared;
  for (const auto& [name, tensor] : inputs) {
    declared += concat(declared.empty() ? "" : ", ", name, ": ",
                       ir::to_string({tensor.dtype(), tensor.shape()}), " feed");
  }
  return test::run_graph(typed_graph(concat("graph(", declared, ") { ", nodes, " return }")),
                         inputs, options);
}

using Floats = std::vector<float>;

TEST(Reference, ConvolutionByHand) {
  const Tensor x = Tensor::of_f32({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
  const Tensor k = Tensor::of_f32({2, 2, 1, 1}, {1, 10, 100, 1000});
  const Tensor b = Tensor::of_f32({1}, {-6000});
  EXPECT_EQ(floats(run({{"x", x}, {"k", k}}, "y = conv(x, k)")["y"]), (Floats{5421, 6532}));
  EXPECT_EQ(floats(run({{"x", x}, {"k", k}, {"b", b}},
                       "y = conv(x, k, b) {activation=\"leaky_relu\", alpha=0.5}")["y"]),
            (Floats{-289.5f, 532}));
  // SAME pads an even filter on the high side.
  EXPECT_EQ(floats(run({{"x", x}, {"k", k}}, "y = conv(x, k) {padding=\"same\"}")["y"]),
            (Floats{5421, 6532, 603, 54, 65, 6}));
}

TEST(Reference, TransposedConvolutionByHand) {
  const Tensor x = Tensor::of_f32({1, 1, 2, 1}, {2, 3});
  const Tensor k = Tensor::of_f32({2, 2, 1, 1}, {1, 10, 100, 1000});
  const Tensor b = Tensor::of_f32({1}, {-30});
  const Values inputs = {{"x", x}, {"k", k}, {"b", b}};
  // With strides of the kernel's size, every element of x makes a box of its own.
  EXPECT_EQ(floats(run({{"x", x}, {"k", k}},
                       "y = conv_transpose(x, k) {strides=[2,2], output=[2,4]}")["y"]),
            (Floats{2, 20, 3, 30, 200, 2000, 300, 3000}));
  // Without strides the boxes overlap.
  EXPECT_EQ(floats(run({{"x", x}, {"k", k}}, "y = conv_transpose(x, k) {output=[2,3]}")["y"]),
            (Floats{2, 23, 30, 200, 2300, 3000}));
  // Elements that no box reaches have the bias alone.
  EXPECT_EQ(floats(run(inputs, "y = conv_transpose(x, k, b) {strides=[2,3], output=[2,6]}")["y"]),
            (Floats{-28, -10, -30, -27, 0, -30, 170, 1970, -30, 270, 2970, -30}));
  EXPECT_EQ(floats(run({{"x", x}, {"k", k}, {"b", b}},
                       "y = conv_transpose(x, k, b) {output=[2,3], activation=\"relu\"}")["y"]),
            (Floats{0, 0, 0, 170, 2270, 2970}));
}

TEST(Reference, MaxPoolFirstMaximumWinsAndNaNPropagates) {
  const Tensor x = Tensor::of_f32({1, 2, 6, 1}, {3, 3, 1, kNaN, -1, -2,  //
                                                 3, 0, 5, kNaN, -3, -1});
  Values y = run({{"x", x}}, "y, i = max_pool(x) {window=[2,2]}");
  EXPECT_EQ(y["y"].f32()[0], 3);
  EXPECT_TRUE(std::isnan(y["y"].f32()[1]));
  EXPECT_EQ(y["y"].f32()[2], -1);
  EXPECT_EQ(y["i"].u8()[0], 0);
  EXPECT_EQ(y["i"].u8()[1], 1);
  EXPECT_EQ(y["i"].u8()[2], 0);
}

TEST(Reference, PaddingNeverWinsAndIsNotCounted) {
  const Tensor x = Tensor::of_f32({1, 3, 3, 1}, {-1, -2, -3, -4, -5, -6, -7, -8, -9});
  const std::string same = "{window=[2,2], padding=\"same\"}";
  EXPECT_EQ(floats(run({{"x", x}}, "y, i = max_pool(x) " + same)["y"]), (Floats{-1, -3, -7, -9}));
  EXPECT_EQ(floats(run({{"x", x}}, "y = avg_pool(x) " + same)["y"]),
            (Floats{-3, -4.5f, -7.5f, -9}));
}

// What lies behind the input is neither chosen nor counted.
TEST(Reference, PoolingInCeilMode) {
  const Tensor x = Tensor::of_f32({1, 3, 3, 1}, {-1, -2, -3, -4, -5, -6, -7, -8, -9});
  const std::string ceil = "{window=[2,2], ceil_mode=1}";
  EXPECT_EQ(floats(run({{"x", x}}, "y, i = max_pool(x) " + ceil)["y"]), (Floats{-1, -3, -7, -9}));
  EXPECT_EQ(floats(run({{"x", x}}, "y = avg_pool(x) " + ceil)["y"]),
            (Floats{-3, -4.5f, -7.5f, -9}));
}

TEST(Reference, GlobalMaxPoolFirstMaximumWinsAndNaNPropagates) {
  const Tensor x = Tensor::of_f32({1, 2, 2, 3}, {1, 5, kNaN, 4, 5, 2, 4, -1, kNaN, 0, 3, 9});
  Values y = run({{"x", x}}, "y, i = global_max_pool(x)");
  EXPECT_EQ(y["y"].f32()[0], 4);
  EXPECT_EQ(y["y"].f32()[1], 5);
  EXPECT_TRUE(std::isnan(y["y"].f32()[2]));
  EXPECT_EQ(std::vector<int32_t>(y["i"].i32().begin(), y["i"].i32().end()),
            (std::vector<int32_t>{1, 0, 0}));
}

TEST(Reference, ConvPoolIsConvThenMaxPool) {
  const Values inputs = {{"x", test::random_tensor({2, 7, 8, 3}, 1)},
                         {"k", test::random_tensor({3, 2, 3, 5}, 2)},
                         {"b", test::random_tensor({5}, 3)}};
  const std::string attributes = "padding=\"same\", activation=\"relu\"";
  Values got = run(inputs, concat("c = conv(x, k, b) {", attributes,
                                  "} y, i = max_pool(c) {window=[2,3]} "
                                  "fy, fi = conv_pool(x, k, b) {window=[2,3], ",
                                  attributes, "}"));
  EXPECT_EQ(floats(got["y"]), floats(got["fy"]));
  EXPECT_TRUE(std::equal(got["i"].u8().begin(), got["i"].u8().end(), got["fi"].u8().begin()));
}

TEST(Reference, FusedActivationsAreTheActivations) {
  const Values inputs = {{"x", test::random_tensor({4, 6}, 1)},
                         {"k", test::random_tensor({6, 6}, 2)},
                         {"v", test::random_tensor({6}, 3, 0.5f, 1)},
                         {"g", test::random_tensor({6}, 4)}};
  for (const std::string op : {"dense(x, k)", "add(x, x)", "batch_norm(x, g, v, g, g)"}) {
    for (const std::string& name : ops::builtin_ops().names_with(ops::Trait::post_op)) {
      const std::string alpha = name == "leaky_relu" || name == "elu" ? "alpha=0.25" : "";
      Values got =
          run(inputs, concat("a = ", op, " y = ", name, "(a) {", alpha, "} f = ", op,
                             " {activation=\"", name, "\"", alpha.empty() ? "" : ", ", alpha, "}"));
      EXPECT_EQ(floats(got["y"]), floats(got["f"])) << op << name;
    }
  }
}

TEST(Reference, FusedBackwardMasksAreTheActivationGradients) {
  const Values inputs = {
      {"x", test::random_tensor({2, 4, 4, 3}, 1)},  {"dy", test::random_tensor({2, 4, 4, 3}, 2)},
      {"dp", test::random_tensor({2, 2, 2, 3}, 3)}, {"v", test::random_tensor({3}, 4, 0.5f, 1)},
      {"c", test::random_tensor({3}, 5)},           {"h", test::random_tensor({3}, 6, 4, 12)}};
  for (const std::string name : {"relu", "relu6"}) {
    const std::string set = concat("{activation=\"", name, "\"}");
    Values got =
        run(inputs, concat("r = batch_norm(x, c, v, h, c) ", set, " m = ", name, "_grad(dy, r)",
                           " b, g = batch_norm_sums(m, x, c, v)"
                           " fb, fg = batch_norm_sums(dy, x, c, v, h, c) ",
                           set,
                           " d = batch_norm_input_grad(m, x, c, v, h, b, g)"
                           " fd = batch_norm_input_grad(dy, x, c, v, h, b, g, c) ",
                           set,
                           " e = batch_norm_input_grad(m, x, c, v, h)"
                           " fe = batch_norm_input_grad(dy, x, c, v, h, c) ",
                           set));
    for (const std::string value : {"b", "g", "d", "e"}) {
      EXPECT_EQ(floats(got[value]), floats(got["f" + value])) << name << value;
    }
  }
  Values got = run(inputs,
                   "p, i = max_pool(x) {window=[2,2]} l = leaky_relu(p) {alpha=0.25}"
                   " q = leaky_relu_grad(dp, l) {alpha=0.25}"
                   " y = max_pool_grad(q, i) {window=[2,2], input=[4,4]}"
                   " fy = max_pool_grad(dp, i, l) {window=[2,2], input=[4,4],"
                   " activation=\"leaky_relu\", alpha=0.25}");
  EXPECT_EQ(floats(got["y"]), floats(got["fy"]));
}

TEST(Reference, MomentsCountValidSamplesOnly) {
  const Tensor x = Tensor::of_f32({3, 2, 1}, {1, 3, 5, 7, kNaN, 1e30f});
  StepArgs step = whole_batch(3);
  step.valid = step.batch_valid = 2;
  const std::string nodes = "s = batch_moments(x) m, v, u = combine_moments(s)";
  Values got = run({{"x", x}}, nodes, {.step = step});
  EXPECT_EQ(floats(got["s"]), (Floats{4, 20, 4}));
  EXPECT_EQ(floats(got["m"]), Floats{4});
  EXPECT_EQ(floats(got["v"]), Floats{5});
  EXPECT_FLOAT_EQ(got["u"].f32()[0], 20.0f / 3);
  step.valid = step.batch_valid = 0;
  got = run({{"x", x}}, nodes, {.step = step});
  EXPECT_EQ(floats(got["s"]), (Floats{0, 0, 0}));
  EXPECT_EQ(floats(got["u"]), Floats{0});
  const Tensor one = Tensor::of_f32({1, 1, 1}, {9});
  EXPECT_EQ(floats(run({{"x", one}}, nodes)["u"]), Floats{0});
}

TEST(Reference, MomentsOfSlicesCombineToThoseOfTheWhole) {
  const ir::Graph graph =
      typed_graph("graph(s: f32[5] feed) { m, v, u = combine_moments(s) return }");
  const auto kernel = reference_combine_moments(*graph.nodes()[0]).kernel;
  // Values 1 and 3 in one slice, none in the next, 8 in the last; the second channel is far from
  // zero.
  const Floats slices[3] = {{2, 1000001, 2, 2, 2}, {0, 0, 0, 0, 0}, {8, 1000000, 0, 0, 1}};
  const std::byte* inputs[3];
  for (int i = 0; i < 3; ++i) inputs[i] = reinterpret_cast<const std::byte*>(slices[i].data());
  Floats mean(2), variance(2), unbiased(2);
  std::byte* outputs[3] = {reinterpret_cast<std::byte*>(mean.data()),
                           reinterpret_cast<std::byte*>(variance.data()),
                           reinterpret_cast<std::byte*>(unbiased.data())};
  kernel->run({.inputs = inputs, .outputs = outputs, .num_inputs = 3}, {});
  EXPECT_EQ(mean[0], 4);
  EXPECT_FLOAT_EQ(variance[0], 26.0f / 3);
  EXPECT_FLOAT_EQ(unbiased[0], 13);
  EXPECT_FLOAT_EQ(unbiased[1], (2 + 2.0f / 3) / 2);
}

TEST(Reference, SumSlicesAddsAll) {
  const ir::Graph graph = typed_graph("graph(a: f32[2] feed) { t = sum_slices(a) return }");
  const auto kernel = reference_sum_slices(*graph.nodes()[0]).kernel;
  const Floats slices[2] = {{1, 2}, {10, 20}};
  const std::byte* inputs[2] = {reinterpret_cast<const std::byte*>(slices[0].data()),
                                reinterpret_cast<const std::byte*>(slices[1].data())};
  Floats total(2);
  auto* output = reinterpret_cast<std::byte*>(total.data());
  kernel->run({.inputs = inputs, .outputs = &output, .num_inputs = 2}, {});
  EXPECT_EQ(total, (Floats{11, 22}));
}

TEST(Reference, BatchNormGradientOfPaddingIsZero) {
  const Values inputs = {{"x", test::random_tensor({3, 2}, 1)},
                         {"dy", test::random_tensor({3, 2}, 2)},
                         {"c", Tensor::of_f32({2}, {1, 1})}};
  StepArgs step = whole_batch(3);
  step.valid = 1;
  step.batch_valid = 4;  // three more in other slices
  Values got =
      run(inputs, "dx = batch_norm_input_grad(dy, x, c, c, c, c, c) {epsilon=0.0}", {.step = step});
  const float x = inputs.at("x").f32()[0];
  EXPECT_FLOAT_EQ(got["dx"].f32()[0], inputs.at("dy").f32()[0] - 0.25f - (x - 1) * 0.25f);
  for (size_t i = 2; i < 6; ++i) EXPECT_EQ(got["dx"].f32()[i], 0);
}

TEST(Reference, GroupNormSumsValidSamplesOnly) {
  const Values inputs = {{"x", Tensor::of_f32({2, 2}, {1, 2, kNaN, kNaN})},
                         {"dy", Tensor::of_f32({2, 2}, {3, 4, kNaN, kNaN})},
                         {"m", Tensor::of_f32({2, 1}, {1, 0})},
                         {"s", Tensor::of_f32({2, 1}, {2, 1})}};
  StepArgs step = whole_batch(2);
  step.valid = step.batch_valid = 1;
  Values got = run(inputs, "b, g = group_norm_sums(dy, x, m, s) {groups=1}", {.step = step});
  EXPECT_EQ(floats(got["b"]), (Floats{3, 4}));
  EXPECT_EQ(floats(got["g"]), (Floats{0, 8}));
}

TEST(Reference, SoftmaxOfLargeNumbers) {
  const Tensor x = Tensor::of_f32({1, 3}, {1000, 1000, -1000});
  EXPECT_EQ(floats(run({{"x", x}}, "y = softmax(x)")["y"]), (Floats{0.5f, 0.5f, 0}));
}

TEST(Reference, CrossEntropyByHand) {
  const Tensor p = Tensor::of_f32({3, 2}, {0.25f, 0.75f, 0, 1, 0.5f, 0.5f});
  const Values sparse = {{"p", p}, {"t", Tensor::of_i32({3}, {0, 0, 2})}};
  Values got = run(sparse, "l = cross_entropy(p, t)");
  EXPECT_FLOAT_EQ(got["l"].f32()[0], std::log(4.0f));
  EXPECT_FLOAT_EQ(got["l"].f32()[1], -std::log(1e-7f));
  EXPECT_EQ(got["l"].f32()[2], 0);  // no such class
  got = run(sparse, "l = cross_entropy(p, t) {label_smoothing=0.5}");
  EXPECT_FLOAT_EQ(got["l"].f32()[0], -0.75f * std::log(0.25f) - 0.25f * std::log(0.75f));
  // Large logits neither overflow nor lose the difference.
  const Values logits = {{"p", Tensor::of_f32({1, 2}, {2000, 2001})},
                         {"t", Tensor::of_i32({1}, {0})},
                         {"w", Tensor::of_f32({1}, {3})}};
  got = run(logits, "l = cross_entropy(p, t, w) {from_logits=1}");
  EXPECT_FLOAT_EQ(got["l"].f32()[0], 3 * (1 + std::log1p(std::exp(-1.0f))));
}

TEST(Reference, CrossEntropyGradientIsZeroWhereClippedOrUnlabelled) {
  const Values inputs = {{"p", Tensor::of_f32({3, 2}, {0, 1, 0.5f, 0.5f, 0.5f, 0.5f})},
                         {"t", Tensor::of_i32({3}, {0, 1, -1})},
                         {"d", Tensor::of_f32({3}, {1, 2, 1})}};
  EXPECT_EQ(floats(run(inputs, "g = cross_entropy_grad(d, p, t)")["g"]),
            (Floats{0, 0, 0, -4, 0, 0}));
  EXPECT_EQ(floats(run(inputs, "g = cross_entropy_grad(d, p, t) {from_logits=1}")["g"]).back(), 0);
}

TEST(Reference, RegressionLossesByHand) {
  const Values inputs = {{"p", Tensor::of_f32({2, 2}, {1, 2, 3, 5})},
                         {"t", Tensor::of_f32({2, 2}, {1, 4, 0, 6})},
                         {"w", Tensor::of_f32({2}, {1, 10})},
                         {"d", Tensor::of_f32({2}, {1, 1})}};
  Values got = run(inputs,
                   "s = mean_squared_error(p, t, w) a = mean_absolute_error(p, t)"
                   " gs = mean_squared_error_grad(d, p, t, w)"
                   " ga = mean_absolute_error_grad(d, p, t)");
  EXPECT_EQ(floats(got["s"]), (Floats{2, 50}));
  EXPECT_EQ(floats(got["a"]), (Floats{1, 2}));
  EXPECT_EQ(floats(got["gs"]), (Floats{0, -2, 30, -10}));
  EXPECT_EQ(floats(got["ga"]), (Floats{0, -0.5f, 0.5f, -0.5f}));
}

TEST(Reference, LossesOfPixelsAreMeans) {
  // The third pixel of the first sample has no label; the second sample has none.
  const Values inputs = {
      {"p", Tensor::of_f32({2, 3, 2}, {0.5f, 0.5f, 0.25f, 0.75f, 1, 0, 1, 0, 1, 0, 1, 0})},
      {"t", Tensor::of_i32({2, 3}, {0, 0, -1, -1, 2, -1})}};
  const Floats loss = floats(run(inputs, "l = cross_entropy(p, t)")["l"]);
  EXPECT_NEAR(loss[0], (std::log(2.0) + std::log(4.0)) / 2, 1e-6);
  EXPECT_EQ(loss[1], 0);
  EXPECT_EQ(floats(run(inputs, "a = top_k_accuracy(p, t)")["a"]), (Floats{0.5f, 0}));
}

TEST(Reference, BinaryAndFocalLossesByHand) {
  const Values inputs = {{"p", Tensor::of_f32({1, 2}, {0.8f, 0.4f})},
                         {"t", Tensor::of_f32({1, 2}, {1, 0})}};
  const auto loss = [&](const std::string& node) { return floats(run(inputs, node)["l"])[0]; };
  const double first = -std::log(0.8);
  const double second = -std::log(0.6);
  EXPECT_NEAR(loss("l = binary_cross_entropy(p, t)"), (first + second) / 2, 1e-6);
  EXPECT_NEAR(loss("l = binary_cross_entropy(p, t) {gamma=2.0}"),
              (0.04 * first + 0.16 * second) / 2, 1e-6);
  EXPECT_NEAR(loss("l = binary_cross_entropy(p, t) {gamma=2.0, alpha=0.25}"),
              (0.25 * 0.04 * first + 0.75 * 0.16 * second) / 2, 1e-6);
  EXPECT_NEAR(loss("l = binary_cross_entropy(p, t) {label_smoothing=0.2}"),
              (0.9 * first - 0.1 * std::log(0.2) + 0.9 * second - 0.1 * std::log(0.4)) / 2, 1e-6);
  EXPECT_NEAR(loss("l = cross_entropy(p, t) {gamma=2.0, alpha=0.5}"), 0.5 * 0.04 * first, 1e-6);
  // 2 * 0.8 of 1.2 + 1.
  EXPECT_NEAR(loss("l = dice(p, t)"), 1 - 1.6 / 2.2, 1e-6);
  // 0.2 is within delta, 0.4 is not.
  EXPECT_NEAR(loss("l = huber(p, t) {delta=0.3}"), (0.02 + 0.3 * (0.4 - 0.15)) / 2, 1e-6);
  const Values empty = {{"p", Tensor::of_f32({1, 2}, {0, 0})},
                        {"t", Tensor::of_f32({1, 2}, {0, 0})}};
  EXPECT_EQ(floats(run(empty, "l = dice(p, t)")["l"])[0], 0);
}

TEST(Reference, TopK) {
  const Tensor p = Tensor::of_f32({5, 3}, {1, 3, 3, 1, 3, 3, 5, 4, 3, 1, kNaN, 0, 1, 2, 3});
  const Values sparse = {{"p", p}, {"t", Tensor::of_i32({5}, {1, 2, 2, 0, 9})}};
  EXPECT_EQ(floats(run(sparse, "h = top_k_accuracy(p, t)")["h"]), (Floats{1, 0, 0, 0, 0}));
  EXPECT_EQ(floats(run(sparse, "h = top_k_accuracy(p, t) {k=2}")["h"]), (Floats{1, 1, 0, 0, 0}));
  const Values dense = {
      {"p", p}, {"t", Tensor::of_f32({5, 3}, {0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1})}};
  EXPECT_EQ(floats(run(dense, "h = top_k_accuracy(p, t)")["h"]), (Floats{1, 0, 1, 0, 1}));
}

TEST(Reference, Weigh) {
  const Values inputs = {{"w", Tensor::of_f32({2}, {0.5f, 3})}, {"v", Tensor::of_f32({2}, {4, 2})}};
  Values got = run(inputs, "a = weigh(w, v) b = weigh(w)");
  EXPECT_EQ(floats(got["a"]), (Floats{2, 6}));
  EXPECT_EQ(floats(got["b"]), (Floats{0.5f, 3}));
}

TEST(Reference, DropoutDependsOnSeedKeyAndSampleOnly) {
  const Values inputs = {{"x", Tensor({4, 10}, Floats(40, 1))}};
  StepArgs step = whole_batch(4);
  step.first_sample = (int64_t{1} << 32) + 2;
  const std::string node = "y = dropout(x) {rate=0.25, key=7}";
  const Floats whole = floats(run(inputs, node, {.step = step})["y"]);
  for (size_t i = 0; i < 40; ++i) {
    const auto sample = static_cast<uint32_t>(2 + i / 10);
    const auto element = static_cast<uint32_t>(i % 10);
    const uint32_t word = philox({element / 4, sample, 1, 0}, mix_keys(step.seed, 7))[element % 4];
    EXPECT_FLOAT_EQ(whole[i], to_unit_float(word) >= 0.25f ? 1 / 0.75f : 0) << i;
  }
  // The third sample alone, as the first of another slice, gets the same mask.
  step.first_sample += 2;
  const Values third = {{"x", Tensor({1, 10}, Floats(10, 1))}};
  EXPECT_EQ(floats(run(third, node, {.step = step})["y"]),
            Floats(whole.begin() + 20, whole.begin() + 30));
}

TEST(Reference, LossSeedIsZeroForPadding) {
  const StepArgs step{.valid = 2, .batch_valid = 2, .loss_scale = 0.125f};
  EXPECT_EQ(floats(run({}, "s = loss_seed() {batch=3}", {.step = step})["s"]),
            (Floats{0.125f, 0.125f, 0}));
}

TEST(Reference, CastBetweenAllTypes) {
  const std::vector<std::string> types = {"f32", "f16", "bf16", "u8", "i32"};
  const Tensor x = Tensor::of_f32({4}, {0, 1, 3.75f, 200});
  for (const std::string& from : types) {
    for (const std::string& to : types) {
      const Tensor source = cast(x, parse_dtype(from));
      const Tensor expected = cast(source, parse_dtype(to));
      const Tensor got = run({{"x", source}}, "y = cast(x) {dtype=\"" + to + "\"}")["y"];
      EXPECT_EQ(difference(cast(got, DType::f32), cast(expected, DType::f32)).absolute, 0)
          << from << " to " << to;
    }
  }
}

TEST(Reference, MovementByHand) {
  const Tensor x = Tensor::of_f32({1, 2, 2}, {1, 2, 3, 4});
  const auto result = [&](const std::string& node) { return floats(run({{"x", x}}, node)["y"]); };
  EXPECT_EQ(result("y = pad(x) {low=[0,0,1], high=[0,1,0]}"), (Floats{0, 1, 2, 0, 3, 4, 0, 0, 0}));
  EXPECT_EQ(result("y = slice(x) {begin=[0,0,1], size=[1,2,1]}"), (Floats{2, 4}));
  EXPECT_EQ(result("y = slice_grad(x) {begin=[0,0,1], strides=[1,2,1], shape=[1,3,3]}"),
            (Floats{0, 1, 2, 0, 0, 0, 0, 3, 4}));
  EXPECT_EQ(result("y = concat(x, x) {axis=2}"), (Floats{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(result("y = concat(x, x) {axis=1}"), (Floats{1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(result("y = reshape(x) {shape=[4]}"), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(result("y = checkpoint(x)"), (Floats{1, 2, 3, 4}));
}

TEST(Catalog, RefusesUnknownOps) { EXPECT_THROW(candidates("conv9"), InvalidArgument); }

// A NaN must reach the loss, so no activation may hide it.
TEST(ReferenceKernels, ActivationsKeepNaN) {
  const Values inputs = {{"x", Tensor::of_f32({1, 2}, {kNaN, -1})},
                         {"z", Tensor::of_f32({1, 2}, {0, 0})},
                         {"c", Tensor::of_f32({2}, {0, 0})},
                         {"o", Tensor::of_f32({2}, {1, 1})}};
  for (const char* candidate : {"reference", "fast"}) {
    const Values values =
        run(inputs,
            "a = relu(x) b = add(x, z) {activation=\"relu\"} "
            "d = batch_norm(x, c, o, o, c) {activation=\"relu\"} l = leaky_relu(x)",
            {.use = test::prefer(candidate)});
    for (const char* name : {"a", "b", "d", "l"}) {
      EXPECT_TRUE(std::isnan(values.at(name).f32()[0])) << candidate << " " << name;
    }
    EXPECT_EQ(values.at("a").f32()[1], 0.0f);
  }
}

}  // namespace
}  // namespace pando::kernels
