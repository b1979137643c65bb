// The noise that rounds the results of a node. It is a function of the run's seed, the node and the
// sample, so neither the division of the batch nor a recomputation of the node changes it.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/base/random.h"
#include "pando/ir/graph.h"
#include "pando/kernels/kernel.h"
#include "pando/tensor/half_rounding.h"

namespace pando::kernels::half {

// The attributes that the pass lower-precision sets on a node to control the rounding of its
// results.
struct NodeRounding {
  bool stochastic = false;
  bool nan_on_overflow = false;
  uint64_t stream = 0;

  NodeRounding() = default;
  explicit NodeRounding(const ir::Node& node)
      : stochastic(node.attributes().get_string("half_rounding") == "stochastic"),
        nan_on_overflow(node.attributes().get_string("half_overflow") == "nan"),
        stream(static_cast<uint64_t>(node.attributes().get_int("half_stream"))) {}

  // The rounding of output `output` for one sample, whose elements are numbered from 0. For a value
  // without samples, pass the number of the slice's first sample.
  HalfRounding of(const StepArgs& step, int64_t sample, int output = 0) const {
    HalfRounding rounding{.stochastic = stochastic, .nan_on_overflow = nan_on_overflow};
    if (!stochastic) return rounding;
    const uint64_t place = 4 * stream + static_cast<uint64_t>(output);
    rounding.key = mix_keys(mix_keys(step.seed, place), static_cast<uint64_t>(sample));
    return rounding;
  }
};

inline bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

}  // namespace pando::kernels::half
