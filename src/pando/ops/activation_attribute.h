// The attribute `activation`, and `alpha` and `approximate` of that activation. Fusion sets them on
// ops that can apply an activation to their own result.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/ops/op.h"

namespace pando::ops {

// Returns `own` followed by the attributes of an activation.
std::vector<AttributeSpec> with_activation(std::vector<AttributeSpec> own);

// The same for a backward op that multiplies dy by the derivative at y: `choices` are the
// activations that it knows besides "none".
std::vector<AttributeSpec> with_mask(std::vector<AttributeSpec> own,
                                     std::vector<std::string> choices);

// Whether the node's attribute `activation` may name this op.
bool can_name_activation(const ir::Node& node, const std::string& activation);

// Makes `node` apply `activation` (or mask by it, in a backward op). Copies the attributes from
// `source`, a node of the activation or of its gradient.
void set_activation(ir::Node& node, const std::string& activation, const ir::Node& source);

// Throws InvalidArgument for a negative slope.
void check_activation(const ir::Node& node);

// Throws Unsupported if the node has an activation: gradients are taken before fusion.
void require_no_activation(const ir::Node& node);

}  // namespace pando::ops
