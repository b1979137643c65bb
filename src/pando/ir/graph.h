// The intermediate representation: a small typed graph in static single assignment form. Nodes are
// in an order in which they can run. It knows the names of ops but not what they mean.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/ir/attributes.h"
#include "pando/tensor/dtype.h"
#include "pando/tensor/shape.h"

namespace pando::ir {

class Graph;
class Node;

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};

std::string to_string(const TensorType& type);  // "f32[8,28,28,1]"

// How the elements of a value lie in memory. The plain layout (empty name) is row-major of the
// shape; any other layout is private to the kernels that write and read it and has its own number
// of elements.
struct Layout {
  std::string name;
  int64_t elements = 0;
  bool plain() const { return name.empty(); }
  bool operator==(const Layout&) const = default;
};

// The role of a graph input: data that changes with every step, a trained variable, or state that
// is kept but not trained (the moving statistics of batch normalisation).
enum class InputRole { none, feed, variable, state };

// The role of a graph output. `result` is a prediction, `loss` and `metric` hold one number per
// sample, `gradient` and `statistic` belong to the variable or state with the output's name; a
// statistic holds the moments (of op batch_moments) that the state follows.
enum class OutputRole { result, loss, metric, gradient, statistic };

std::string_view to_string(InputRole role);
std::string_view to_string(OutputRole role);

// One tensor of a graph: an input, or an output of a node. Owned by its graph.
class Value {
 public:
  const std::string& name() const { return name_; }
  bool typed() const { return type_.has_value(); }
  const TensorType& type() const;  // Requires: typed()
  const Shape& shape() const { return type().shape; }
  void set_type(TensorType type) { type_ = std::move(type); }

  const Layout& layout() const { return layout_; }
  void set_layout(Layout layout) { layout_ = std::move(layout); }
  // Bytes in memory under its layout. Requires: typed()
  size_t bytes() const;

  Node* producer() const { return producer_; }  // null for a graph input
  int output_index() const { return output_index_; }
  InputRole role() const { return role_; }
  bool is_input() const { return producer_ == nullptr; }

 private:
  friend class Graph;
  std::string name_;
  std::optional<TensorType> type_;
  Layout layout_;
  Node* producer_ = nullptr;
  int output_index_ = 0;
  InputRole role_ = InputRole::none;
};

// One op applied to values. `name` is the name that users know (that of a layer), for messages.
class Node {
 public:
  const std::string& op() const { return op_; }
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // The pipeline stage it belongs to, forward or backward; 0 without a pipeline.
  int stage() const { return stage_; }
  void set_stage(int stage) { stage_ = stage; }
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  Value* input(int index) const { return inputs_[static_cast<size_t>(index)]; }
  Value* output(int index = 0) const { return outputs_[static_cast<size_t>(index)]; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  void set_input(int index, Value* value) { inputs_[static_cast<size_t>(index)] = value; }
  void add_input(Value* value) { inputs_.push_back(value); }
  Attributes& attributes() { return attributes_; }
  const Attributes& attributes() const { return attributes_; }
  // "conv 'conv2d_1'": the node as messages name it.
  std::string label() const;

 private:
  friend class Graph;
  std::string op_;
  std::string name_;
  int stage_ = 0;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  Attributes attributes_;
};

struct Output {
  OutputRole role = OutputRole::result;
  std::string name;
  Value* value = nullptr;
};

// Describes a node before it is added to a graph.
struct NodeSpec {
  std::string op;
  std::vector<Value*> inputs;
  int outputs = 1;
  Attributes attributes;
  std::string name;                       // for messages; empty: the op's name
  std::vector<std::string> output_names;  // requested value names; made unique, invented if absent
};

// Owns values and nodes. Pointers to them stay valid until they are erased. Not thread-safe.
class Graph {
 public:
  Graph() = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  Value* add_input(std::string name, InputRole role, std::optional<TensorType> type = {});
  // An appended node belongs to the current stage, an inserted one to the stage of `position`.
  Node* append(NodeSpec spec);
  Node* insert_before(const Node* position, NodeSpec spec);
  int current_stage() const { return current_stage_; }
  void set_current_stage(int stage) { current_stage_ = stage; }
  void add_output(OutputRole role, std::string name, Value* value);

  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  const std::vector<Output>& outputs() const { return outputs_; }

  Value* find_value(std::string_view name) const;  // null when absent
  const Output* find_output(OutputRole role, std::string_view name) const;
  std::vector<Node*> users(const Value* value) const;  // in graph order
  bool is_output(const Value* value) const;

  // Replaces every use of `from`, in nodes and outputs, by a use of `to`.
  void replace_uses(const Value* from, Value* to);
  // Gives the output with that role and name another value.
  void redirect_output(const Output& output, Value* value);
  // Puts the nodes into another order. Requires: the same nodes, each after the ones that it reads
  // from.
  void reorder(const std::vector<Node*>& order);
  // Requires: nothing uses the input.
  void erase_input(const Value* input);
  // Requires: no output of the node is used.
  void erase(const Node* node);
  // Repeatedly removes nodes whose outputs are all unused; returns how many.
  int erase_dead_nodes();

 private:
  std::unique_ptr<Node> make_node(NodeSpec spec);
  Value* make_value(std::string wanted_name);

  std::vector<std::unique_ptr<Value>> values_;
  std::vector<Value*> inputs_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Output> outputs_;
  int next_value_ = 0;
  int current_stage_ = 0;
};

}  // namespace pando::ir
