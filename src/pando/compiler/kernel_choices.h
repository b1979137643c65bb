// Which kernel computes a layer where the fixed order of the candidates does not decide: a choice
// is found by the layer's shape, so it holds for every layer of that shape.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pando/kernels/kernel.h"

namespace pando {

// How kernels are chosen. off: by the fixed order of the candidates, the same bits everywhere.
// quick: our own kernels are timed for some milliseconds each. full: all kernels are timed, longer.
enum class Tuning { off, quick, full };

std::string to_string(Tuning tuning);

// The candidate ("winograd", "direct", ...) for each layer whose kernel is not the first in the
// fixed order that accepts it, by compiler::layer_key(). They decide the bits of results.
using KernelChoices = std::map<std::string, std::string, std::less<>>;

// "KEY=candidate" for each choice, and back. Throws InvalidArgument for another form.
std::vector<std::string> to_texts(const KernelChoices& choices);
KernelChoices parse_kernel_choices(const std::vector<std::string>& texts);

namespace compiler {

// The measured cost of a kernel for a layer.
struct KernelTime {
  std::string candidate;
  double seconds = 0;  // of a call while all workers are busy, with its share of packing
  // Root mean square of the rounding error, relative to that of the result; negative: unknown.
  double error = -1;
};

// A choice with its reason. Without times it was given, not measured.
struct KernelDecision {
  std::string candidate;
  std::string table;              // the first in the fixed order that accepts the layer
  std::vector<KernelTime> times;  // of all candidates that were timed

  const KernelTime* time_of(std::string_view name) const;  // null: not timed
};

// A candidate that may compute a layer.
struct KernelOption {
  std::string candidate;
  kernels::KernelOffer offer;
};

// A node as it is before its filter is packed.
struct TunableLayer {
  const ir::Node& node;
  std::string key;
  std::string table;  // the candidate that the fixed order gives
  // All candidates that the options allow and that can compute the node, except the reference
  // kernel.
  std::function<std::vector<KernelOption>()> options;
};

// Returns null where the fixed order of the candidates decides. What it points to is valid until
// the next call.
using Decide = std::function<const KernelDecision*(const TunableLayer&)>;

// Answers with these choices.
Decide decide_by(KernelChoices choices);

// The op with its shapes, types and attributes, without spaces:
// "conv/8x32x32x16/3x3x16x16/padding:same". `limits` says which candidates are not allowed.
std::string layer_key(const ir::Node& node, std::string_view limits);

}  // namespace compiler
}  // namespace pando
