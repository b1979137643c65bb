// SPDX-License-Identifier: MIT
#include "pando/ops/activation_attribute.h"

#include <algorithm>

#include "pando/base/error.h"
#include "pando/ops/attribute_values.h"

namespace pando::ops {

std::vector<AttributeSpec> with_activation(std::vector<AttributeSpec> own) {
  own.push_back(
      {.name = "activation", .fallback = std::string("none"), .names_op = Trait::post_op});
  own.push_back({"alpha", 0.0, {}});
  own.push_back({"approximate", 0.0, {}});
  return own;
}

std::vector<AttributeSpec> with_mask(std::vector<AttributeSpec> own,
                                     std::vector<std::string> choices) {
  choices.insert(choices.begin(), "none");
  own.push_back({"activation", std::string("none"), std::move(choices)});
  own.push_back({"alpha", 0.0, {}});
  return own;
}

bool can_name_activation(const ir::Node& node, const std::string& activation) {
  const AttributeSpec* spec = definition(node).attribute("activation");
  return spec != nullptr &&
         std::find(spec->choices.begin(), spec->choices.end(), activation) != spec->choices.end();
}

void set_activation(ir::Node& node, const std::string& activation, const ir::Node& source) {
  node.attributes().set("activation", activation);
  for (const AttributeSpec& spec : definition(source).attributes) {
    node.attributes().set(spec.name, number_attribute(source, spec.name));
  }
}

void check_activation(const ir::Node& node) {
  // The negated comparison refuses a NaN too.
  const double alpha = number_attribute(node, "alpha");
  if (!(alpha >= 0)) {
    throw InvalidArgument(node.label(), ": alpha: expected 0 or more, got ", alpha);
  }
}

void require_no_activation(const ir::Node& node) {
  const std::string activation = text_attribute(node, "activation");
  if (activation != "none") {
    throw Unsupported(node.label(), ": no gradient with activation \"", activation,
                      "\"; take gradients before fusion");
  }
}

}  // namespace pando::ops
