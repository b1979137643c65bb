// SPDX-License-Identifier: MIT
#include "pando/ops/op.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pando/base/error.h"

namespace pando::ops {

bool OpDef::has(Trait trait) const {
  return std::find(traits.begin(), traits.end(), trait) != traits.end();
}

const AttributeSpec* OpDef::attribute(std::string_view attribute) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(),
                   [&](const AttributeSpec& spec) { return spec.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

OpTable::OpTable(std::vector<OpDef> ops) : ops_(std::move(ops)) {
  std::sort(ops_.begin(), ops_.end(),
            [](const OpDef& a, const OpDef& b) { return a.name < b.name; });
  for (size_t i = 1; i < ops_.size(); ++i) {
    PANDO_CHECK(ops_[i - 1].name != ops_[i].name, "op '", ops_[i].name, "' is listed twice");
  }
  for (OpDef& op : ops_) {
    for (AttributeSpec& spec : op.attributes) {
      if (!spec.names_op) continue;
      spec.choices = names_with(*spec.names_op);
      spec.choices.insert(spec.choices.begin(), "none");
    }
  }
}

std::vector<std::string> OpTable::names_with(Trait trait) const {
  std::vector<std::string> names;
  for (const OpDef& op : ops_) {
    if (op.has(trait)) names.push_back(op.name);
  }
  return names;
}

const OpDef* OpTable::find(std::string_view name) const {
  const auto at = std::lower_bound(ops_.begin(), ops_.end(), name,
                                   [](const OpDef& op, std::string_view n) { return op.name < n; });
  return at != ops_.end() && at->name == name ? &*at : nullptr;
}

const OpDef& OpTable::get(std::string_view name) const {
  if (const OpDef* op = find(name)) return *op;
  std::vector<std::string> known;
  for (const OpDef& op : ops_) known.push_back(op.name);
  throw InvalidArgument(unknown_name_message("op", name, known));
}

namespace {

void check_inputs(const ir::Node& node, const OpDef& op) {
  const auto given = static_cast<size_t>(node.num_inputs());
  size_t required = 0;
  for (const InputSpec& input : op.inputs) required += input.optional ? 0 : 1;
  const bool variadic = !op.inputs.empty() && op.inputs.back().variadic;
  if (given < required || (given > op.inputs.size() && !variadic)) {
    std::vector<std::string> names;
    for (const InputSpec& input : op.inputs) {
      names.push_back(input.name + (input.variadic ? "..." : input.optional ? "?" : ""));
    }
    throw InvalidArgument(node.label(), ": expected inputs (", join(names, ", "), "), got ", given,
                          " inputs");
  }
}

void check_outputs(const ir::Node& node, const OpDef& op) {
  const auto given = static_cast<size_t>(node.num_outputs());
  const size_t least = op.outputs.size() - static_cast<size_t>(op.optional_outputs);
  if (given < least || given > op.outputs.size()) {
    throw InvalidArgument(node.label(), ": expected outputs (", join(op.outputs, ", "), "), got ",
                          given, " outputs");
  }
}

// Kernels compute in 32 bits: what these cannot hold, NaN included, would make results that are not
// finite somewhere later.
void check_number(const ir::Node& node, const AttributeSpec& spec, double number) {
  constexpr double kMost = std::numeric_limits<float>::max();
  if (std::abs(number) <= kMost) return;
  throw InvalidArgument(node.label(), ": ", spec.name, ": expected a number from ", -kMost, " to ",
                        kMost, ", got ", number);
}

void check_attribute(const ir::Node& node, const AttributeSpec& spec, const ir::Attribute& value) {
  const bool integers_as_numbers =
      (std::holds_alternative<double>(spec.fallback) && std::holds_alternative<int64_t>(value)) ||
      (std::holds_alternative<ir::Numbers>(spec.fallback) &&
       std::holds_alternative<ir::Ints>(value));
  if (value.index() != spec.fallback.index() && !integers_as_numbers) {
    throw InvalidArgument(node.label(), ": attribute '", spec.name, "': expected ",
                          ir::kind_name(spec.fallback), ", got ", ir::kind_name(value));
  }
  if (const auto* number = std::get_if<double>(&value)) check_number(node, spec, *number);
  if (const auto* numbers = std::get_if<ir::Numbers>(&value)) {
    for (const double number : *numbers) check_number(node, spec, number);
  }
  if (spec.choices.empty()) return;
  const auto& text = std::get<std::string>(value);
  if (std::find(spec.choices.begin(), spec.choices.end(), text) == spec.choices.end()) {
    throw InvalidArgument(node.label(), ": ", unknown_name_message(spec.name, text, spec.choices));
  }
}

void check_attributes(const ir::Node& node, const OpDef& op) {
  for (const auto& [name, value] : node.attributes().values()) {
    const AttributeSpec* spec = op.attribute(name);
    if (spec == nullptr) {
      std::vector<std::string> known;
      for (const AttributeSpec& s : op.attributes) known.push_back(s.name);
      throw InvalidArgument(node.label(), ": ", unknown_name_message("attribute", name, known));
    }
    check_attribute(node, *spec, value);
  }
}

// Elements of a petabyte of 32-bit numbers. This is far below the range of int64_t, so that later
// shape rules may add and multiply extents.
constexpr int64_t kMostElements = int64_t{1} << 48;

void check_size(const ir::Node& node, const ir::TensorType& type) {
  int64_t count = 1;
  for (const int64_t extent : type.shape) {
    if (extent <= kMostElements && !__builtin_mul_overflow(count, extent, &count) &&
        count <= kMostElements) {
      continue;
    }
    throw InvalidArgument(node.label(), ": the result ", to_string(type.shape),
                          " has too many elements; expected at most ", kMostElements);
  }
}

}  // namespace

std::vector<ir::TensorType> infer_types(const ir::Node& node) {
  const OpDef& op = builtin_ops().get(node.op());
  check_inputs(node, op);
  check_outputs(node, op);
  check_attributes(node, op);
  auto types = op.infer(node);
  types.resize(node.outputs().size());
  for (const ir::TensorType& type : types) check_size(node, type);
  return types;
}

std::string_view input_name(const ir::Node& node, int index) {
  return input_spec(node, index).name;
}

const InputSpec& input_spec(const ir::Node& node, int index) {
  const std::vector<InputSpec>& inputs = builtin_ops().get(node.op()).inputs;
  const bool last = index + 1 == node.num_inputs();
  const bool masks = inputs.back().name == "y" && inputs.back().optional &&
                     node.attributes().get_string("activation", "none") != "none";
  if (last && masks) return inputs.back();
  return inputs[std::min(static_cast<size_t>(index), inputs.size() - 1)];
}

namespace {

bool is_exact(const OpDef& op, std::string_view name) {
  return std::find(op.exact.begin(), op.exact.end(), name) != op.exact.end();
}

}  // namespace

bool is_exact_input(const ir::Node& node, int index) {
  return is_exact(builtin_ops().get(node.op()), input_name(node, index));
}

bool is_exact_output(const ir::Node& node, int index) {
  const OpDef& op = builtin_ops().get(node.op());
  return is_exact(op, op.outputs[static_cast<size_t>(index)]);
}

const OpDef& definition(const ir::Node& node) { return builtin_ops().get(node.op()); }

bool has_trait(const ir::Node& node, Trait trait) { return definition(node).has(trait); }

}  // namespace pando::ops
