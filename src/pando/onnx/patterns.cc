// SPDX-License-Identifier: MIT
#include "pando/onnx/patterns.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "pando/onnx/constant.h"

namespace pando::onnx {
namespace {

// Looks from the end of a function towards its beginning.
class Finder {
 public:
  Finder(const GraphProto& graph, int64_t opset) : opset_(opset) {
    for (const TensorProto& tensor : graph.initializers) constants_.emplace(tensor.name, &tensor);
    for (const NodeProto& node : graph.nodes) {
      for (const std::string& output : node.outputs) producers_.emplace(output, &node);
      const AttributeProto* value = node.find("value");
      if (node.op_type == "Constant" && value != nullptr && !node.outputs.empty()) {
        constants_.emplace(node.outputs[0], &value->t);
      }
    }
  }

  // The node that makes a value, if it is of this op and has as many operands.
  const NodeProto* made_by(const std::string& value, const std::string& op, size_t operands) const {
    const auto found = producers_.find(value);
    if (found == producers_.end()) return nullptr;
    const NodeProto& node = *found->second;
    const bool fits = node.op_type == op && node.domain.empty() && node.inputs.size() >= operands;
    return fits ? &node : nullptr;
  }
  // The only number of a constant.
  std::optional<double> number(const std::string& value) const {
    const auto found = constants_.find(value);
    if (found == constants_.end() || found->second->elements() != 1 ||
        !is_floating(found->second->type)) {
      return std::nullopt;
    }
    return found->second->floats()[0];
  }
  bool is_number(const std::string& value, double expected) const {
    const auto own = number(value);
    return own && std::abs(*own - expected) <= 1e-5 * std::abs(expected);
  }
  bool is_constant(const std::string& value) const { return constants_.contains(value); }
  int64_t opset() const { return opset_; }

  // Whether a node is op(x, number) or, for Add and Mul, op(number, x); then x.
  std::optional<std::string> with_number(const NodeProto* node, double expected) const {
    if (node == nullptr || node->inputs.size() != 2) return std::nullopt;
    if (is_number(node->inputs[1], expected)) return node->inputs[0];
    const bool commutes = node->op_type == "Add" || node->op_type == "Mul";
    if (commutes && is_number(node->inputs[0], expected)) return node->inputs[1];
    return std::nullopt;
  }

