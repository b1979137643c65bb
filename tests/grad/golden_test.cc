// Small networks against PyTorch: outputs, losses, gradients and batch statistics of the golden
// files, computed by the reference kernels and by the ones that the catalog prefers.
// SPDX-License-Identifier: MIT
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/grad/gradients.h"
#include "tests/support/run_graph.h"

namespace pando::grad {
namespace {

using nlohmann::json;
using test::Values;

json read_golden(const std::string& name) {
  std::ifstream file(concat(PANDO_SOURCE_DIR, "/tests/golden/", name, ".json"));
  return json::parse(file);
}

Tensor to_tensor(const json& value) {
  const Shape shape(value["shape"].get<std::vector<int64_t>>());
  if (value["dtype"] == "f32") return {shape, value["data"].get<std::vector<float>>()};
  Tensor tensor(DType::i32, shape);
  const auto data = value["data"].get<std::vector<int32_t>>();
  std::copy(data.begin(), data.end(), tensor.i32().begin());
  return tensor;
}

// `expected` may have been computed from float32 inputs in double precision.
void expect_near(const Tensor& got, const json& expected, const std::string& what) {
  const Tensor wanted = to_tensor(expected);
  ASSERT_EQ(got.shape(), wanted.shape()) << what;
  double largest = 0;
  for (const float value : wanted.f32()) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  EXPECT_LE(difference(got, wanted).absolute, 2e-6 + 2e-5 * largest) << what;
}

struct Golden {
  ir::Graph graph;
  json file;
  Values values;
};

// Runs the first step. The graph's inputs are x, labels and the weights; its outputs are the
// result `output` and the loss `loss`; x is differentiated too.
Golden run_golden(const std::string& name, const std::string& text,
                  const test::RunOptions& options) {
  Golden golden{test::typed_graph(text), read_golden(name), {}};
  ir::Graph& graph = golden.graph;
  ir::Value* loss = graph.find_output(ir::OutputRole::loss, "loss")->value;
  const int64_t batch = loss->shape()[0];
  ir::Node* seed = graph.append({.op = "loss_seed", .attributes = {{"batch", batch}}});
  seed->output()->set_type(loss->type());
  std::vector<const ir::Value*> variables = {graph.find_value("x")};
  Values inputs = {{"x", to_tensor(golden.file["inputs"]["x"])},
                   {"labels", to_tensor(golden.file["inputs"]["labels"])}};
  for (const auto& [weight, value] : golden.file["weights"].items()) {
    variables.push_back(graph.find_value(weight));
    inputs[weight] = to_tensor(value);
  }
  add_gradient_outputs(graph,
                       append_gradients(graph, loss, seed->output(), {.variables = variables}));
  golden.values = test::run_graph(graph, inputs, options);
  return golden;
}

void expect_first_step(const Golden& golden) {
  const json& step = golden.file["steps"][0];
  const auto at = [&](ir::OutputRole role, const std::string& name) -> const Tensor& {
    return test::output_of(golden.graph, golden.values, role, name);
  };
  expect_near(at(ir::OutputRole::result, "output"), step["output"], "output");
  const Tensor& losses = at(ir::OutputRole::loss, "loss");
  double sum = 0;
  for (const float value : losses.f32()) sum += static_cast<double>(value);
  EXPECT_NEAR(sum / static_cast<double>(losses.elements()), step["loss"].get<double>(), 2e-6);
  EXPECT_EQ(step["gradients"].size(), golden.file["weights"].size() + 1);
  for (const auto& [name, gradient] : step["gradients"].items()) {
    expect_near(at(ir::OutputRole::gradient, name), gradient, "gradient of " + name);
  }
}

// The parameter says whether every node is computed by the first kernel that its candidates offer.
class GoldenStep : public testing::TestWithParam<bool> {
 protected:
  Golden run(const std::string& name, const std::string& text) const {
    test::RunOptions options;
    if (GetParam()) {
      options.use = [](const ir::Node&, const kernels::Candidate&) { return true; };
      options.parts = 3;
    }
    return run_golden(name, text, options);
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, GoldenStep, testing::Bool(),
                         [](const auto& row) { return row.param ? "Preferred" : "Reference"; });

TEST_P(GoldenStep, ConvBatchNormDense) {
  const Golden golden =
      run("conv_bn_dense",
          "graph(x: f32[3,9,8,3] feed, labels: i32[3] feed, conv/kernel: f32[3,3,3,4] variable,"
          "      conv/bias: f32[4] variable, bn/gamma: f32[4] variable, bn/beta: f32[4] variable,"
          "      dense/kernel: f32[16,5] variable, dense/bias: f32[5] variable) {"
          "  c = conv(x, conv/kernel, conv/bias) {padding=\"same\", strides=[2,2]}"
          "  s = batch_moments(c) m, v, u = combine_moments(s)"
          "  n = batch_norm(c, m, v, bn/gamma, bn/beta) {batch_statistics=1}"
          "  r = relu(n)"
          "  p, i = max_pool(r) {window=[2,2]}"
          "  f = reshape(p) {shape=[16]}"
          "  d = dense(f, dense/kernel, dense/bias)"
          "  output = softmax(d)"
          "  loss = cross_entropy(output, labels)"
          "  return result output=output, loss loss=loss }");
  expect_first_step(golden);
  // moving = 0.9 moving + 0.1 batch, from mean 0 and variance 1.
  const json& moving = golden.file["steps"][0]["moving_after"];
  Tensor mean = golden.values.at("m");
  Tensor variance = golden.values.at("u");
  for (float& value : mean.f32()) value *= 0.1f;
  for (float& value : variance.f32()) value = 0.9f + 0.1f * value;
  expect_near(mean, moving["bn/moving_mean"], "moving mean");
  expect_near(variance, moving["bn/moving_variance"], "moving variance");
}

TEST_P(GoldenStep, ResidualGroupNorm) {
  expect_first_step(
      run("residual_group_norm",
          "graph(x: f32[2,6,7,4] feed, labels: f32[2,3] feed, conv1/kernel: f32[3,3,4,6] variable,"
          "      gn1/gamma: f32[6] variable, gn1/beta: f32[6] variable,"
          "      conv2/kernel: f32[3,3,6,6] variable, conv2/bias: f32[6] variable,"
          "      gn2/gamma: f32[6] variable, gn2/beta: f32[6] variable,"
          "      dense/kernel: f32[6,3] variable, dense/bias: f32[3] variable) {"
          "  c1 = conv(x, conv1/kernel) {padding=\"same\"}"
          "  n1, m1, i1 = group_norm(c1, gn1/gamma, gn1/beta) {groups=2}"
          "  s = leaky_relu(n1)"
          "  c2 = conv(s, conv2/kernel, conv2/bias) {padding=\"same\"}"
          "  n2, m2, i2 = group_norm(c2, gn2/gamma, gn2/beta) {groups=3}"
          "  a = add(n2, s)"
          "  r = leaky_relu(a)"
          "  p = avg_pool(r) {window=[2,2], padding=\"same\"}"
          "  g = global_avg_pool(p)"
          "  output = dense(g, dense/kernel, dense/bias)"
          "  loss = mean_squared_error(output, labels)"
          "  return result output=output, loss loss=loss }"));
}

TEST_P(GoldenStep, Conv3dTanh) {
  expect_first_step(run("conv3d_tanh",
                        "graph(x: f32[2,5,4,6,2] feed, labels: f32[2,2] feed,"
                        "      conv/kernel: f32[2,2,2,2,3] variable, conv/bias: f32[3] variable,"
                        "      dense/kernel: f32[36,2] variable, dense/bias: f32[2] variable) {"
                        "  c = conv(x, conv/kernel, conv/bias) {padding=\"same\"}"
                        "  t = tanh(c)"
                        "  p, i = max_pool(t) {window=[2,2,2]}"
                        "  f = reshape(p) {shape=[36]}"
                        "  d = dense(f, dense/kernel, dense/bias)"
                        "  h = tanh(d)"
                        "  output = scale(h) {factor=1.2}"
                        "  loss = mean_squared_error(output, labels)"
                        "  return result output=output, loss loss=loss }"));
}

}  // namespace
}  // namespace pando::grad
