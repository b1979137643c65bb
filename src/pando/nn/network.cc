// SPDX-License-Identifier: MIT
#include "pando/nn/network.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "pando/base/error.h"
#include "pando/nn/network_builder.h"

namespace pando {

int64_t LayerInfo::parameters() const {
  int64_t count = 0;
  for (const nn::WeightSpec& weight : weights) count += weight.shape.elements();
  return count;
}

// Walks from the output to the inputs and lists the calls so that each comes after its inputs.
class Network::Collector {
 public:
  Collector(Network& network, const std::vector<SymbolicTensor>& inputs) : network_(network) {
    for (const SymbolicTensor& input : inputs) {
      const auto& expression = input.expression();
      if (expression->layer != nullptr) {
        throw InvalidArgument(
            "network: an input must come from Input(), got the result of a layer");
      }
      const std::string name = unique(expression->input_name, "input");
      const int call = add_call({add_layer(nullptr, name, "InputLayer"), {}});
      if (!calls_.emplace(expression.get(), call).second) {
        throw InvalidArgument("network: input '", name, "' is given twice; remove one");
      }
      network_.input_calls_.push_back(call);
      network_.inputs_.push_back(
          {name, expression->input_shape, expression->input_dtype, expression->auxiliary_input});
      check_auxiliary(*expression);
    }
  }

  int visit(const SymbolicTensor& tensor) {
    const SymbolicTensor::Expression* expression = tensor.expression().get();
    if (const auto found = calls_.find(expression); found != calls_.end()) return found->second;
    if (expression->layer == nullptr) {
      throw InvalidArgument("network: the output depends on an Input() of shape ",
                            expression->input_shape,
                            " that is not among the network's inputs; add it to them");
    }
    std::vector<int> inputs;
    for (const SymbolicTensor& input : expression->inputs) inputs.push_back(visit(input));
    const int stage = expression->stage >= 0 ? expression->stage : expression->layer->stage;
    const int call = add_call({layer_of(*expression), std::move(inputs), stage});
    calls_.emplace(expression, call);
    return call;
  }

 private:
  // The name of an auxiliary input must be the name of a field of the data.
  void check_auxiliary(const SymbolicTensor::Expression& expression) const {
    if (!expression.auxiliary_input) return;
    const std::string& name = expression.input_name;
    if (name.empty() || name == "x" || name == "y" || name == "sample_weight") {
      throw InvalidArgument(
          "auxiliary input: expected the name of a field other than x, y and sample_weight, got '",
          name, "'");
    }
    if (network_.inputs_.size() == 1) {
      throw InvalidArgument("network: the first input must be the features, got auxiliary input '",
                            name, "'");
    }
  }

  int layer_of(const SymbolicTensor::Expression& expression) {
    const std::shared_ptr<const Layer::State>& state = expression.layer;
    if (const auto found = layers_.find(state.get()); found != layers_.end()) return found->second;
    const std::string& wanted = state->name.empty() ? expression.layer_name : state->name;
    const std::string name = unique(wanted, state->definition->stem());
    const int layer = add_layer(state, name, state->definition->class_name());
    layers_.emplace(state.get(), layer);
    return layer;
  }

  int add_layer(std::shared_ptr<const Layer::State> state, std::string name, std::string kind) {
    network_.states_.push_back(std::move(state));
    network_.layers_.push_back({.name = std::move(name), .class_name = std::move(kind)});
    return static_cast<int>(network_.layers_.size()) - 1;
  }

  int add_call(Call call) {
    network_.calls_.push_back(std::move(call));
    return static_cast<int>(network_.calls_.size()) - 1;
  }

  // Returns `wanted`, which must be new, or if it is empty the next free name of stem, stem_1,
  // stem_2, ... (inputs begin at input_1).
  std::string unique(const std::string& wanted, const std::string& stem) {
    if (!wanted.empty()) {
      if (!names_.insert(wanted).second) {
        throw InvalidArgument("network: layer names must be unique, got two layers '", wanted,
                              "'; rename one");
      }
      return wanted;
    }
    int& number = numbers_[stem];
    while (true) {
      const bool plain = number == 0 && stem != "input";
      std::string name = plain ? stem : concat(stem, "_", stem == "input" ? number + 1 : number);
      ++number;
      if (names_.insert(name).second) return name;
    }
  }