 private:
  int64_t opset_;
  std::map<std::string, const NodeProto*> producers_;
  std::map<std::string, const TensorProto*> constants_;
};

using Replacement = std::optional<NodeProto>;

NodeProto function_node(const NodeProto& last, const std::string& op,
                        std::vector<std::string> inputs) {
  NodeProto node{.op_type = op, .name = last.name};
  node.inputs = std::move(inputs);
  node.outputs = last.outputs;
  return node;
}

bool is_clip_to_six(const Finder& finder, const NodeProto& clip) {
  if (finder.opset() < 11) {
    return real_attribute(clip, "min", -1) == 0 && real_attribute(clip, "max", -1) == 6;
  }
  return clip.inputs.size() == 3 && finder.number(clip.inputs[1]) == 0.0 &&
         finder.number(clip.inputs[2]) == 6.0;
}

// Whether `gate` is clip(x + 3, 0, 6).
bool is_shifted_clip(const Finder& finder, const std::string& gate, const std::string& x) {
  const NodeProto* clip = finder.made_by(gate, "Clip", 1);
  if (clip == nullptr || !is_clip_to_six(finder, *clip)) return false;
  return finder.with_number(finder.made_by(clip->inputs[0], "Add", 2), 3) == x;
}

// Whether a value is x or, as in Swish with a factor, 1 times x.
bool is_times_one(const Finder& finder, const std::string& value, const std::string& x) {
  return value == x || finder.with_number(finder.made_by(value, "Mul", 2), 1) == x;
}

// x times a gate that is a function of x.
Replacement gated(const Finder& finder, const NodeProto& product) {
  for (const size_t first : {0, 1}) {
    const std::string &x = product.inputs[first], &gate = product.inputs[1 - first];
    const NodeProto* sigmoid = finder.made_by(gate, "Sigmoid", 1);
    if (sigmoid != nullptr && is_times_one(finder, sigmoid->inputs[0], x)) {
      return function_node(product, "Swish", {x});
    }
    const NodeProto* hard = finder.made_by(gate, "HardSigmoid", 1);
    if (hard != nullptr && hard->inputs[0] == x &&
        std::abs(real_attribute(*hard, "alpha", 0.2) - 1.0 / 6) < 1e-6 &&
        real_attribute(*hard, "beta", 0.5) == 0.5) {
      return function_node(product, "HardSwish", {x});
    }
    const NodeProto* sixth = finder.made_by(gate, "Div", 2);
    const auto clipped = finder.with_number(sixth, 6);
    if (clipped && is_shifted_clip(finder, *clipped, x)) {
      return function_node(product, "HardSwish", {x});
    }
  }
  return std::nullopt;
}

Replacement divided_hard_swish(const Finder& finder, const NodeProto& quotient) {
  const auto inside = finder.with_number(&quotient, 6);
  const NodeProto* product = inside ? finder.made_by(*inside, "Mul", 2) : nullptr;
  if (product == nullptr) return std::nullopt;
  for (const size_t first : {0, 1}) {
    const std::string& x = product->inputs[first];
    if (is_shifted_clip(finder, product->inputs[1 - first], x)) {
      return function_node(quotient, "HardSwish", {x});
    }
  }
  return std::nullopt;
}

// 1 + erf(x / sqrt 2): then x.
std::optional<std::string> bell_of(const Finder& finder, const std::string& value) {
  const auto erf_value = finder.with_number(finder.made_by(value, "Add", 2), 1);
  const NodeProto* erf = erf_value ? finder.made_by(*erf_value, "Erf", 1) : nullptr;
  if (erf == nullptr) return std::nullopt;
  const auto divided = finder.with_number(finder.made_by(erf->inputs[0], "Div", 2), std::sqrt(2.0));
  if (divided) return divided;
  return finder.with_number(finder.made_by(erf->inputs[0], "Mul", 2), std::sqrt(0.5));
}

// Three factors, x, the bell and one half, in any order.
Replacement gelu(const Finder& finder, const NodeProto& product) {
  std::vector<std::string> factors;
  for (const std::string& input : product.inputs) {
    const NodeProto* inner = finder.made_by(input, "Mul", 2);
    const bool opens = inner != nullptr && factors.size() < 2 && !bell_of(finder, input);
    if (opens) {
      factors.insert(factors.end(), inner->inputs.begin(), inner->inputs.end());
    } else {
      factors.push_back(input);
    }
  }
  if (factors.size() != 3) return std::nullopt;
  std::ranges::sort(factors);
  do {
    const auto x = bell_of(finder, factors[0]);
    if (x && *x == factors[1] && finder.is_number(factors[2], 0.5)) {
      return function_node(product, "Gelu", {factors[1]});
    }
  } while (std::ranges::next_permutation(factors).found);
  return std::nullopt;
}

bool reduces_last_axis(const Finder& finder, const NodeProto& mean) {
  if (finder.opset() >= 18 || int_attribute(mean, "keepdims", 1) == 0) return false;
  return ints_attribute(mean, "axes") == std::vector<int64_t>{-1};
}

// The normalised x and what was divided, if a node divides by the deviation over the last axis.
struct Normalised {
  std::string x;
  double epsilon = 0;
};

std::optional<Normalised> normalised(const Finder& finder, const NodeProto* quotient) {
  if (quotient == nullptr) return std::nullopt;
  const std::string& centred = quotient->inputs[0];
  const NodeProto* difference = finder.made_by(centred, "Sub", 2);
  const NodeProto* root = finder.made_by(quotient->inputs[1], "Sqrt", 1);
  const NodeProto* sum = root != nullptr ? finder.made_by(root->inputs[0], "Add", 2) : nullptr;
  if (difference == nullptr || sum == nullptr) return std::nullopt;
  const NodeProto* mean = finder.made_by(difference->inputs[1], "ReduceMean", 1);
  const NodeProto* variance = finder.made_by(sum->inputs[0], "ReduceMean", 1);
  const auto epsilon = finder.number(sum->inputs[1]);
  if (mean == nullptr || variance == nullptr || !epsilon || *epsilon <= 0) return std::nullopt;
  const NodeProto* power = finder.made_by(variance->inputs[0], "Pow", 2);
  const NodeProto* square = finder.made_by(variance->inputs[0], "Mul", 2);
  const bool squared =
      (power != nullptr && power->inputs[0] == centred && finder.is_number(power->inputs[1], 2)) ||
      (square != nullptr && square->inputs[0] == centred && square->inputs[1] == centred);
  const bool fits = squared && mean->inputs[0] == difference->inputs[0] &&
                    reduces_last_axis(finder, *mean) && reduces_last_axis(finder, *variance);
  if (!fits) return std::nullopt;
  return Normalised{difference->inputs[0], *epsilon};
}

Replacement layer_norm(const Finder& finder, const NodeProto& sum) {
  for (const size_t first : {0, 1}) {
    const NodeProto* product = finder.made_by(sum.inputs[first], "Mul", 2);
    if (product == nullptr || !finder.is_constant(sum.inputs[1 - first])) continue;
    for (const size_t factor : {0, 1}) {
      const auto inner = normalised(finder, finder.made_by(product->inputs[factor], "Div", 2));
      if (!inner || !finder.is_constant(product->inputs[1 - factor])) continue;
      NodeProto node =
          function_node(sum, "LayerNormalization",
                        {inner->x, product->inputs[1 - factor], sum.inputs[1 - first]});
      node.attributes.push_back({.name = "epsilon",
                                 .kind = AttributeProto::Kind::real,
                                 .f = static_cast<float>(inner->epsilon)});
      return node;
    }
  }
  return std::nullopt;
}

Replacement replacement_of(const Finder& finder, const NodeProto& node) {
  if (!node.domain.empty() || node.inputs.size() != 2 || node.outputs.size() != 1) {
    return std::nullopt;
  }
  if (node.op_type == "Mul") {
    Replacement found = gated(finder, node);
    return found ? found : gelu(finder, node);
  }
  if (node.op_type == "Div") return divided_hard_swish(finder, node);
  if (node.op_type == "Add") return layer_norm(finder, node);
  return std::nullopt;
}

void drop_unread(GraphProto& graph) {
  std::set<std::string> read;
  for (const ValueInfoProto& output : graph.outputs) read.insert(output.name);
  std::vector<NodeProto> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool is_read = std::ranges::any_of(
        node->outputs, [&](const std::string& output) { return read.contains(output); });
    if (!is_read) continue;
    read.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(std::move(*node));
  }
  std::ranges::reverse(kept);
  graph.nodes = std::move(kept);
}

}  // namespace

GraphProto with_named_functions(GraphProto graph, int64_t opset) {
  std::vector<NodeProto> nodes;
  {
    const Finder finder(graph, opset);
    for (const NodeProto& node : graph.nodes) {
      const Replacement function = replacement_of(finder, node);
      nodes.push_back(function ? *function : node);
    }
  }
  graph.nodes = std::move(nodes);
  drop_unread(graph);
  return graph;
}

}  // namespace pando::onnx
