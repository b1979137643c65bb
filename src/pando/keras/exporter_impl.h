// The state of an export. One function per op writes its layers.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pando/ir/graph.h"
#include "pando/keras/export.h"

namespace pando::keras {

// A layer of Keras on its way into the model.
struct NewLayer {
  std::string class_name;
  Json config = Json::object();
  // Values that hold the weights, with Keras' names and the shapes of the file.
  struct Weight {
    std::string name;
    const ir::Value* value = nullptr;
    Shape shape = {};
  };
  std::vector<Weight> weights = {};
  bool trainable = true;
};

class Exporter {
 public:
  Exporter(const Network& network, const std::map<std::string, Tensor>& weights,
           const ExportOptions& options);
  ExportedModel run();

  int major() const { return options_.major; }
  const ir::Graph& graph() const { return built_.graph; }
  bool is_weight(const ir::Value* value) const;
  // The description of a weight of the node's layer.
  const nn::WeightSpec& spec(const ir::Value* weight) const;
  // Another weight of the layer that `weight` belongs to.
  const ir::Value* sibling(const ir::Value* weight, const std::string& name) const;

  // Adds a layer whose result is that of the node.
  void emit(const ir::Node& node, NewLayer layer, const std::vector<const ir::Value*>& inputs);
  void emit(const ir::Node& node, NewLayer layer) { emit(node, std::move(layer), {node.input(0)}); }
  // Adds a layer before it and returns its result. `shape` is with the batch.
  TensorRef emit_step(const ir::Node& node, NewLayer layer, const std::vector<TensorRef>& inputs,
                      const Shape& input, const Shape& output);
  // The last layer of several.
  void emit_last(const ir::Node& node, NewLayer layer, const std::vector<TensorRef>& inputs,
                 const Shape& input);
  const TensorRef& ref(const ir::Value* value) const;
  // The result of the node is this one.
  void pass_on(const ir::Node& node, const TensorRef& result) { refs_[node.output()] = result; }
  // Records a node that Keras cannot express. All of them are reported at the end.
  void refuse(const ir::Node& node, const std::string& why);

  // The layer that computes the node's input, if it can take this activation: it has no activation
  // yet, and no other layer reads its result.
  ExportedLayer* owner_of_activation(const ir::Node& node);

 private:
  void add_inputs();
  void add_node(const ir::Node& node);
  std::string unique(const std::string& name);
  std::string name_for(const ir::Node& node, const NewLayer& layer, bool last);
  TensorRef add(const ir::Node& node, NewLayer layer, const std::vector<TensorRef>& inputs,
                const Shape& input, const Shape& output, bool last);

  const Network& network_;
  const std::map<std::string, Tensor>& weights_;
  const ExportOptions& options_;
  NetworkGraph built_;
  ExportedModel model_;
  std::set<std::string> names_;     // taken
  std::set<std::string> weighted_;  // layers of the network with weights
  std::map<const ir::Value*, TensorRef> refs_;
  std::map<std::string, size_t> owners_;  // layers by their first weight
  std::map<std::string, size_t> by_name_;
  std::vector<std::string> refused_;
};

using ExportOp = void (*)(Exporter& exporter, const ir::Node& node);
struct OpExport {
  const char* op;
  ExportOp add;
};
std::vector<OpExport> product_exports();  // convolutions, dense layers, products of matrices
std::vector<OpExport> picture_exports();  // pooling, normalisation, resizing
std::vector<OpExport> element_exports();  // activations, arithmetic, dropout
std::vector<OpExport> shape_exports();    // shapes, joins, cuts, borders

// "2D" for pictures, "3D" for boxes; the shape is with the batch.
std::string dimensions(const Shape& shape);
// Zeros around the spatial axes, as an own layer before the node. Pads are before each axis, then
// after each.
TensorRef emit_padding(Exporter& exporter, const ir::Node& node, const ir::Ints& pads,
                       Shape& shape);
// The names of padding for windows: "valid" or "same" if it has that effect, else "".
std::string padding_name(const ir::Node& node, const ir::Ints& window, const ir::Ints& strides,
                         const ir::Ints& dilations);

}  // namespace pando::keras
