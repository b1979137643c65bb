// Shape rules that several ops share.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/op.h"

namespace pando::ops {

// The type of input `index`, for all outputs.
InferRule same_type_as_input(int index);

// All inputs must be f32 and have one shape, which is the output's.
InferRule same_f32_as_all_inputs();

// Throws InvalidArgument that names the node unless the input is of that type or rank.
void require_dtype(const ir::Node& node, int input, DType dtype);
void require_rank(const ir::Node& node, int input, int least, int most);
void require_shape(const ir::Node& node, int input, const Shape& shape);
void require_f32_shape(const ir::Node& node, int input, const Shape& shape);
// Throws InvalidArgument unless the attribute, a list, has that many items.
void require_length(const ir::Node& node, std::string_view attribute, size_t wanted);

inline ir::TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

}  // namespace pando::ops
