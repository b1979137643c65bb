// SPDX-License-Identifier: MIT
#include "pando/ir/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "pando/base/error.h"

namespace pando::ir {

std::string to_string(const TensorType& type) {
  return concat(to_string(type.dtype), to_string(type.shape));
}

std::string_view to_string(InputRole role) {
  switch (role) {
    case InputRole::none: return "none";
    case InputRole::feed: return "feed";
    case InputRole::variable: return "variable";
    case InputRole::state: return "state";
  }
  return "?";
}

std::string_view to_string(OutputRole role) {
  switch (role) {
    case OutputRole::result: return "result";
    case OutputRole::loss: return "loss";
    case OutputRole::metric: return "metric";
    case OutputRole::gradient: return "gradient";
    case OutputRole::statistic: return "statistic";
  }
  return "?";
}

const TensorType& Value::type() const {
  PANDO_CHECK(type_.has_value(), "value '", name_, "' has no type yet; run infer-shapes first");
  return *type_;
}

size_t Value::bytes() const {
  const int64_t elements = layout_.plain() ? type().shape.elements() : layout_.elements;
  return static_cast<size_t>(elements) * size_of(type().dtype);
}

std::string Node::label() const { return concat(op_, " '", name_, "'"); }

Value* Graph::find_value(std::string_view name) const {
  for (const auto& value : values_) {
    if (value->name_ == name) return value.get();
  }
  return nullptr;
}

Value* Graph::make_value(std::string wanted_name) {
  std::string name = std::move(wanted_name);
  if (name.empty()) name = concat("v", next_value_++);
  const std::string stem = name;
  for (int suffix = 1; find_value(name) != nullptr; ++suffix) name = concat(stem, ".", suffix);
  values_.push_back(std::make_unique<Value>());
  values_.back()->name_ = std::move(name);
  return values_.back().get();
}

Value* Graph::add_input(std::string name, InputRole role, std::optional<TensorType> type) {
  if (find_value(name) != nullptr)
    throw InvalidArgument("graph input '", name, "' is defined twice");
  Value* value = make_value(std::move(name));
  value->role_ = role;
  value->type_ = std::move(type);
  inputs_.push_back(value);
  return value;
}

std::unique_ptr<Node> Graph::make_node(NodeSpec spec) {
  auto node = std::make_unique<Node>();
  node->op_ = std::move(spec.op);
  node->name_ = spec.name.empty() ? node->op_ : std::move(spec.name);
  node->inputs_ = std::move(spec.inputs);
  node->attributes_ = std::move(spec.attributes);
  for (int i = 0; i < spec.outputs; ++i) {
    const auto at = static_cast<size_t>(i);
    Value* value = make_value(at < spec.output_names.size() ? spec.output_names[at] : "");
    value->producer_ = node.get();
    value->output_index_ = i;
    node->outputs_.push_back(value);
  }
  return node;
}

Node* Graph::append(NodeSpec spec) {
  nodes_.push_back(make_node(std::move(spec)));
  nodes_.back()->set_stage(current_stage_);
  return nodes_.back().get();
}

Node* Graph::insert_before(const Node* position, NodeSpec spec) {
  const auto at = std::find_if(nodes_.begin(), nodes_.end(),
                               [&](const auto& node) { return node.get() == position; });
  PANDO_CHECK(at != nodes_.end(), "insert_before: the node is not in this graph");
  Node* node = nodes_.insert(at, make_node(std::move(spec)))->get();
  node->set_stage(position->stage());
  return node;
}

void Graph::add_output(OutputRole role, std::string name, Value* value) {
  PANDO_CHECK(value != nullptr, "output '", name, "' has no value");
  outputs_.push_back({role, std::move(name), value});
}

void Graph::redirect_output(const Output& output, Value* value) {
  for (Output& own : outputs_) {
    if (own.role == output.role && own.name == output.name) own.value = value;
  }
}

const Output* Graph::find_output(OutputRole role, std::string_view name) const {
  for (const Output& output : outputs_) {
    if (output.role == role && output.name == name) return &output;
  }
  return nullptr;
}

std::vector<Node*> Graph::users(const Value* value) const {
  std::vector<Node*> found;
  for (const auto& node : nodes_) {
    const auto& inputs = node->inputs_;
    if (std::find(inputs.begin(), inputs.end(), value) != inputs.end()) found.push_back(node.get());
  }
  return found;
}

bool Graph::is_output(const Value* value) const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [&](const Output& output) { return output.value == value; });
}

void Graph::replace_uses(const Value* from, Value* to) {
  for (const auto& node : nodes_) {
    std::replace(node->inputs_.begin(), node->inputs_.end(), const_cast<Value*>(from), to);
  }
  for (Output& output : outputs_) {
    if (output.value == from) output.value = to;
  }
}

void Graph::reorder(const std::vector<Node*>& order) {
  std::unordered_map<const Node*, size_t> places;
  for (size_t i = 0; i < order.size(); ++i) places[order[i]] = i;
  PANDO_CHECK(places.size() == nodes_.size(), "reorder: ", order.size(), " nodes given, ",
              nodes_.size(), " are in the graph");
  std::sort(nodes_.begin(), nodes_.end(),
            [&](const auto& a, const auto& b) { return places.at(a.get()) < places.at(b.get()); });
}

void Graph::erase_input(const Value* input) {
  PANDO_CHECK(input->is_input() && !is_output(input) && users(input).empty(), "erase_input: '",
              input->name(), "' is not an input, or is used");
  std::erase(inputs_, input);
  std::erase_if(values_, [&](const auto& value) { return value.get() == input; });
}

void Graph::erase(const Node* node) {
  for (const Value* value : node->outputs_) {
    PANDO_CHECK(!is_output(value) && users(value).empty(), "erase: ", node->label(), " is used");
  }
  std::unordered_set<const Value*> gone(node->outputs_.begin(), node->outputs_.end());
  std::erase_if(nodes_, [&](const auto& candidate) { return candidate.get() == node; });
  std::erase_if(values_, [&](const auto& value) { return gone.contains(value.get()); });
}

int Graph::erase_dead_nodes() {
  std::unordered_set<const Value*> live;
  for (const Output& output : outputs_) live.insert(output.value);
  std::vector<const Node*> dead;
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    const auto& results = (*node)->outputs_;
    const bool used = std::any_of(results.begin(), results.end(),
                                  [&](const Value* value) { return live.contains(value); });
    if (used) {
      live.insert((*node)->inputs_.begin(), (*node)->inputs_.end());
    } else {
      dead.push_back(node->get());
    }
  }
  for (const Node* node : dead) erase(node);  // users come before producers in `dead`
  return static_cast<int>(dead.size());
}

}  // namespace pando::ir