  Network& network_;
  std::map<const SymbolicTensor::Expression*, int> calls_;
  std::map<const Layer::State*, int> layers_;
  std::set<std::string> names_;
  std::map<std::string, int> numbers_;
};

Network::Network(const SymbolicTensor& input, const SymbolicTensor& output)
    : Network(std::vector<SymbolicTensor>{input}, output) {}

Network::Network(std::vector<SymbolicTensor> inputs, const SymbolicTensor& output)
    : Network(std::move(inputs), std::vector<SymbolicTensor>{output}) {}

Network::Network(std::vector<SymbolicTensor> inputs, const std::vector<SymbolicTensor>& outputs) {
  if (inputs.empty()) throw InvalidArgument("network: expected at least one input, got none");
  if (outputs.empty()) throw InvalidArgument("network: expected at least one output, got none");
  Collector collector(*this, inputs);
  for (const SymbolicTensor& output : outputs) {
    const int call = collector.visit(output);
    if (calls_[static_cast<size_t>(call)].inputs.empty()) {
      throw InvalidArgument(
          "network: expected at least one layer between input and output, got none");
    }
    output_calls_.push_back(call);
  }
  infer_types();
  check_stages();
}

// Building every layer for one sample infers all shapes and finds layers that do not fit.
void Network::infer_types() {
  std::vector<ir::TensorType> types;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Call& call = calls_[i];
    LayerInfo& info = layers_[static_cast<size_t>(call.layer)];
    const auto& state = states_[static_cast<size_t>(call.layer)];
    if (state == nullptr) {
      info.output_shape = inputs_[i].shape;
      types.push_back({inputs_[i].dtype, info.output_shape});
      continue;
    }
    std::vector<ir::TensorType> inputs_of_call;
    std::vector<Shape> shapes;
    for (const int input : call.inputs) {
      inputs_of_call.push_back(types[static_cast<size_t>(input)]);
      shapes.push_back(inputs_of_call.back().shape);
    }
    const bool first_call = info.inbound.empty();
    if (first_call) {
      info.weights = state->definition->weights(info.name, shapes);
      for (const int input : call.inputs) {
        const Call& before = calls_[static_cast<size_t>(input)];
        info.inbound.push_back(layers_[static_cast<size_t>(before.layer)].name);
      }
    }
    types.push_back(nn::sample_output(*state->definition, info, inputs_of_call));
    if (first_call) info.output_shape = types.back().shape;
  }
  std::map<std::string, int> used;  // one layer may be called for several outputs
  for (const int call : output_calls_) {
    const int before = used[layer_name(call)]++;
    std::string name = before == 0 ? layer_name(call) : concat(layer_name(call), "_", before);
    outputs_.push_back({std::move(name), types[static_cast<size_t>(call)].shape});
  }
}

const LayerInfo& Network::layer(const std::string& name) const {
  std::vector<std::string> known;
  for (const LayerInfo& info : layers_) {
    if (info.name == name) return info;
    known.push_back(info.name);
  }
  throw InvalidArgument(unknown_name_message("layer", name, known));
}

int64_t Network::features() const {
  return std::count_if(inputs_.begin(), inputs_.end(),
                       [](const NetworkInput& input) { return !input.auxiliary; });
}

const std::string& Network::feed_name(size_t input) const {
  static const std::string usual = "x";
  return !inputs_[input].auxiliary && features() == 1 ? usual : inputs_[input].name;
}

int64_t Network::parameters() const {
  int64_t count = 0;
  for (const LayerInfo& info : layers_) count += info.parameters();
  return count;
}

int64_t Network::trainable_parameters() const {
  int64_t count = 0;
  for (const LayerInfo& info : layers_) {
    for (const nn::WeightSpec& weight : info.weights) {
      count += weight.is_state() ? 0 : weight.shape.elements();
    }
  }
  return count;
}

SymbolicTensor Network::operator()(const SymbolicTensor& input) const {
  return (*this)(std::vector<SymbolicTensor>{input});
}

SymbolicTensor Network::operator()(const std::vector<SymbolicTensor>& inputs) const {
  if (outputs_.size() != 1) {
    throw InvalidArgument("network: expected one output, got ", outputs_.size(), "; call apply()");
  }
  return apply(inputs).front();
}

std::vector<SymbolicTensor> Network::apply(const std::vector<SymbolicTensor>& inputs) const {
  if (inputs.size() != inputs_.size()) {
    throw InvalidArgument("network: expected ", inputs_.size(), " inputs, got ", inputs.size());
  }
  const std::vector<SymbolicTensor> all = results(inputs, calls_.size());
  std::vector<SymbolicTensor> outputs;
  for (const int call : output_calls_) outputs.push_back(all[static_cast<size_t>(call)]);
  return outputs;
}

std::vector<SymbolicTensor> Network::results(const std::vector<SymbolicTensor>& inputs,
                                             size_t calls) const {
  std::vector<SymbolicTensor> results = inputs;
  for (size_t i = first_layer_call(); i < calls; ++i) results.push_back(result_of(i, results));
  return results;
}

