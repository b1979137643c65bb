// A layer describes a piece of a network: its weights and the ops it becomes. It holds no values
// and runs nothing; train::Model does.
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

// A weight as a layer wants it. With `moving_momentum` (0 or more) it is a moving statistic and
// not trained.
struct WeightSpec {
  std::string name;  // "kernel"
  Shape shape;
  Initializer initializer;
  double moving_momentum = -1;
  bool follows_variance = false;  // of a moving statistic: the variance instead of the mean

  bool is_state() const { return moving_momentum >= 0; }
};

// What a layer builds into: one graph for one batch size, training or not.
class GraphBuilder {
 public:
  virtual ~GraphBuilder() = default;
  virtual bool training() const = 0;
  // The input of the graph that holds this layer's weight.
  virtual ir::Value* weight(const std::string& name) = 0;
  virtual ir::Node* append(std::string op, std::vector<ir::Value*> inputs,
                           ir::Attributes attributes = {}, int outputs = 1) = 0;
  // Gives the moving statistic `weight` the moments (of op batch_moments) that it follows.
  virtual void move_towards(const std::string& weight, ir::Value* moments) = 0;
  // The name of the layer being built.
  virtual const std::string& layer_name() const = 0;
};

// The kind of a layer with its options. Subclasses are immutable.
class LayerDefinition {
 public:
  virtual ~LayerDefinition() = default;
  virtual std::string class_name() const = 0;  // "Conv2D", as in a summary
  virtual std::string stem() const = 0;        // "conv2d": automatic names are stem, stem_1, ...
  virtual int least_inputs() const { return 1; }
  virtual int most_inputs() const { return 1; }
  // `inputs` are shapes without the batch; `layer` is the name of the layer, for messages. Throws
  // InvalidArgument when the shapes do not suit.
  virtual std::vector<WeightSpec> weights(const std::string& layer,
                                          const std::vector<Shape>& inputs) const {
    (void)layer;
    (void)inputs;
    return {};
  }
  // Requires: as many values as the layer takes, all typed.
  virtual ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const = 0;
};

}  // namespace nn

// A layer that can be called, more than once to share its weights; a handle, cheap to copy.
class Layer {
 public:
  Layer(std::shared_ptr<const nn::LayerDefinition> definition, std::string name);

  SymbolicTensor operator()(const SymbolicTensor& input) const;
  SymbolicTensor operator()(const std::vector<SymbolicTensor>& inputs) const;

  // Identity: two handles are the same layer when these are equal.
  struct State {
    std::shared_ptr<const nn::LayerDefinition> definition;
    std::string name;  // empty: a network gives it one
    int stage = -1;    // of the pipeline scope in which it was made; -1: none
  };
  const std::shared_ptr<const State>& state() const { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

// A tensor of a network under description: the input, or a layer applied to others.
class SymbolicTensor {
 public:
  struct Expression {
    std::shared_ptr<const Layer::State> layer;  // null for an input
    std::vector<SymbolicTensor> inputs;
    int stage = -1;     // of the pipeline scope in which the layer was called; -1: none
    Shape input_shape;  // of an input, without the batch
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
  // Beside the features: fed by the field of the data that has its name, and left out where no
  // layer uses it, as in inference those that only change samples for training.
  bool auxiliary = false;
};

// The input of a network; the shape is that of one sample.
SymbolicTensor Input(Shape shape, InputOptions options = {});

}  // namespace pando
