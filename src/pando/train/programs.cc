// SPDX-License-Identifier: MIT
#include "pando/train/programs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "pando/base/checked.h"
#include "pando/base/error.h"
#include "pando/base/memory_use.h"
#include "pando/grad/gradients.h"
#include "pando/ops/builder.h"
#include "pando/train/run_memory.h"
#include "pando/train/test_time_flip.h"

namespace pando::train {

namespace {

ir::Value* add_feed(ir::Graph& graph, const std::string& name, const Field& field, int64_t batch) {
  std::vector<int64_t> dims = {batch};
  dims.insert(dims.end(), field.shape.begin(), field.shape.end());
  return graph.add_input(name, ir::InputRole::feed, ir::TensorType{field.dtype, Shape(dims)});
}

// Auxiliary fields that the data does not have are zero in inference, and an error in training.
void check_auxiliary_fields(const Network& network, const NetworkGraph& built,
                            const std::vector<Field>& fields) {
  const Wiring wiring = wire(network, fields);
  for (size_t i = 0; i < network.inputs().size(); ++i) {
    const NetworkInput& input = network.inputs()[i];
    if (!input.auxiliary || wiring.inputs[i] >= 0) continue;
    const auto feeds = [&](const ir::Value* feed) { return feed->name() == input.name; };
    if (std::none_of(built.inputs.begin(), built.inputs.end(), feeds)) continue;
    throw InvalidArgument(
        "the data has no field ", to_string(Field{input.name, input.dtype, input.shape}),
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

// What each output adds to a graph of training or evaluation.
class OutputBuilder {
 public:
  OutputBuilder(const Network& network, const GraphRequest& request, ir::Graph& graph)
      : network_(network),
        request_(request),
        graph_(graph),
        wiring_(wire(network, request.fields)) {}

  // The loss of all outputs, added up with their weights.
  ir::Value* add_losses(const std::vector<ir::Value*>& outputs) {
    ir::Value* sum = nullptr;
    for (size_t i = 0; i < outputs.size(); ++i) {
      inputs_.push_back({.graph = &graph_, .output = outputs[i]});
      feed(i);
      const Loss* loss = request_.loss->of(i, network_.outputs(), "loss");
      losses_.push_back(loss == nullptr ? nullptr : loss->build(inputs_[i]));
      if (losses_[i] == nullptr) continue;
      const double weight = loss_weight(i);
      if (sum == nullptr && weight == 1) {
        sum = losses_[i];
      } else if (sum == nullptr) {
        sum = append({losses_[i]}, {{"weight_a", weight}});
      } else {
        sum = append({sum, losses_[i]}, {{"weight_b", weight}});
      }
    }
    if (sum == nullptr) throw InvalidArgument("compile: no output has a loss; expected one");
    graph_.add_output(ir::OutputRole::loss, "loss", sum);
    return sum;
  }

  void add_metrics() {
    for (const MetricColumn& column : metric_columns(network_, request_)) {
      graph_.add_output(ir::OutputRole::metric, column.name, value_of(column));
    }
  }

 private:
  void feed(size_t i) {
    const Wiring::Output& own = wiring_.outputs[i];
    if (own.labels >= 0) {
      inputs_[i].labels =
          add_feed(graph_, label_feed(network_, i), field(own.labels), request_.batch);
    }
    if (own.weights < 0) return;
    const std::string name = weight_feed(wiring_, network_, i);
    inputs_[i].sample_weight = graph_.find_value(name);
    if (inputs_[i].sample_weight == nullptr) {
      inputs_[i].sample_weight = add_feed(graph_, name, field(own.weights), request_.batch);
    }
  }
  const Field& field(int place) const { return request_.fields[static_cast<size_t>(place)]; }
  double loss_weight(size_t i) const {
    const double* weight = request_.loss_weights == nullptr
                               ? nullptr
                               : request_.loss_weights->of(i, network_.outputs(), "loss_weights");
    if (weight == nullptr) return 1;
    if (!(std::abs(*weight) <= std::numeric_limits<float>::max())) {
      throw InvalidArgument("loss_weights: expected a number that 32 bits can hold, got ", *weight);
    }
    return *weight;
  }
  ir::Value* append(std::vector<ir::Value*> inputs, ir::Attributes attributes) {
    return ops::append(graph_, {.op = "sum_losses",
                                .inputs = std::move(inputs),
                                .attributes = std::move(attributes),
                                .name = "loss"})
        ->output();
  }
  // Metrics ignore weights. Weighted metrics are sums of weighted numbers.
  ir::Value* value_of(const MetricColumn& column) {
    const LossInputs& inputs = inputs_[column.output];
    if (column.weight_sum) return weighted(inputs);
    if (column.metric == nullptr) return losses_[column.output];
    if (inputs.labels == nullptr) {
      throw InvalidArgument("metric '", column.metric->name(), "': the data has no labels for it, ",
                            "expected a field '", network_.outputs()[column.output].name,
                            "'; the fields are ", to_string(request_.fields));
    }
    LossInputs unweighted = inputs;
    unweighted.sample_weight = nullptr;
    ir::Value* value = column.metric->build(unweighted);
    return column.weighted ? weighted(inputs, value) : value;
  }

  const Network& network_;
  const GraphRequest& request_;
  ir::Graph& graph_;
  const Wiring wiring_;
  std::vector<LossInputs> inputs_;
  std::vector<ir::Value*> losses_;  // null: none
};

}  // namespace

ir::Graph build_graph(const Network& network, const GraphRequest& request) {
  check_inputs(network, request.fields);
  const bool flips = request.test_time_flip && request.mode != RunMode::train;
  NetworkGraph built = (flips ? with_test_time_flip(network) : network)
                           .build({.batch = request.batch,
                                   .training = request.mode == RunMode::train,
                                   .frozen = request.frozen});
  if (request.mode == RunMode::train) check_auxiliary_fields(network, built, request.fields);
  ir::Graph graph = std::move(built.graph);
  if (request.mode == RunMode::predict) {
    const bool one = network.outputs().size() == 1;
    for (size_t i = 0; i < built.outputs.size(); ++i) {
      graph.add_output(ir::OutputRole::result, one ? "output" : network.outputs()[i].name,
                       built.outputs[i]);
    }
    return graph;
  }
  check_labels(network, request.fields, *request.loss);
  OutputBuilder outputs(network, request, graph);
  ir::Value* loss = outputs.add_losses(built.outputs);
  outputs.add_metrics();
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

std::vector<MetricColumn> metric_columns(const Network& network, const GraphRequest& request) {
  const Wiring wiring = wire(network, request.fields);
  const bool one = network.outputs().size() == 1;
  std::vector<MetricColumn> columns;
  for (size_t i = 0; i < network.outputs().size(); ++i) {
    if (!one && request.loss->of(i, network.outputs(), "loss") != nullptr) {
      columns.push_back({.name = network.outputs()[i].name + "_loss", .output = i});
    }
  }
  for (size_t i = 0; i < network.outputs().size(); ++i) {
    const auto metrics_of = [&](const Metrics* metrics, const char* what) {
      const auto* own = metrics == nullptr ? nullptr : metrics->of(i, network.outputs(), what);
      return own == nullptr ? std::vector<Metric>() : *own;
    };
    const std::string prefix = one ? "" : network.outputs()[i].name + "_";
    std::set<std::string> names;
    for (const Metric& metric : metrics_of(request.metrics, "metrics")) {
      names.insert(metric.name());
      columns.push_back({.name = prefix + metric.name(),
                         .output = i,
                         .metric = std::make_shared<const Metric>(metric)});
    }
    const bool weigh = wiring.outputs[i].weights >= 0;
    const std::vector<Metric> weighted = metrics_of(request.weighted_metrics, "weighted_metrics");
    for (const Metric& metric : weighted) {
      const std::string again = names.contains(metric.name()) ? "weighted_" : "";
      columns.push_back({.name = prefix + again + metric.name(),
                         .output = i,
                         .metric = std::make_shared<const Metric>(metric),
                         .weighted = weigh});
    }
    if (weigh && !weighted.empty()) {
      columns.push_back({.name = prefix + "weights", .output = i, .weight_sum = true});
    }
  }
  return columns;
}

std::vector<int> feed_fields(const Network& network, const ir::Graph& graph,
                             const std::vector<Field>& fields) {
  const Wiring wiring = wire(network, fields);
  std::map<std::string, int> place_of_feed;
  for (size_t i = 0; i < network.inputs().size(); ++i) {
    place_of_feed[network.feed_name(i)] = wiring.inputs[i];
  }
  for (size_t i = 0; i < network.outputs().size(); ++i) {
    const Wiring::Output& own = wiring.outputs[i];
    place_of_feed[label_feed(network, i)] = own.labels;
    // An output without weights has no such feed. Another output may have the name.
    if (own.weights >= 0) place_of_feed[weight_feed(wiring, network, i)] = own.weights;
  }
  std::vector<int> places;
  for (const ir::Value* input : graph.inputs()) {
    if (input->role() == ir::InputRole::feed) places.push_back(place_of_feed.at(input->name()));
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
      throw ValueOverMemory("a batch of ", batch_size, ": ", node->label(), " makes ",
                            to_string(type.dtype), type.shape, ", more than the ",
                            human_bytes(static_cast<double>(machine)),
                            " of the machine; use a smaller batch or a smaller network");
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

int64_t samples_in_cache(const ir::Graph& slice, int64_t slice_batch) {
  constexpr int64_t kCacheBytes = 4 << 20;
  int64_t most = 1;
  for (const auto& node : slice.nodes()) {
    int64_t bytes = 0;
    for (const auto* values : {&node->inputs(), &node->outputs()}) {
      for (const ir::Value* value : *values) {
        const bool weight = value->is_input() && value->role() != ir::InputRole::feed;
        if (!weight) bytes += static_cast<int64_t>(value->bytes());
      }
    }
    most = std::max(most, bytes / slice_batch);
  }
  return std::max<int64_t>(kCacheBytes / most, 1);
}

SliceDivision fit_into_cache(const SliceDivision& coarse, int64_t batch, const ir::Graph& slice) {
  constexpr int64_t kMostRounds = 64;  // every slice of a program has addresses of its own
  if (coarse.division != compiler::Division::batch || coarse.slice_batch == 1) return coarse;
  const int64_t samples = std::min(samples_in_cache(slice, coarse.slice_batch), coarse.slice_batch);
  // Every worker gets as many slices as the others.
  const int64_t rounds = std::min(kMostRounds, (coarse.slice_batch + samples - 1) / samples);
  return divide(batch, static_cast<int>(coarse.slices * rounds));
}

}  // namespace pando::train
