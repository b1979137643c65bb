// The state of an export. One function per op writes its nodes.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pando/ir/graph.h"
#include "pando/onnx/export.h"

namespace pando::onnx {

class Exporter {
 public:
  // `outputs` are values with names of their own in the file.
  Exporter(const ir::Graph& graph, const std::map<std::string, Tensor>& weights,
           const ExportOptions& options, std::map<const ir::Value*, std::string> outputs);
  ModelProto run();

  int64_t opset() const { return options_.opset; }
  const ir::Graph& graph() const { return graph_; }
  GraphProto& file() { return model_.graph; }

  // The name of a value in the file, where tensors of three axes and more are channels first.
  const std::string& name_of(const ir::Value* value) const;
  // The value with its channels last, by a transposition.
  std::string channels_last(const ir::Node& node, const ir::Value* value);
  // Brings the channels of a result forward that a node of the file has left last, or passes it on.
  void give_channels_last(const ir::Node& node, const std::string& name);
  // The values of a weight.
  const Tensor& weight(const ir::Value* value) const;
  bool is_weight(const ir::Value* value) const;

  using Attributes = std::vector<AttributeProto>;
  // Adds a node whose result has the name of the IR node's, or an invented one.
  void emit(const ir::Node& node, const std::string& op, std::vector<std::string> inputs,
            Attributes attributes = {});
  std::string emit_step(const ir::Node& node, const std::string& op,
                        std::vector<std::string> inputs, Attributes attributes = {});

  // Constants of the file. `name` is made unique.
  std::string add_floats(const std::string& name, const std::vector<int64_t>& dims,
                         const std::vector<float>& values);
  std::string add_ints(const std::string& name, const std::vector<int64_t>& values);
  std::string add_number(const ir::Node& node, float value);

  // The result of a node is a constant of the file.
  void give_constant(const ir::Node& node, const std::string& name) {
    values_[node.output()] = name;
  }

  // Records a node that this opset cannot express. All of them are reported at the end.
  void refuse(const ir::Node& node, const std::string& why);

 private:
  void add_inputs();
  void add_node(const ir::Node& node);
  std::string unique(const std::string& name) { return unique(name, names_); }
  static std::string unique(const std::string& name, std::set<std::string>& taken);
  void append(const std::string& name, const std::string& op, std::vector<std::string> inputs,
              Attributes attributes, const std::string& output);

  const ir::Graph& graph_;
  const std::map<std::string, Tensor>& weights_;
  const ExportOptions& options_;
  std::map<const ir::Value*, std::string> outputs_;
  ModelProto model_;
  std::set<std::string> names_;  // of values
  std::set<std::string> nodes_;  // of nodes: the name of the layer, if it is free
  std::map<const ir::Value*, std::string> values_;
  std::vector<std::string> refused_;
};

using ExportOp = void (*)(Exporter& exporter, const ir::Node& node);
struct OpExport {
  const char* op;
  ExportOp add;
};
std::vector<OpExport> product_exports();  // convolutions, dense layers, products of matrices
std::vector<OpExport> picture_exports();  // pooling, normalisation, resizing
std::vector<OpExport> element_exports();  // activations and arithmetic
std::vector<OpExport> axis_exports();     // shapes, joins, cuts, reductions

AttributeProto attribute(const std::string& name, int64_t value);
AttributeProto attribute(const std::string& name, double value);
AttributeProto attribute(const std::string& name, const std::string& value);
AttributeProto attribute(const std::string& name, std::vector<int64_t> values);

// The place in the file of axis `axis` of a value with `rank` axes, the batch counted.
int64_t file_axis(int64_t axis, int64_t rank);

}  // namespace pando::onnx
