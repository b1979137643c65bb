// SPDX-License-Identifier: MIT
#include "pando/train/programs.h"

#include "pando/base/error.h"
#include "pando/grad/gradients.h"
#include "pando/ops/builder.h"

namespace pando::train {

std::string to_string(Mode mode) {
  switch (mode) {
    case Mode::train: return "train";
    case Mode::evaluate: return "evaluate";
    case Mode::predict: return "predict";
  }
  return "?";
}

namespace {

ir::Value* add_feed(ir::Graph& graph, const std::string& name, const Field& field, int64_t batch) {
  std::vector<int64_t> dims = {batch};
  dims.insert(dims.end(), field.shape.begin(), field.shape.end());
  return graph.add_input(name, ir::InputRole::feed, ir::TensorType{field.dtype, Shape(dims)});
}

void check_features(const Network& network, const std::vector<Field>& fields) {
  if (network.input_shapes().size() != 1) {
    throw Unsupported("the network has ", network.input_shapes().size(),
                      " inputs; data sets have one field of features");
  }
  const Field& x = fields.at(0);
  if (x.shape != network.input_shapes()[0] || x.dtype != DType::f32) {
    throw InvalidArgument("the data has samples ", to_string(x), ", the network takes f32",
                          network.input_shapes()[0]);
  }
}

void check_labels(const Network& network, const Loss& loss, const Field& labels) {
  const bool class_number = labels.shape.rank() == 0;
  if (loss.labels() == LabelKind::classes) {
    if (class_number && labels.dtype == DType::i32) return;
    throw InvalidArgument("loss '", loss.name(), "' wants class numbers (i32[]), the data has ",
                          to_string(labels), "; one-hot labels go with categorical_crossentropy");
  }
  if (labels.dtype == DType::f32 && labels.shape == network.output_shape()) return;
  throw InvalidArgument("loss '", loss.name(), "' wants labels f32", network.output_shape(),
                        ", the data has ", to_string(labels),
                        class_number ? "; use sparse_categorical_crossentropy, or one_hot()" : "");
}

void check_sample_weight(const Field& weight) {
  if (weight.dtype == DType::f32 && weight.shape.rank() == 0) return;
  throw InvalidArgument("the third field of the data is ", to_string(weight),
                        ", wanted one f32 number per sample");
}

}  // namespace

ir::Graph build_graph(const Network& network, const GraphRequest& request) {
  check_features(network, request.fields);
  NetworkGraph built = network.build(
      {.batch = request.batch, .training = request.mode == Mode::train, .frozen = request.frozen});
  ir::Graph graph = std::move(built.graph);
  if (request.mode == Mode::predict) {
    graph.add_output(ir::OutputRole::result, "output", built.output);
    return graph;
  }
  if (request.fields.size() < 2) {
    throw InvalidArgument("the data has no labels: fields are ", to_string(request.fields));
  }
  check_labels(network, *request.loss, request.fields[1]);
  LossInputs inputs{.graph = &graph, .output = built.output};
  inputs.labels = add_feed(graph, "y", request.fields[1], request.batch);
  if (request.fields.size() > 2) {
    check_sample_weight(request.fields[2]);
    inputs.sample_weight = add_feed(graph, "sample_weight", request.fields[2], request.batch);
  }
  ir::Value* loss = request.loss->build(inputs);
  graph.add_output(ir::OutputRole::loss, "loss", loss);
  for (const Metric& metric : *request.metrics) {
    graph.add_output(ir::OutputRole::metric, metric.name(), metric.build(inputs));
  }
  if (request.mode == Mode::evaluate) return graph;
  ir::Value* seed =
      ops::append(graph,
                  {.op = "loss_seed", .attributes = {{"batch", request.batch}}, .name = "loss"})
          ->output();
  grad::GradientOptions options;
  for (const LayerInfo& layer : network.layers()) {
    if (request.frozen.contains(layer.name)) continue;
    for (const nn::WeightSpec& weight : layer.weights) {
      if (!weight.is_state())
        options.variables.push_back(graph.find_value(layer.name + "/" + weight.name));
    }
  }
  if (options.variables.empty()) {
    throw InvalidArgument("no layer is trainable; set_trainable() at least one of them");
  }
  grad::add_gradient_outputs(graph, grad::append_gradients(graph, loss, seed, options));
  return graph;
}

SliceDivision divide(int64_t batch, int slices) {
  if (batch < slices) return {slices, batch, compiler::Division::parts};
  const int64_t slice_batch = (batch + slices - 1) / slices;
  // Rounding up may leave slices without samples.
  const auto used = static_cast<int>((batch + slice_batch - 1) / slice_batch);
  return {used, slice_batch, compiler::Division::batch};
}

}  // namespace pando::train