SymbolicTensor Network::result_of(size_t call, const std::vector<SymbolicTensor>& before) const {
  auto expression = std::make_shared<SymbolicTensor::Expression>();
  expression->layer = states_[static_cast<size_t>(calls_[call].layer)];
  expression->layer_name = layer_name(static_cast<int>(call));
  expression->stage = calls_[call].stage;
  for (const int input : calls_[call].inputs) {
    expression->inputs.push_back(before[static_cast<size_t>(input)]);
  }
  return SymbolicTensor(std::move(expression));
}

Network Network::scoped(const std::string& scope) const {
  Network copy = *this;
  for (size_t i = first_layer_call(); i < layers_.size(); ++i) {
    // Layer checks the characters of the name.
    const Layer layer(states_[i]->definition, concat(scope, "/", layers_[i].name));
    copy.states_[i] = layer.state();
    copy.layers_[i].name = layer.state()->name;
  }
  for (LayerInfo& info : copy.layers_) {
    for (std::string& name : info.inbound) {
      const bool input = std::any_of(inputs_.begin(), inputs_.end(),
                                     [&](const NetworkInput& one) { return one.name == name; });
      if (!input) name = concat(scope, "/", name);
    }
  }
  for (NetworkOutput& output : copy.outputs_) output.name = concat(scope, "/", output.name);
  return copy;
}

Network Network::until(const std::string& layer) const {
  this->layer(layer);  // throws if there is none
  size_t last = calls_.size() - 1;
  while (layer_name(static_cast<int>(last)) != layer) --last;
  if (last < first_layer_call()) {
    throw InvalidArgument("until: expected a layer, got the input '", layer, "'");
  }
  std::set<int> needed;
  const std::function<void(int)> need = [&](int call) {
    if (!needed.insert(call).second) return;
    for (const int input : calls_[static_cast<size_t>(call)].inputs) need(input);
  };
  need(static_cast<int>(last));
  std::vector<SymbolicTensor> all;
  std::vector<SymbolicTensor> inputs;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const NetworkInput& one = inputs_[i];
    all.push_back(
        Input(one.shape, {.dtype = one.dtype, .name = one.name, .auxiliary = one.auxiliary}));
    if (needed.contains(static_cast<int>(i))) inputs.push_back(all.back());
  }
  return Network(inputs, results(all, last + 1).back());
}

ir::Value* Network::add_feed(ir::Graph& graph, size_t input, int64_t batch) const {
  const NetworkInput& spec = inputs_[input];
  std::vector<int64_t> dims = {batch};
  dims.insert(dims.end(), spec.shape.begin(), spec.shape.end());
  return graph.add_input(feed_name(input), ir::InputRole::feed,
                         ir::TensorType{spec.dtype, Shape(dims)});
}

NetworkGraph Network::build(const NetworkBuildOptions& options) const {
  if (options.batch < 1) {
    throw InvalidArgument("network: batch: expected at least 1, got ", options.batch);
  }
  NetworkGraph result;
  nn::NetworkBuilder builder(result.graph, options.training);
  std::vector<ir::Value*> values;
  for (const Call& call : calls_) {
    const LayerInfo& info = layers_[static_cast<size_t>(call.layer)];
    const auto& state = states_[static_cast<size_t>(call.layer)];
    if (state == nullptr) {
      values.push_back(add_feed(result.graph, values.size(), options.batch));
      continue;
    }
    std::vector<ir::Value*> inputs;
    for (const int input : call.inputs) inputs.push_back(values[static_cast<size_t>(input)]);
    if (options.stages) result.graph.set_current_stage(std::max(call.stage, 0));
    builder.begin_layer(info, options.training && !options.frozen.contains(info.name));
    values.push_back(state->definition->build(builder, inputs));
  }
  for (const int call : output_calls_) {
    result.outputs.push_back(values[static_cast<size_t>(call)]);
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].auxiliary && result.graph.users(values[i]).empty()) {
      result.graph.erase_input(values[i]);
    } else {
      result.inputs.push_back(values[i]);
    }
  }
  if (options.stages) result.graph.set_current_stage(stages() - 1);
  return result;
}

Network Sequential(Shape input_shape, const std::vector<Layer>& layers) {
  if (layers.empty()) throw InvalidArgument("Sequential: expected at least one layer, got none");
  const SymbolicTensor input = Input(std::move(input_shape));
  SymbolicTensor x = input;
  for (const Layer& layer : layers) x = layer(x);
  return Network(input, x);
}

}  // namespace pando
