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

namespace pando::train {

inline constexpr int64_t kMostBatch = std::numeric_limits<int32_t>::max();

// What the graph of a program depends on.
struct GraphRequest {
  RunMode mode = RunMode::train;
  int64_t batch = 1;          // of one slice
  std::vector<Field> fields;  // of the data; see feed_fields
  const Loss* loss = nullptr;
  const std::vector<Metric>* metrics = nullptr;
  const std::vector<Metric>* weighted_metrics = nullptr;  // null: none
  std::set<std::string> frozen;
};

// The place of the weights of samples among these fields, -1 if there are none: "sample_weight", or
// the third field if it is no auxiliary input.
int weight_field(const Network& network, const std::vector<Field>& fields);

// Throws InvalidArgument when the data do not fit the network or the loss.
ir::Graph build_graph(const Network& network, const GraphRequest& request);

// For each feed of a graph that was built for these fields: its place among them, or -1 if it is
// zero. The first field is x, the second y; auxiliary inputs are found by name. Prediction needs
// only x and these.
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

// A finer division for inference, where slices do not wait for each other: as many slices of at
// most so many samples that what each node reads and writes stays in the cache of a worker. `slice`
// is the graph of a slice of `coarse`.
SliceDivision fit_into_cache(const SliceDivision& coarse, int64_t batch, const ir::Graph& slice);

}  // namespace pando::train
