// A network: layers connected from inputs to one output, each with its name and weights. It
// describes; building it gives the graph of one batch size.
// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>
#include <vector>

#include "pando/ir/graph.h"
#include "pando/nn/layer.h"
#include "pando/nn/stage_assignment.h"

namespace pando {

// One layer of a network, in the order of execution. Inputs are layers too.
struct LayerInfo {
  std::string name;
  std::string class_name;
  Shape output_shape;  // of one sample
  std::vector<nn::WeightSpec> weights;
  std::vector<std::string> inbound;  // names of the layers before it, at its first call

  int64_t parameters() const;
};

// What a network is fed with.
struct NetworkInput {
  std::string name;
  Shape shape;  // of one sample
  DType dtype = DType::f32;
  bool auxiliary = false;  // see InputOptions
};

// The forward graph of a network, ready for losses and gradients.
struct NetworkGraph {
  ir::Graph graph;
  // Feeds, in the order of the network's inputs, without auxiliary ones that nothing uses.
  std::vector<ir::Value*> inputs;
  ir::Value* output = nullptr;
};

struct NetworkBuildOptions {
  int64_t batch = 1;
  bool training = false;
  std::set<std::string> frozen;  // layers that behave as in inference (batch normalisation)
  bool stages = true;  // nodes belong to the stage of their layer; otherwise all to stage 0
};

// Immutable once made; cheap to copy. Throws InvalidArgument, at construction, for whatever does
// not fit together: the message names the layer.
class Network {
 public:
  Network(const SymbolicTensor& input, const SymbolicTensor& output);
  Network(std::vector<SymbolicTensor> inputs, const SymbolicTensor& output);

  const std::vector<LayerInfo>& layers() const { return layers_; }
  const LayerInfo& layer(const std::string& name) const;  // throws with the known names
  const std::vector<NetworkInput>& inputs() const { return inputs_; }
  const Shape& output_shape() const { return output_shape_; }  // of one sample
  int64_t parameters() const;            // of all weights, moving statistics included
  int64_t trainable_parameters() const;  // without moving statistics

  // The pipeline stages: 1 when none is assigned.
  int stages() const;
  // The calls of layers in execution order, each after what it uses.
  std::vector<StageAssignment> stage_assignment() const;
  // Copies with other stages. A call may use results of its own and of earlier stages only; each
  // stage from 0 to the last owns a layer; either all calls have a stage or none.
  //
  // The assignment lists the calls as stage_assignment() does.
  Network with_stages(const std::vector<StageAssignment>& assignment) const;
  // One stage per layer of a chain, the input left out: 0 first, then each as the one before or
  // one more.
  Network with_stages(const std::vector<int>& stages) const;
  // Each named layer starts a new stage; in execution order.
  Network with_splits(const std::vector<std::string>& layer_names) const;
  Network without_stages() const;

  // The layers of this network, with their names and stages, applied to other tensors: to put
  // layers before it. Their weights follow from the shapes there. Throws InvalidArgument unless
  // there are as many tensors as inputs.
  SymbolicTensor operator()(const SymbolicTensor& input) const;
  SymbolicTensor operator()(const std::vector<SymbolicTensor>& inputs) const;

  // The graph's current stage is the last one afterwards: losses and metrics belong there.
  NetworkGraph build(const NetworkBuildOptions& options) const;

  // A table of the layers as Keras prints it, with the bytes of the weights when those that are
  // trained are stored in this type. State is f32.
  std::string summary(const std::string& model_name = "model",
                      const std::set<std::string>& frozen = {}, DType stored = DType::f32) const;
  // A table of the calls and their stages, at least this wide.
  std::string stage_summary(int line_length = 98) const;

 private:
  // One application of a layer to earlier results.
  struct Call {
    int layer = 0;            // index into layers_ and states_
    std::vector<int> inputs;  // indices of earlier calls
    int stage = -1;           // -1: none; inputs have none
  };
  class Collector;

  ir::Value* add_feed(ir::Graph& graph, size_t input, int64_t batch) const;
  bool is_auxiliary(int call) const;

  // The calls of layers begin here; those before are the inputs.
  size_t first_layer_call() const { return input_calls_.size(); }
  const std::string& layer_name(int call) const;
  std::string call_label(int call) const;  // "'dense'", or "'dense' (call 1)" when shared
  std::string layer_list() const;          // "conv2d, flatten": without inputs, as first executed
  // The call at which the named layer can start a stage; throws InvalidArgument.
  size_t split_call(const std::string& name) const;
  void require_chain() const;
  void check_stages() const;
  void check_all_assigned() const;
  void check_flow() const;
  // `stages`: one per call of a layer.
  Network with_call_stages(const std::vector<int>& stages) const;

  std::vector<Call> calls_;
  std::vector<std::shared_ptr<const Layer::State>> states_;  // per layer; null for an input
  std::vector<LayerInfo> layers_;
  std::vector<NetworkInput> inputs_;
  std::vector<int> input_calls_;
  int output_call_ = 0;
  Shape output_shape_;
};

// A chain of layers on inputs of the given shape.
Network Sequential(Shape input_shape, const std::vector<Layer>& layers);

}  // namespace pando
