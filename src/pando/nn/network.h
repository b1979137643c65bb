// A network: layers connected from inputs to outputs, each with its name and weights. It is only a
// description; build() creates the graph for one batch size.
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
  Shape output_shape;  // the shape of one sample
  std::vector<nn::WeightSpec> weights;
  std::vector<std::string> inbound;  // names of the layers before it, at its first call

  int64_t parameters() const;
};

// An input of a network.
struct NetworkInput {
  std::string name;
  Shape shape;  // the shape of one sample
  DType dtype = DType::f32;
  bool auxiliary = false;  // see InputOptions
};

// An output of a network, named after the layer that computes it.
struct NetworkOutput {
  std::string name;
  Shape shape;  // the shape of one sample
};

// The forward graph of a network, ready for losses and gradients.
struct NetworkGraph {
  ir::Graph graph;
  // Feeds, in the order of the network's inputs, without auxiliary inputs that no layer uses.
  std::vector<ir::Value*> inputs;
  std::vector<ir::Value*> outputs;  // in the order of the network's outputs
};

struct NetworkBuildOptions {
  int64_t batch = 1;
  bool training = false;
  std::set<std::string> frozen;  // layers that behave as in inference (batch normalisation)
  bool stages = true;  // put nodes into the stage of their layer; otherwise all into stage 0
};

// Immutable; cheap to copy. The constructors throw InvalidArgument if layers do not fit together;
// the message names the layer.
class Network {
 public:
  Network(const SymbolicTensor& input, const SymbolicTensor& output);
  Network(std::vector<SymbolicTensor> inputs, const SymbolicTensor& output);
  Network(std::vector<SymbolicTensor> inputs, const std::vector<SymbolicTensor>& outputs);

  const std::vector<LayerInfo>& layers() const { return layers_; }
  const LayerInfo& layer(const std::string& name) const;  // throws with the known names
  const std::vector<NetworkInput>& inputs() const { return inputs_; }
  const std::vector<NetworkOutput>& outputs() const { return outputs_; }
  int64_t features() const;  // inputs that are not auxiliary
  // The name of an input in graphs: "x" if it is the only one of features.
  const std::string& feed_name(size_t input) const;
  int64_t parameters() const;            // counts all weights, moving statistics included
  int64_t trainable_parameters() const;  // without moving statistics

  // The number of pipeline stages: 1 if none is assigned.
  int stages() const;
  // The calls of layers in execution order: each call comes after the calls whose results it uses.
  std::vector<StageAssignment> stage_assignment() const;
  // The functions below return copies with other stages. They throw InvalidArgument unless a call
  // uses only results of its own and earlier stages, each stage from 0 to the last has a layer, and
  // either all calls have a stage or none.
  //
  // `assignment` lists the calls in the order of stage_assignment().
  Network with_stages(const std::vector<StageAssignment>& assignment) const;
  // For a chain: one stage per layer, without the input. The first is 0, and each of the others is
  // that of the layer before or one more.
  Network with_stages(const std::vector<int>& stages) const;
  // Each named layer starts a new stage. The names are in execution order.
  Network with_splits(const std::vector<std::string>& layer_names) const;
  Network without_stages() const;

  // Applies the layers of this network, with their names and stages, to other tensors, for example
  // to put layers before it or to make it a part of a larger network. Several applications share
  // the weights, as several calls of a layer do; the shapes at the first one determine them. Throws
  // InvalidArgument unless there are as many tensors as inputs, and from the first two functions if
  // there are several outputs.
  SymbolicTensor operator()(const SymbolicTensor& input) const;
  SymbolicTensor operator()(const std::vector<SymbolicTensor>& inputs) const;
  std::vector<SymbolicTensor> apply(const std::vector<SymbolicTensor>& inputs) const;

  // A copy with layers of its own, named "scope/layer", so that one network may have several.
  Network scoped(const std::string& scope) const;

  // The network up to a layer: its output is the result of the last call of that layer. It has the
  // inputs that this result depends on.
  Network until(const std::string& layer) const;
  // The layers behind a layer, for data that hold its results: the only input has its name and
  // shape. Throws InvalidArgument unless the layer is one of bottlenecks().
  Network from(const std::string& layer) const;
  // The layers that are called once and that every path from an input to an output leads through,
  // in the order of execution, without inputs and outputs.
  std::vector<std::string> bottlenecks() const;

  // Builds the forward graph. Its current stage is then the last one, to which losses and metrics
  // belong.
  NetworkGraph build(const NetworkBuildOptions& options) const;

  // A table of the layers as Keras prints it, with the bytes of the weights if trained weights are
  // stored in the type `stored`. State is f32.
  std::string summary(const std::string& model_name = "model",
                      const std::set<std::string>& frozen = {}, DType stored = DType::f32) const;
  // A table of the calls and their stages, at least `line_length` characters wide.
  std::string stage_summary(int line_length = 98) const;

 private:
  // One application of a layer to earlier results.
  struct Call {
    int layer = 0;            // index into layers_ and states_
    std::vector<int> inputs;  // indices of earlier calls
    int stage = -1;           // -1: none; calls of inputs always have -1
  };
  class Collector;

  // The results of calls [0, calls) applied to other inputs.
  std::vector<SymbolicTensor> results(const std::vector<SymbolicTensor>& inputs,
                                      size_t calls) const;
  // The result of one call, applied to the results of the calls before it.
  SymbolicTensor result_of(size_t call, const std::vector<SymbolicTensor>& before) const;
  void infer_types();
  ir::Value* add_feed(ir::Graph& graph, size_t input, int64_t batch) const;
  bool is_auxiliary(int call) const;
  bool is_bottleneck(int call) const;

  // The index of the first call of a layer; the calls before it are the inputs.
  size_t first_layer_call() const { return input_calls_.size(); }
  const std::string& layer_name(int call) const;
  std::string call_label(int call) const;  // "'dense'", or "'dense' (call 1)" if it is shared
  std::string layer_list() const;          // "conv2d, flatten": no inputs, in execution order
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
  std::vector<int> output_calls_;
  std::vector<NetworkOutput> outputs_;
};

// A chain of layers on inputs of the given shape.
Network Sequential(Shape input_shape, const std::vector<Layer>& layers);

}  // namespace pando
