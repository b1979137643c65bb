// SPDX-License-Identifier: MIT
#include "tests/support/gradient_check.h"

#include <algorithm>
#include <cmath>

#include "pando/base/random.h"
#include "pando/grad/gradients.h"

namespace pando::test {

namespace {

constexpr int64_t kElements = 40;  // elements of each variable that are checked one by one
constexpr int kDirections = 3;     // in which all elements of a variable change together

// A random permutation of evenly spaced numbers, shifted so that zero is between two of them.
Tensor separated_tensor(const Shape& shape, uint64_t key, float low, float high) {
  Tensor tensor(DType::f32, shape);
  const auto order = random_permutation(tensor.elements(), key);
  const double step = (static_cast<double>(high) - static_cast<double>(low)) /
                      static_cast<double>(tensor.elements());
  const bool around_zero = low < 0 && high > 0;
  const double base =
      around_zero ? std::floor(static_cast<double>(low) / step) * step : static_cast<double>(low);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const auto at = static_cast<double>(order[static_cast<size_t>(i)]);
    tensor.f32()[static_cast<size_t>(i)] = static_cast<float>(base + (at + 0.5) * step);
  }
  return tensor;
}

class Checker {
 public:
  explicit Checker(const GradientCase& gradient_case)
      : case_(gradient_case), forward_(typed_graph(gradient_case.graph)) {
    uint64_t key = 7;
    for (const ir::Value* input : forward_.inputs()) {
      const auto given = case_.values.find(input->name());
      values_[input->name()] = given != case_.values.end()
                                   ? given->second
                                   : separated_tensor(input->shape(), ++key, case_.low, case_.high);
    }
    const ir::Value* result = forward_.outputs().front().value;
    weights_ = random_tensor(result->shape(), 99, 0.5f, 1.5f);
    for (size_t i = 0; i < weights_.f32().size(); i += 3) weights_.f32()[i] *= -1;
    options_.step = whole_batch(result->shape()[0]);
    if (case_.valid >= 0) {
      options_.step->valid = options_.step->batch_valid = case_.valid;
      const int64_t size = result->shape().elements_from(1);
      const auto span = weights_.f32();
      std::fill(span.begin() + case_.valid * size, span.end(), 0.0f);
    }
  }

  std::vector<std::string> run() {
    const ir::Graph graph = gradient_graph(case_);
    Values inputs = values_;
    inputs["result/grad"] = weights_;
    const Values computed = run_graph(graph, inputs, options_);
    std::vector<std::string> wrong;
    for (const ir::Value* input : forward_.inputs()) {
      if (input->role() != ir::InputRole::variable) continue;
      if (graph.find_output(ir::OutputRole::gradient, input->name()) == nullptr) {
        wrong.push_back(concat(input->name(), " has no gradient"));
        continue;
      }
      check(input->name(), output_of(graph, computed, ir::OutputRole::gradient, input->name()),
            wrong);
    }
    return wrong;
  }

 private:
  void check(const std::string& name, const Tensor& gradient, std::vector<std::string>& wrong) {
    double largest = 0;
    for (const float value : gradient.f32()) {
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    const auto order = random_permutation(gradient.elements(), hash_name(name));
    const auto elements = std::min<int64_t>(gradient.elements(), kElements);
    Tensor direction(DType::f32, gradient.shape());
    for (int64_t i = 0; i < elements; ++i) {
      const auto at = static_cast<size_t>(order[static_cast<size_t>(i)]);
      direction.f32()[at] = 1;
      compare(concat(name, "[", at, "]"), name, direction, gradient, largest, wrong);
      direction.f32()[at] = 0;
    }
    RandomStream stream(hash_name(name));
    for (int d = 0; d < kDirections; ++d) {
      for (float& value : direction.f32()) value = stream.next_uniform() < 0.5f ? -1 : 1;
      const double reach = largest * std::sqrt(static_cast<double>(gradient.elements()));
      compare(concat(name, " in direction ", d), name, direction, gradient, reach, wrong);
    }
  }

  // Compares the central difference along a direction with the projection of the gradient. `size`
  // is how large such a derivative may be; rounding errors grow with it.
  void compare(const std::string& what, const std::string& name, const Tensor& direction,
               const Tensor& gradient, double size, std::vector<std::string>& wrong) {
    const double epsilon = step_size(gradient.elements());
    const double numeric =
        (loss(name, direction, epsilon) - loss(name, direction, -epsilon)) / (2 * epsilon);
    double built = 0;
    for (size_t i = 0; i < gradient.f32().size(); ++i) {
      built += static_cast<double>(gradient.f32()[i]) * static_cast<double>(direction.f32()[i]);
    }
    const double allowed = case_.tolerance * (0.1 * size + std::abs(numeric)) + 1e-4;
    if (!(std::abs(numeric - built) <= allowed)) {
      wrong.push_back(concat("gradient of ", what, ": built ", built, ", numeric ", numeric));
    }
  }

  // Well below the distance between two elements, so that no change crosses a kink.
  double step_size(int64_t elements) const {
    const double range = static_cast<double>(case_.high) - static_cast<double>(case_.low);
    return std::min(1e-2, 0.2 * range / static_cast<double>(elements));
  }

  double loss(const std::string& name, const Tensor& direction, double epsilon) {
    Values inputs = values_;
    const auto moved = inputs[name].f32();
    for (size_t i = 0; i < moved.size(); ++i) {
      moved[i] += static_cast<float>(epsilon) * direction.f32()[i];
    }
    const Values computed = run_graph(forward_, inputs, options_);
    const Tensor& result = computed.at(forward_.outputs().front().value->name());
    double sum = 0;
    for (size_t i = 0; i < weights_.f32().size(); ++i) {
      sum += static_cast<double>(result.f32()[i]) * static_cast<double>(weights_.f32()[i]);
    }
    return sum;
  }

  const GradientCase& case_;
  ir::Graph forward_;
  Values values_;
  Tensor weights_;
  RunOptions options_;
};

}  // namespace

ir::Graph gradient_graph(const GradientCase& gradient_case) {
  ir::Graph graph = typed_graph(gradient_case.graph);
  ir::Value* result = graph.outputs().front().value;
  ir::Value* seed = graph.add_input("result/grad", ir::InputRole::feed, result->type());
  grad::add_gradient_outputs(graph, grad::append_gradients(graph, result, seed));
  return graph;
}

std::vector<std::string> check_gradients(const GradientCase& gradient_case) {
  return Checker(gradient_case).run();
}

}  // namespace pando::test
