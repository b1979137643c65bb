// SPDX-License-Identifier: MIT
#include "pando/ops/attribute_values.h"

#include <algorithm>

#include "pando/base/error.h"
#include "pando/ops/op.h"

namespace pando::ops {

namespace {

const ir::Attribute& attribute(const ir::Node& node, std::string_view name) {
  const auto& given = node.attributes().values();
  const auto found = given.find(name);
  if (found != given.end()) return found->second;
  const auto& known = builtin_ops().get(node.op()).attributes;
  const auto spec = std::find_if(known.begin(), known.end(),
                                 [&](const AttributeSpec& s) { return s.name == name; });
  PANDO_CHECK(spec != known.end(), node.label(), " has no attribute '", name, "'");
  return spec->fallback;
}

}  // namespace

int64_t int_attribute(const ir::Node& node, std::string_view name) {
  return std::get<int64_t>(attribute(node, name));
}

double number_attribute(const ir::Node& node, std::string_view name) {
  const ir::Attribute& value = attribute(node, name);
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  return std::get<double>(value);
}

std::string text_attribute(const ir::Node& node, std::string_view name) {
  return std::get<std::string>(attribute(node, name));
}

ir::Ints ints_attribute(const ir::Node& node, std::string_view name) {
  return std::get<ir::Ints>(attribute(node, name));
}

ir::Numbers numbers_attribute(const ir::Node& node, std::string_view name) {
  const ir::Attribute& value = attribute(node, name);
  if (const auto* integers = std::get_if<ir::Ints>(&value)) {
    return ir::Numbers(integers->begin(), integers->end());
  }
  return std::get<ir::Numbers>(value);
}

}  // namespace pando::ops
