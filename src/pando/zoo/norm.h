// The normalisations of named models: one record each, chosen by name in the options of a model's
// builder. norm.cc has the only list of them; the keys of --norm-layer are derived from it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/base/parameter_range.h"
#include "pando/nn/initializers.h"
#include "pando/nn/layer.h"

namespace pando {

struct NormOptions {
  std::string name = "custom_batch_norm";
  std::optional<double> epsilon = {};         // nothing: that of the network
  std::map<std::string, double> params = {};  // missing ones have the defaults of the record
};

namespace zoo {

// Added to variances. Networks with weights published for Keras use the value of Keras; networks
// with weights published for PyTorch use the other: nearly constant channels differ by 0.05 %
// between the two.
inline constexpr double kKerasEpsilon = 1.001e-5;
inline constexpr double kTorchEpsilon = 1e-5;

// The options with this epsilon, unless they have one.
NormOptions with_epsilon(NormOptions options, double epsilon);

// One normalisation layer of a model.
struct NormPlace {
  std::string name;  // contains "bn", which is replaced by the stem of the record
  int64_t channels = 0;
  Initializer gamma = Ones();
};

struct NormParameter {
  std::string name;
  double fallback = 0;
  ParameterRange range = ParameterRange::any;
  // If set, --norm-layer cannot change this parameter; use the normalisation named here instead.
  std::string changed_by = {};
};

// All parameters of a record with their values.
using NormValues = std::map<std::string, double>;

struct NormRecord {
  std::string name;
  std::string stem;     // in names of layers
  std::string summary;  // for the help of --norm-layer
  std::vector<NormParameter> parameters;
  std::vector<std::string> exactly_one = {};  // exactly one of these parameters must be given
  // Throws InvalidArgument if the values do not fit the place. The name of the place already has
  // the stem.
  std::function<Layer(const NormValues&, double epsilon, NormPlace)> layer;
};

// The only list of normalisations.
const std::vector<NormRecord>& normalisations();

// Throws InvalidArgument with the known names.
const NormRecord& norm_record(std::string_view name);

// Applies the normalisation to x. Throws InvalidArgument if the options contradict each other or do
// not fit the number of channels.
SymbolicTensor normalise(const SymbolicTensor& x, const NormOptions& options, NormPlace place);

}  // namespace zoo
}  // namespace pando
