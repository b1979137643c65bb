// SPDX-License-Identifier: MIT
#include "pando/train/programs.h"

#include <algorithm>

#include "pando/base/checked.h"
#include "pando/base/error.h"
#include "pando/base/memory_use.h"
#include "pando/grad/gradients.h"
#include "pando/ops/builder.h"
#include "pando/train/metric_sums.h"

namespace pando::train {

namespace {

ir::Value* add_feed(ir::Graph& graph, const std::string& name, const Field& field, int64_t batch) {
  std::vector<int64_t> dims = {batch};
  dims.insert(dims.end(), field.shape.begin(), field.shape.end());
  return graph.add_input(name, ir::InputRole::feed, ir::TensorType{field.dtype, Shape(dims)});
}

void check_features(const Network& network, const std::vector<Field>& fields) {
  const std::vector<NetworkInput>& inputs = network.inputs();
  const auto features = std::count_if(inputs.begin(), inputs.end(),
                                      [](const NetworkInput& input) { return !input.auxiliary; });
  if (features != 1) {
    throw Unsupported("the network has ", features,
                      " inputs for features, expected 1: data sets have one field of features");
  }
  if (fields.empty()) throw InvalidArgument("the data has no fields, expected x");
  const Field& x = fields[0];
  if (x.shape != inputs[0].shape || x.dtype != inputs[0].dtype) {
    throw InvalidArgument("the data has samples ", to_string(x), ", the network takes ",
                          to_string(inputs[0].dtype), inputs[0].shape);
  }
}

void check_labels(const Network& network, const Loss& loss, const Field& labels) {
  const bool class_number = labels.shape.rank() == 0;
  if (loss.labels() == LabelKind::classes) {
    if (class_number && labels.dtype == DType::i32) return;
    throw InvalidArgument("loss '", loss.name(),
                          "': expected class numbers (i32[]) as labels, got ", to_string(labels),
                          "; use categorical_crossentropy for one-hot labels");
  }
  if (labels.dtype == DType::f32 && labels.shape == network.output_shape()) return;
  throw InvalidArgument("loss '", loss.name(), "': expected labels f32", network.output_shape(),
                        ", got ", to_string(labels),
                        class_number ? "; use sparse_categorical_crossentropy, or one_hot()" : "");
}

const NetworkInput* auxiliary_input(const Network& network, const std::string& name) {
  for (const NetworkInput& input : network.inputs()) {
    if (input.auxiliary && input.name == name) return &input;
  }
  return nullptr;
}

// The place of a field after x and y; -1: there is none.
int place_of(const std::vector<Field>& fields, const std::string& name) {
  for (size_t i = 2; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

// Every field besides x and y must be used; otherwise a network would be trained without it.
void check_further_fields(const Network& network, const std::vector<Field>& fields) {
  const int weight = weight_field(network, fields);
  for (size_t i = 2; i < fields.size(); ++i) {
    const Field& field = fields[i];
    if (const NetworkInput* input = auxiliary_input(network, field.name)) {
      if (field.dtype == input->dtype && field.shape == input->shape) continue;
      throw InvalidArgument("the data has the field ", to_string(field), ", the network takes ",
                            to_string(input->dtype), input->shape, " under that name");
    }
    const bool one_number = field.dtype == DType::f32 && field.shape.rank() == 0;
    if (static_cast<int>(i) == weight && one_number) continue;
    if (static_cast<int>(i) == weight && field.name == "sample_weight") {
      throw InvalidArgument("the data has the field ", to_string(field),
                            ", expected one f32 number per sample");
    }
    throw InvalidArgument("the data has the field ", to_string(field),
                          ", which the network does not take; besides x and y it may have one f32 "
                          "number per sample, its weight, and auxiliary inputs of the network");
  }
}

// Auxiliary fields that the data does not have are zero in inference, and an error in training.
void check_auxiliary_fields(const Network& network, const NetworkGraph& built,
                            const std::vector<Field>& fields) {
  for (const ir::Value* feed : built.inputs) {
    const NetworkInput* input = auxiliary_input(network, feed->name());
    if (input == nullptr || place_of(fields, input->name) >= 0) continue;
    throw InvalidArgument(
        "the data has no field ", to_string(Field{input->name, input->dtype, input->shape}),
        ", which the network needs in training; its fields are ", to_string(fields));
  }
}

std::vector<const ir::Value*> trained_variables(const Network& network, const ir::Graph& graph,
                                                const std::set<std::string>& frozen) {
  std::vector<const ir::Value*> variables;
  for (const LayerInfo& layer : network.layers()) {
    if (frozen.contains(layer.name)) continue;
    for (const nn::WeightSpec& weight : layer.weights) {
      if (!weight.is_state()) variables.push_back(graph.find_value(layer.name + "/" + weight.name));
    }
  }
  if (variables.empty()) {
    throw InvalidArgument("no layer is trainable; call set_trainable() for at least one");
  }
  return variables;
}

// Metrics ignore weights. Weighted metrics are sums of weighted numbers, after which comes the sum
// of the weights (metric_sums.h).
void add_metrics(const GraphRequest& request, const LossInputs& inputs) {
  ir::Graph& graph = *inputs.graph;
  LossInputs unweighted = inputs;
  unweighted.sample_weight = nullptr;
  std::set<std::string> names;
  for (const Metric& metric : *request.metrics) {
    names.insert(metric.name());
    graph.add_output(ir::OutputRole::metric, metric.name(), metric.build(unweighted));
  }
  if (request.weighted_metrics == nullptr || request.weighted_metrics->empty()) return;
  const bool weigh = inputs.sample_weight != nullptr;
  for (const Metric& metric : *request.weighted_metrics) {
    ir::Value* value = metric.build(unweighted);
    const std::string name = (names.contains(metric.name()) ? "weighted_" : "") + metric.name();
    graph.add_output(ir::OutputRole::metric, weigh ? kWeightedMetric + name : name,
                     weigh ? weighted(inputs, value) : value);
  }
  if (weigh) graph.add_output(ir::OutputRole::metric, kWeightSum, weighted(inputs));
}

}  // namespace

int weight_field(const Network& network, const std::vector<Field>& fields) {
  const int named = place_of(fields, "sample_weight");
  if (named >= 0 || fields.size() < 3) return named;
  return auxiliary_input(network, fields[2].name) == nullptr ? 2 : -1;
}

ir::Graph build_graph(const Network& network, const GraphRequest& request) {
  check_features(network, request.fields);
  NetworkGraph built = network.build({.batch = request.batch,
                                      .training = request.mode == RunMode::train,
                                      .frozen = request.frozen});
  if (request.mode == RunMode::train) check_auxiliary_fields(network, built, request.fields);
  ir::Graph graph = std::move(built.graph);
  if (request.mode == RunMode::predict) {
    graph.add_output(ir::OutputRole::result, "output", built.output);
    return graph;
  }
  if (request.fields.size() < 2) {
    throw InvalidArgument("the data has no labels: fields are ", to_string(request.fields));
  }
  check_labels(network, *request.loss, request.fields[1]);
  check_further_fields(network, request.fields);
  LossInputs inputs{.graph = &graph, .output = built.output};
  inputs.labels = add_feed(graph, "y", request.fields[1], request.batch);
  if (const int weight = weight_field(network, request.fields); weight >= 0) {
    inputs.sample_weight = add_feed(graph, "sample_weight",
                                    request.fields[static_cast<size_t>(weight)], request.batch);
  }
  ir::Value* loss = request.loss->build(inputs);
  graph.add_output(ir::OutputRole::loss, "loss", loss);
  add_metrics(request, inputs);
  if (request.mode == RunMode::evaluate) return graph;
  ir::Value* seed =
      ops::append(graph,
                  {.op = "loss_seed", .attributes = {{"batch", request.batch}}, .name = "loss"})
          ->output();
  const grad::GradientOptions options = {.variables =
                                             trained_variables(network, graph, request.frozen)};
  grad::add_gradient_outputs(graph, grad::append_gradients(graph, loss, seed, options));
  return graph;
}

std::vector<int> feed_fields(const Network& network, const ir::Graph& graph,
                             const std::vector<Field>& fields) {
  std::vector<int> places;
  for (const ir::Value* input : graph.inputs()) {
    if (input->role() != ir::InputRole::feed) continue;
    const std::string& name = input->name();
    const bool usual = name == "x" || name == "y";
    places.push_back(usual                     ? (name == "x" ? 0 : 1)
                     : name == "sample_weight" ? weight_field(network, fields)
                                               : place_of(fields, name));
  }
  return places;
}

void check_sizes(const ir::Graph& graph, int64_t batch_size) {
  const int64_t machine = memory_use().machine;
  for (const auto& node : graph.nodes()) {
    for (const ir::Value* value : node->outputs()) {
      const ir::TensorType& type = value->type();
      const auto each = static_cast<int64_t>(size_of(type.dtype));
      const auto bytes = product_of({type.shape.elements(), each});
      if (bytes && (machine == 0 || *bytes <= machine)) continue;
      throw ResourceError("batch_size ", batch_size, ": ", node->label(), " makes ",
                          to_string(type.dtype), type.shape, ", more than the ",
                          human_bytes(static_cast<double>(machine)),
                          " of the machine; use a smaller batch_size or a smaller network");
    }
  }
}

SliceDivision divide(int64_t batch, int slices) {
  if (batch < slices) return {slices, batch, compiler::Division::parts};
  const int64_t slice_batch = (batch + slices - 1) / slices;
  // Rounding up may leave slices without samples.
  const auto used = static_cast<int>((batch + slice_batch - 1) / slice_batch);
  return {used, slice_batch, compiler::Division::batch};
}

SliceDivision fit_into_cache(const SliceDivision& coarse, int64_t batch, const ir::Graph& slice) {
  constexpr int64_t kCacheBytes = 4 << 20;
  constexpr int64_t kMostRounds = 64;  // every slice of a program has addresses of its own
  if (coarse.division != compiler::Division::batch || coarse.slice_batch == 1) return coarse;
  int64_t most = 1;
  for (const auto& node : slice.nodes()) {
    int64_t bytes = 0;
    for (const auto* values : {&node->inputs(), &node->outputs()}) {
      for (const ir::Value* value : *values) {
        const bool weight = value->is_input() && value->role() != ir::InputRole::feed;
        if (!weight) bytes += static_cast<int64_t>(value->bytes());
      }
    }
    most = std::max(most, bytes / coarse.slice_batch);
  }
  const int64_t samples = std::clamp<int64_t>(kCacheBytes / most, 1, coarse.slice_batch);
  // Every worker gets as many slices as the others.
  const int64_t rounds = std::min(kMostRounds, (coarse.slice_batch + samples - 1) / samples);
  return divide(batch, static_cast<int>(coarse.slices * rounds));
}

}  // namespace pando::train
