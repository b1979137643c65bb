// SPDX-License-Identifier: MIT
#include "pando/zoo/norm.h"

#include "pando/base/error.h"
#include "pando/nn/layers.h"

namespace pando::zoo {

namespace {

// The name of the layer tells what it is.
std::string group_norm_name(std::string name) {
  const size_t at = name.rfind("bn");
  PANDO_CHECK(at != std::string::npos, "'", name, "' does not say where its kind stands");
  return name.replace(at, 2, "gn");
}

int64_t groups_of(const NormOptions& options, const std::string& name, int64_t channels) {
  const bool by_size = options.channels_per_group > 0;
  if (by_size == (options.num_groups > 0)) {
    throw InvalidArgument("group norm '", name, "': num_groups is ", options.num_groups,
                          ", channels_per_group ", options.channels_per_group,
                          "; wanted exactly one of them above 0");
  }
  const int64_t divisor = by_size ? options.channels_per_group : options.num_groups;
  if (channels % divisor != 0) {
    throw InvalidArgument("group norm '", name, "': its ", channels,
                          " channels do not divide into ", by_size ? "groups of " : "", divisor,
                          by_size ? "" : " groups", "; wanted a divisor of ", channels);
  }
  return by_size ? channels / divisor : divisor;
}

}  // namespace

SymbolicTensor normalise(const SymbolicTensor& x, const NormOptions& options, NormPlace place) {
  if (options.kind != NormKind::group) {
    return BatchNormalization({.momentum = options.momentum,
                               .epsilon = options.epsilon,
                               .gamma_initializer = std::move(place.gamma),
                               .name = std::move(place.name)})(x);
  }
  std::string name = group_norm_name(std::move(place.name));
  const int64_t groups = groups_of(options, name, place.channels);
  return GroupNormalization({.groups = groups,
                             .epsilon = options.epsilon,
                             .strided = options.strided,
                             .gamma_initializer = std::move(place.gamma),
                             .name = std::move(name)})(x);
}

}  // namespace pando::zoo
