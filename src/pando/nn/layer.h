// A layer describes a piece of a network: its weights and the ops that compute it. It holds no
// values and runs nothing; train::Model does that.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pando/ir/graph.h"
#include "pando/nn/initializers.h"

namespace pando {

class Layer;
class SymbolicTensor;

namespace nn {

// A weight that a layer asks for. If `moving_momentum` is 0 or more, it is a moving statistic and
// not trained.
struct WeightSpec {
  std::string name;  // "kernel"
  Shape shape;
  Initializer initializer;
  double moving_momentum = -1;
  bool follows_variance = false;  // a moving statistic follows the variance instead of the mean
  // The shape in files and for the initializer, where Keras has another than the op; the elements
  // have the same order. Empty: `shape`.
  Shape keras_shape = {};

  const Shape& file_shape() const { return keras_shape.rank() > 0 ? keras_shape : shape; }
  bool is_state() const { return moving_momentum >= 0; }
};

// The graph under construction, as a layer sees it. It is for one batch size, and either for
// training or for inference.
class GraphBuilder {
 public:
  virtual ~GraphBuilder() = default;
  virtual bool training() const = 0;
  // The graph input that holds this weight of the layer.
  virtual ir::Value* weight(const std::string& name) = 0;
  virtual ir::Node* append(std::string op, std::vector<ir::Value*> inputs,
                           ir::Attributes attributes = {}, int outputs = 1) = 0;
  // Makes the moving statistic `weight` follow `moments`, the result of op batch_moments.
  virtual void move_towards(const std::string& weight, ir::Value* moments) = 0;
  // The name of the layer being built.
  virtual const std::string& layer_name() const = 0;
};

// The kind of a layer and its options. Subclasses are immutable.
class LayerDefinition {
 public:
  virtual ~LayerDefinition() = default;
  virtual std::string class_name() const = 0;  // "Conv2D", as in a summary
  virtual std::string stem() const = 0;        // "conv2d": automatic names are stem, stem_1, ...
  virtual int least_inputs() const { return 1; }
  virtual int most_inputs() const { return 1; }
  // The weights of the layer. `inputs` are shapes without the batch; `layer` is the name of the
  // layer, for messages. Throws InvalidArgument if the layer cannot take these shapes.
  virtual std::vector<WeightSpec> weights(const std::string& layer,
                                          const std::vector<Shape>& inputs) const {
    (void)layer;
    (void)inputs;
    return {};
  }
  // Appends the ops of the layer and returns its result. Requires: as many values as the layer
  // takes, all typed.
  virtual ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const = 0;
};

}  // namespace nn

// A layer that can be called on tensors. Several calls share its weights. A handle, cheap to copy.
class Layer {
 public:
  Layer(std::shared_ptr<const nn::LayerDefinition> definition, std::string name);

  SymbolicTensor operator()(const SymbolicTensor& input) const;
  SymbolicTensor operator()(const std::vector<SymbolicTensor>& inputs) const;

  // Two handles are the same layer if their pointers to State are equal.
  struct State {
    std::shared_ptr<const nn::LayerDefinition> definition;
    std::string name;  // if empty, the network chooses a name
    int stage = -1;    // of the PipelineStage scope in which it was created; -1: none
  };
  const std::shared_ptr<const State>& state() const { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

// A tensor in the description of a network: an input, or the result of a layer.
class SymbolicTensor {
 public:
  struct Expression {
    std::shared_ptr<const Layer::State> layer;  // null for an input
    // The name that a network gave to a layer without one, where it is part of another network.
    std::string layer_name;
    std::vector<SymbolicTensor> inputs;
    int stage = -1;     // of the PipelineStage scope in which the layer was called; -1: none
    Shape input_shape;  // for an input only; without the batch
    DType input_dtype = DType::f32;
    std::string input_name;
    bool auxiliary_input = false;
  };
  explicit SymbolicTensor(std::shared_ptr<const Expression> expression)
      : expression_(std::move(expression)) {}
  const std::shared_ptr<const Expression>& expression() const { return expression_; }

 private:
  std::shared_ptr<const Expression> expression_;
};

struct InputOptions {
  DType dtype = DType::f32;
  std::string name;
  // An input besides the features, fed by the field of the data that has its name. It is left out
  // of graphs in which no layer uses it: for example an input that only augments training samples
  // is left out in inference.
  bool auxiliary = false;
};

// The input of a network; `shape` is the shape of one sample.
SymbolicTensor Input(Shape shape, InputOptions options = {});

}  // namespace pando
