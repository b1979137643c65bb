// What conv and the fused conv_pool check alike.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/window.h"

namespace pando::ops {

// Checks x, kernel, bias and the attributes; throws InvalidArgument that names the node.
Windows check_conv(const ir::Node& node);

}  // namespace pando::ops
