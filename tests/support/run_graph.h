// A small interpreter for tests: runs a graph node by node on host tensors, with the reference
// kernels or with those a test chooses. Every buffer has exactly the size that its value needs and
// starts out as NaN, so that the address sanitizer and comparisons find what a kernel gets wrong.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pando/ir/graph.h"
#include "pando/kernels/kernel.h"
#include "pando/tensor/tensor.h"

namespace pando::test {

// Tensors by the names of values.
using Values = std::map<std::string, Tensor>;

// Whether a candidate may compute a node.
using CandidateFilter = std::function<bool(const ir::Node&, const kernels::Candidate&)>;

struct RunOptions {
  // Absent: all samples of the feed with the most axes are valid.
  std::optional<kernels::StepArgs> step;
  // The first candidate that passes and does not refuse computes the node. Absent: the reference.
  CandidateFilter use;
  int parts = 1;  // of calls of kernels that split, except batch sums
};

// Accepts every candidate of that name, and the reference where it refuses.
CandidateFilter prefer(std::string name);

// Step arguments under which all samples of a batch are valid.
kernels::StepArgs whole_batch(int64_t batch);

// Computes all values of a typed graph and returns them together with the inputs. Throws
// InvalidArgument if an input is missing or has another type, or if no candidate takes a node.
Values run_graph(const ir::Graph& graph, const Values& inputs, const RunOptions& options = {});

// The value of an output of a graph that run_graph() computed.
const Tensor& output_of(const ir::Graph& graph, const Values& values, ir::OutputRole role,
                        std::string_view name);

// Parses a graph and infers the types of all its values.
ir::Graph typed_graph(std::string_view text);

// Numbers in [low, high), a pure function of the key.
Tensor random_tensor(const Shape& shape, uint64_t key, float low = -1, float high = 1);

}  // namespace pando::test
