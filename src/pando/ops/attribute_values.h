// Reads the attributes of a node. Missing ones get the default of the op, so that each default is
// written down once.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "pando/ir/graph.h"

namespace pando::ops {

// The value of the attribute, or its default. Requires: the op has an attribute of that kind.
int64_t int_attribute(const ir::Node& node, std::string_view name);
double number_attribute(const ir::Node& node, std::string_view name);
std::string text_attribute(const ir::Node& node, std::string_view name);
ir::Ints ints_attribute(const ir::Node& node, std::string_view name);
// Accepts a list of integers too.
ir::Numbers numbers_attribute(const ir::Node& node, std::string_view name);

}  // namespace pando::ops
