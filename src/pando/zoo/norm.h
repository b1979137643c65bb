// The normalisation of a named model: which kind of layer, chosen by its builder's options.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "pando/nn/initializers.h"
#include "pando/nn/layer.h"

namespace pando {

// Both batch norms are one layer: their moving statistics follow the global batch. They differ in
// the momentum that the program gives them.
enum class NormKind { batch, custom_batch, group };

struct NormOptions {
  NormKind kind = NormKind::custom_batch;
  double momentum = 0.97;  // of moving statistics
  double epsilon = 1.001e-5;
  // Of group norm: exactly one of the two is above 0.
  int64_t num_groups = 0;
  int64_t channels_per_group = 0;
  bool strided = false;  // channel c belongs to group c mod groups
};

namespace zoo {

// One normalisation layer of a model.
struct NormPlace {
  std::string name;  // with "bn" in it, which is "gn" for a group norm
  int64_t channels = 0;
  Initializer gamma = Ones();
};

// Throws InvalidArgument when the options do not go together or do not divide the channels.
SymbolicTensor normalise(const SymbolicTensor& x, const NormOptions& options, NormPlace place);

}  // namespace zoo
}  // namespace pando
