// Shape rules that several ops share.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/op.h"

namespace pando::ops {

// The type of input `index`, for all outputs.
InferRule same_type_as_input(int index);

// All inputs must have one type, which is the output's.
InferRule same_type_as_all_inputs();

// Throws InvalidArgument that names the node unless the input is of that type or rank.
void require_dtype(const ir::Node& node, int input, DType dtype);
void require_rank(const ir::Node& node, int input, int least, int most);
void require_shape(const ir::Node& node, int input, const Shape& shape);

}  // namespace pando::ops
