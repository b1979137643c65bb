// The number types in which a model computes and stores its values.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/tensor/dtype.h"

namespace pando {

// compute: the type in which activations and their gradients are stored. update: the type in which
// weights, gradient accumulators and optimizer slots are stored, except that slots of squares are
// f32 when it is f16. Arithmetic is always f32; moving statistics and losses are f32.
struct Precision {
  DType compute = DType::f32;
  DType update = DType::f32;

  bool half() const { return compute != DType::f32; }
  bool operator==(const Precision&) const = default;
};

// "32.32", "16.32", "16.16", "bf16.32", "bf16.16": the compute type, then the update type. An
// update type of 16 is the same 16-bit type as the compute type.
std::string to_string(const Precision& precision);
Precision parse_precision(std::string_view text);  // throws InvalidArgument with the known names
std::vector<std::string> precision_names();

// replica_identical_only: only in the weight update, where all replicas compute the same values.
enum class StochasticRounding { off, on, replica_identical_only };

// How f32 numbers are converted to a 16-bit type.
struct HalfOptions {
  StochasticRounding stochastic_rounding = StochasticRounding::off;
  bool nan_on_overflow = false;  // otherwise overflow gives the largest number
  bool half_partials = false;    // partial sums of convolutions and dense layers are rounded too
};

}  // namespace pando
