// The checks that conv and the fused conv_pool share.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/window.h"

namespace pando::ops {

// Checks x, filter, bias and the attributes; throws InvalidArgument that names the node.
Windows check_conv(const ir::Node& node);

}  // namespace pando::ops
