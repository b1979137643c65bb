// The record of an op: its schema, shape rule, gradient and traits. The rest of Pando learns about
// ops only from these records; all_ops.cc is the only list of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/ir/graph.h"
#include "pando/ops/grad_builder.h"

namespace pando::ops {

enum class Trait {
  in_place,        // the output may overwrite input 0 when no other op needs it
  view,            // the output is input 0 under another shape; nothing is computed
  no_grad,         // gradients do not flow through
  batch_sum,       // outputs are sums over samples: each slice holds its own part of the sum
  gathers_slices,  // reads the input of all slices at once, after all of them have computed it
  per_update,      // depends on variables only: runs once per weight update, not once per slice
  pixelwise,       // pixels do not depend on each other: a batch may be cut between any two, if all
                   // operands have them
  moments,         // batch_sum whose outputs are merged as moments, not added
  activation,      // layers apply it by name: one input, one output, defaults for all attributes
  post_op,         // an activation that other ops can apply to their own result, unless its
                   // gradient reads what it was applied to
  takes_post_op,   // applies the post_op that its attribute `activation` names
  linear_filter,   // input 1 is a filter in which the result is linear, input 2 an optional bias;
                   // the last axis of both is that of the result
  chooses,         // output 1 says which elements of input 0 were chosen; only these get gradients
  // As linear_filter, but the last axis but one of the filter is that of the result, whose elements
  // depend on different parts of the filter.
  transposed_filter,
};

// The kind of sums of products that an op computes. Options and statistics about them use it.
enum class Products { none, convolution, matrix };

struct InputSpec {
  std::string name;
  bool optional = false;  // may be left out; only at the end
  bool variadic = false;  // one or more; only the last
  bool shared = false;    // has no batch axis: when a batch is cut, every tile reads all of it
};

// An attribute and its default. A value must be of the same kind as the default (integers are
// accepted as numbers). Without choices the schema accepts any value of that kind.
struct AttributeSpec {
  std::string name;
  ir::Attribute fallback;
  std::vector<std::string> choices = {};
  std::optional<Trait> names_op = {};  // its choices are "none" and all ops with this trait
  bool holds_batch = false;            // the first of its integers is the batch
};

using InferRule = std::function<std::vector<ir::TensorType>(const ir::Node&)>;
// Adds the gradients of the inputs. The span holds the gradients of the outputs, null for an output
// without one.
using GradRule = std::function<void(const ir::Node&, std::span<ir::Value* const>, GradBuilder&)>;

struct OpDef {
  std::string name;
  std::vector<InputSpec> inputs;
  std::vector<std::string> outputs;  // names of all outputs; trailing ones may be optional
  int optional_outputs = 0;          // how many of the last outputs may be absent
  std::vector<AttributeSpec> attributes;
  std::vector<Trait> traits;
  InferRule infer;
  GradRule grad;  // empty with Trait::no_grad
  // Inputs and outputs that stay f32 at every precision: statistics, losses, sums over samples.
  std::vector<std::string> exact = {};
  Products products = Products::none;
  std::string gradient_of = {};  // set in a gradient op over (dy, y): its forward post_op

  bool has(Trait trait) const;
  const AttributeSpec* attribute(std::string_view attribute) const;  // null if it has none
};

// Ops by name. Immutable after construction.
class OpTable {
 public:
  explicit OpTable(std::vector<OpDef> ops);
  const OpDef& get(std::string_view name) const;  // throws InvalidArgument with the known names
  const OpDef* find(std::string_view name) const;
  const std::vector<OpDef>& all() const { return ops_; }
  std::vector<std::string> names_with(Trait trait) const;

 private:
  std::vector<OpDef> ops_;
};

// The only list of ops (all_ops.cc).
const OpTable& builtin_ops();

// Checks the node against its op's schema (inputs, outputs, attributes) and returns the types of
// its outputs by the op's shape rule. Throws InvalidArgument that names the node.
std::vector<ir::TensorType> infer_types(const ir::Node& node);

// The name and the record of an input in the schema. A backward op that masks by an activation
// takes the forward result y as its last input.
std::string_view input_name(const ir::Node& node, int index);
const InputSpec& input_spec(const ir::Node& node, int index);

// Whether an input or output stays f32 at every precision.
bool is_exact_input(const ir::Node& node, int index);
bool is_exact_output(const ir::Node& node, int index);

// The record of the node's op.
const OpDef& definition(const ir::Node& node);

// Whether the node's op has the trait.
bool has_trait(const ir::Node& node, Trait trait);

}  // namespace pando::ops
