// The attributes `activation` and `alpha` of ops that fusion lets apply an activation to their
// result.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/ops/op.h"

namespace pando::ops {

// `own` and the two attributes.
std::vector<AttributeSpec> with_activation(std::vector<AttributeSpec> own);

// Makes `node` apply `activation`, or mask by it, with the attributes that `source` has: a node of
// the activation or of its gradient.
void set_activation(ir::Node& node, const std::string& activation, const ir::Node& source);

// Throws InvalidArgument for a negative slope.
void check_activation(const ir::Node& node);

// Throws Unsupported: gradients are taken before fusion.
void require_no_activation(const ir::Node& node);

}  // namespace pando::ops
