// The state of an import. One function per op turns a node into layers; the functions stand in one
// source for each family of ops.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pando/nn/layers.h"
#include "pando/nn/network_builder.h"
#include "pando/onnx/constant.h"
#include "pando/onnx/import.h"

namespace pando::onnx {

using Order = std::vector<int64_t>;

using Computed = nn::ComputedTensor;

// A value of the file: known, or computed by the network. Axis i of a computed tensor is axis
// order[i] of the file; the batch is first in the tensor, and mostly in the file. So a Transpose
// costs nothing, and pictures are channels last although the file has channels first.
struct Value {
  std::optional<Constant> constant;
  std::optional<Computed> computed;
  Order order;
  // Set if this value is the flattened form of another, whose elements lie in another order than
  // those of the file: a dense layer may then change the order of its weights instead.
  std::shared_ptr<const Value> flattened;

  // The extents in the file, with a batch of 1; a computed value has the batch in any case.
  std::vector<int64_t> dims() const;
};

Order plain_order(size_t rank);
Order channels_last_order(size_t rank);

// A layer of one op whose last operands are weights.
struct OpLayer {
  std::string class_name;
  std::string op;
  ir::Attributes attributes = {};
  int inputs = 1;
  int outputs = 1;
  std::vector<nn::WeightSpec> weights = {};
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

class Importer {
 public:
  Importer(const ModelProto& model, const ImportOptions& options);
  ImportedNetwork run();
  std::vector<Constant> run_constants();

  int64_t opset() const { return opset_; }
  // Axes in front of those of the file: 1 if only the network has a batch.
  int64_t lead() const { return lead_; }
  // The axis of a computed value of `rank` axes that a node of the file means.
  int64_t axis(const NodeProto& node, int64_t axis, int64_t rank) const;
  // The extents of a value as the file has them.
  std::vector<int64_t> file_dims(const Value& value) const;

  // Operands of a node. `known` is null for an operand that is missing or computed.
  bool has(const NodeProto& node, size_t i) const;
  const Value& operand(const NodeProto& node, size_t i) const;
  // The first operand. Throws Unsupported if it is known.
  const Value& computed_operand(const NodeProto& node) const;
  const Constant* known(const NodeProto& node, size_t i) const;
  // Throws Unsupported unless the operand is known.
  const Constant& need(const NodeProto& node, size_t i, const char* what) const;

  // The computed tensor with its axes in this order; adds a transposition if they are not.
  Computed ordered(const Value& value, const Order& order);
  Computed plain(const Value& value) { return ordered(value, plain_order(value.order.size())); }
  Computed channels_last(const Value& value) {
    return ordered(value, channels_last_order(value.order.size()));
  }

  // Adds a layer. `stem` is a name for it, made unique; empty: that of the node.
  Computed apply(const NodeProto& node, OpLayer layer, const std::vector<Computed>& inputs,
                 NamedTensors weights = {}, const std::string& stem = {});
  using MakeLayer = std::function<Layer(std::string name)>;
  Computed apply(const NodeProto& node, const MakeLayer& make, const std::vector<Computed>& inputs,
                 NamedTensors weights = {}, const std::string& stem = {});
  Computed reshaped(const NodeProto& node, const Computed& x, const Shape& shape);
  // A layer without weights.
  Computed step(const NodeProto& node, const std::string& op, const ir::Attributes& attributes,
                const std::vector<Computed>& inputs);
  // A function of ops/math.cc.
  Computed math(const NodeProto& node, const std::string& function, const Computed& x);
  // factor x + offset.
  Computed scaled(const NodeProto& node, const Computed& x, double factor, double offset = 0);

  // A constant as a computed value of as many axes as `order` has, in that order: a weight that all
  // samples get. Training changes it if it is of floating-point numbers and `trains`.
  Computed spread(const NodeProto& node, const Constant& constant, const Order& order,
                  bool trains = true);
  // The order of the result of two operands: that of the one with more axes or, if they have as
  // many, more elements. A constant has none of its own.
  Order common_order(const Value& a, const Value& b) const;
  // An operand in this order, computed or not; axes that it lacks in front have one element.
  Computed operand_in(const NodeProto& node, const Value& value, const Order& order);

  void give(const NodeProto& node, Computed result, Order order, size_t output = 0);
  void give(const NodeProto& node, Value value, size_t output = 0);

 private:
  ImportedNetwork network();  // after all nodes
  void check_nodes() const;
  void add_inputs();
  void add_initializers();
  void import_node(const NodeProto& node);
  void import_one_sample(const NodeProto& node, void (*import)(Importer&, const NodeProto&));
  bool folded(const NodeProto& node);
  Order order_of_input(const ValueInfoProto& input) const;
  std::string unique_name(const NodeProto& node, const std::string& stem);

  const ModelProto& model_;
  const ImportOptions& options_;
  int64_t opset_ = 0;
  int64_t lead_ = 0;
  std::map<std::string, Value> values_;
  std::set<std::string> names_;  // of layers
  std::vector<SymbolicTensor> inputs_;
  Shape input_shape_;  // of a sample of the first input
  std::vector<Order> input_orders_;
  NamedTensors weights_;
  int64_t folded_ = 0;  // elements of constants that nodes computed
};

using ImportOp = void (*)(Importer& importer, const NodeProto& node);
struct OpImport {
  const char* op_type;
  ImportOp import;
};

// The families of ops.
std::vector<OpImport> conv_imports();
std::vector<OpImport> pool_imports();
std::vector<OpImport> elementwise_imports();
std::vector<OpImport> arithmetic_imports();
std::vector<OpImport> norm_imports();
std::vector<OpImport> matrix_imports();
std::vector<OpImport> shape_imports();
std::vector<OpImport> reduce_imports();
std::vector<OpImport> resize_imports();
std::vector<OpImport> pad_imports();
std::vector<OpImport> choice_imports();
std::vector<OpImport> loss_imports();

// The logarithm of a softmax over the last axis.
Computed log_softmax(Importer& importer, const NodeProto& node, const Computed& x);

// A weight from floats.
Tensor weight_tensor(const Shape& shape, const std::vector<float>& values);
// The elements of a constant with its axes in another order.
std::vector<float> permuted(const Constant& constant, const Order& perm);
// The name of the layer that an initializer belongs to: "conv1" for "conv1.weight"; empty: none.
std::string layer_of_weight(const std::string& initializer);

}  // namespace pando::onnx
