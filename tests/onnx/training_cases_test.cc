// ONNX's published cases of training: one update by momentum, Adam and Adagrad.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "pando/onnx/constant.h"
#include "pando/optim/optimizer.h"
#include "tests/onnx/conformance.h"
#include "tests/support/external.h"

namespace pando::onnx {
namespace {

constexpr const char* kData = "/usr/share/libonnx-testdata/data";
constexpr double kLargestError = 1e-5;

using Floats = std::vector<float>;

// What a case of an optimizer has: R, T, then for each tensor its weights, gradient and slots.
struct UpdateCase {
  ConformanceCase test;
  double rate = 0;
  int64_t iteration = 0;
  size_t tensors = 0;
  size_t slots = 0;

  const NodeProto& node() const { return test.model.graph.nodes[0]; }
  Floats input(size_t kind, size_t tensor) const {
    return test.inputs.at(2 + kind * tensors + tensor).floats();
  }
  Floats output(size_t kind, size_t tensor) const {
    return test.outputs.at(kind * tensors + tensor).floats();
  }
};

UpdateCase update_case(const std::string& name, size_t slots) {
  UpdateCase found{.test = read_case(kData, "node", name), .slots = slots};
  found.rate = found.test.inputs.at(0).floats().at(0);
  found.iteration = found.test.inputs.at(1).ints().at(0);
  found.tensors = (found.test.inputs.size() - 2) / (2 + slots);
  return found;
}

void expect_near(const Floats& found, const Floats& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], kLargestError * std::max(1.0f, std::abs(expected[i])));
  }
}

// Applies a rule; `slot_factor` converts the slots of ONNX into those of the rule.
void expect_update(const UpdateCase& one, const Optimizer& optimizer, double rate,
                   double slot_factor = 1) {
  const double l2 = real_attribute(one.node(), "norm_coefficient", 0);
  for (size_t tensor = 0; tensor < one.tensors; ++tensor) {
    Floats weights = one.input(0, tensor), gradient = one.input(1, tensor);
    for (size_t i = 0; i < weights.size(); ++i) {
      gradient[i] += static_cast<float>(l2) * weights[i];
    }
    std::vector<Floats> slots;
    UpdateSpan span{
        .weights = weights.data(), .gradient = gradient.data(), .count = weights.size()};
    for (size_t k = 0; k < one.slots; ++k) {
      slots.push_back(one.input(2 + k, tensor));
      for (float& value : slots.back()) value *= static_cast<float>(slot_factor);
    }
    for (Floats& slot : slots) span.slots.push_back(slot.data());
    optimizer.rule->apply(span, {.learning_rate = rate, .iteration = 0});
    expect_near(weights, one.output(0, tensor));
    for (size_t k = 0; k < one.slots; ++k) {
      for (float& value : slots[k]) value /= static_cast<float>(slot_factor);
      expect_near(slots[k], one.output(1 + k, tensor));
    }
  }
}

bool has_data() { return !conformance_cases(kData, "node").empty(); }

TEST(OnnxTraining, Adagrad) {
  if (!has_data()) SKIP_WITHOUT("libonnx-testdata");
  for (const char* name : {"test_adagrad", "test_adagrad_multiple"}) {
    const UpdateCase one = update_case(name, 1);
    const double decay = real_attribute(one.node(), "decay_factor", 0);
    const double rate = one.rate / (1 + static_cast<double>(one.iteration) * decay);
    expect_update(one, Adagrad({.epsilon = real_attribute(one.node(), "epsilon", 0)}), rate);
  }
}

// Our slot of momentum has the learning rate in it, with the sign of the change.
TEST(OnnxTraining, Momentum) {
  if (!has_data()) SKIP_WITHOUT("libonnx-testdata");
  for (const char* name : {"test_momentum", "test_momentum_multiple", "test_nesterov_momentum"}) {
    const UpdateCase one = update_case(name, 1);
    const bool nesterov = text_attribute(one.node(), "mode", "standard") == "nesterov";
    EXPECT_TRUE(one.iteration == 0 || real_attribute(one.node(), "beta", 1) == 1);
    expect_update(one,
                  SGD({.momentum = real_attribute(one.node(), "alpha", 0), .nesterov = nesterov}),
                  one.rate, -one.rate);
  }
}

// Before the first update ONNX corrects no bias; our rule does, so the rate takes it back. The
// second case lacks its epsilon: the published numbers were computed with 0.01.
TEST(OnnxTraining, Adam) {
  if (!has_data()) SKIP_WITHOUT("libonnx-testdata");
  for (const char* name : {"test_adam", "test_adam_multiple"}) {
    const UpdateCase one = update_case(name, 2);
    const double alpha = real_attribute(one.node(), "alpha", 0.9);
    const double beta = real_attribute(one.node(), "beta", 0.999);
    const double epsilon = real_attribute(one.node(), "epsilon", 0.01);
    ASSERT_EQ(one.iteration, 0);
    EXPECT_EQ(real_attribute(one.node(), "norm_coefficient_post", 0), 0);
    expect_update(one, Adam({.beta_1 = alpha, .beta_2 = beta, .epsilon = epsilon}),
                  one.rate * (1 - alpha) / std::sqrt(1 - beta));
  }
}

}  // namespace
}  // namespace pando::onnx
