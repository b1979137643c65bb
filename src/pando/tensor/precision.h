// How precisely a model computes, and what it keeps of its numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/tensor/dtype.h"

namespace pando {

// compute: the stored type of activations and their gradients. update: that of weights, gradient
// accumulators and the optimizer's slots, but for slots of squares, which are f32 where it is f16.
// Arithmetic itself is f32, whatever is stored; moving statistics and losses are f32.
struct Precision {
  DType compute = DType::f32;
  DType update = DType::f32;

  bool half() const { return compute != DType::f32; }
  bool operator==(const Precision&) const = default;
};

// "32.32", "16.32", "16.16", "bf16.32", "bf16.16": what computes, then what is updated. The 16 of
// an update is the 16-bit type of the computation.
std::string to_string(const Precision& precision);
Precision parse_precision(std::string_view text);  // throws InvalidArgument with the known names
std::vector<std::string> precision_names();

// replica_identical_only: only where all replicas compute the same, in the weight update.
enum class StochasticRounding { off, on, replica_identical_only };

// What happens on the way from f32 to a 16-bit type.
struct HalfOptions {
  StochasticRounding stochastic_rounding = StochasticRounding::off;
  bool nan_on_overflow = false;  // otherwise too large becomes the largest number
  bool half_partials = false;    // partial sums of convolutions and dense layers are rounded too
};

}  // namespace pando
