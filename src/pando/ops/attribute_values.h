// Attributes of a node with the defaults of its op, so that a default is written down once.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "pando/ir/graph.h"

namespace pando::ops {

// The attribute of the node, or its op's default. Requires: the op has an attribute of that kind.
int64_t int_attribute(const ir::Node& node, std::string_view name);
double number_attribute(const ir::Node& node, std::string_view name);
std::string text_attribute(const ir::Node& node, std::string_view name);
ir::Ints ints_attribute(const ir::Node& node, std::string_view name);
// Integers count as numbers.
ir::Numbers numbers_attribute(const ir::Node& node, std::string_view name);

}  // namespace pando::ops
