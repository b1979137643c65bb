// Turns a network into programs: forward, with loss and metrics, with gradients; one per mode and
// batch size, made when first needed and kept.
// SPDX-License-Identifier: MIT
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "pando/compiler/program.h"
#include "pando/data/source.h"
#include "pando/nn/losses.h"
#include "pando/nn/network.h"
#include "pando/runtime/executor.h"
#include "pando/train/run_mode.h"
#include "pando/train/wiring.h"

namespace pando::train {

inline constexpr int64_t kMostBatch = std::numeric_limits<int32_t>::max();

// What the graph of a program depends on.
struct GraphRequest {
  RunMode mode = RunMode::train;
  int64_t batch = 1;          // of one slice
  std::vector<Field> fields;  // of the data; see feed_fields
  const Losses* loss = nullptr;
  const LossWeights* loss_weights = nullptr;  // null: 1 for every output
  const Metrics* metrics = nullptr;           // null: none
  const Metrics* weighted_metrics = nullptr;  // null: none
  std::set<std::string> frozen;
  bool test_time_flip = false;  // in evaluation and prediction: test_time_flip.h
};

// A metric output of a graph.
struct MetricColumn {
  std::string name;
  size_t output = 0;                     // of the network
  std::shared_ptr<const Metric> metric;  // null: the loss of that output, or a sum of weights
  bool weighted = false;                 // its sums are divided by the sum of the samples' weights,
  bool weight_sum = false;               // which is the next of these columns, and is not shown
};
// The metric outputs of the graph of such a request, in their order.
std::vector<MetricColumn> metric_columns(const Network& network, const GraphRequest& request);

// Throws InvalidArgument when the data do not fit the network or the loss.
ir::Graph build_graph(const Network& network, const GraphRequest& request);

// For each feed of a graph that was built for these fields: its place among them (wiring.h), or -1
// if it is zero.
std::vector<int> feed_fields(const Network& network, const ir::Graph& graph,
                             const std::vector<Field>& fields);

// Throws a ResourceError that names the value if one value of the graph of a slice is larger than
// the machine's memory.
void check_sizes(const ir::Graph& graph, int64_t batch_size);

// How a micro-batch is cut: into batch slices of `slice_batch` samples, or, if there are fewer
// samples than slices, each call into parts.
struct SliceDivision {
  int slices = 1;
  int64_t slice_batch = 1;
  compiler::Division division = compiler::Division::batch;
};
SliceDivision divide(int64_t batch, int slices);

// The most samples with which what each node reads and writes, beside weights, stays in the cache
// of a worker; at least 1. `slice` is a graph for `slice_batch` samples.
int64_t samples_in_cache(const ir::Graph& slice, int64_t slice_batch);

// A finer division for inference, where slices do not wait for each other: slices so small that
// what each node reads and writes stays in the cache of a worker. `slice` is the graph of a slice
// of `coarse`.
SliceDivision fit_into_cache(const SliceDivision& coarse, int64_t batch, const ir::Graph& slice);

}  // namespace pando::train
