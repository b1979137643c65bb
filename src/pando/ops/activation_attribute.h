// The attributes `activation` and `alpha` of ops that fusion lets apply an activation to their
// result.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/ops/op.h"

namespace pando::ops {

// `own` and the two attributes.
std::vector<AttributeSpec> with_activation(std::vector<AttributeSpec> own);

// Throws InvalidArgument for a negative slope.
void check_activation(const ir::Node& node);

// Throws Unsupported: gradients are taken before fusion.
void require_no_activation(const ir::Node& node);

}  // namespace pando::ops
