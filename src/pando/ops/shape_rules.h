// Shape rules that several ops share.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/op.h"

namespace pando::ops {

// All outputs have the type of input `index`.
InferRule same_type_as_input(int index);

// All inputs must be f32 of the same shape; the output has that type too.
InferRule same_f32_as_all_inputs();

// Throw InvalidArgument that names the node unless the input has that type, rank or shape.
void require_dtype(const ir::Node& node, int input, DType dtype);
void require_rank(const ir::Node& node, int input, int least, int most);
void require_shape(const ir::Node& node, int input, const Shape& shape);
void require_f32_shape(const ir::Node& node, int input, const Shape& shape);
// Throws InvalidArgument unless the attribute, a list, has `wanted` items.
void require_length(const ir::Node& node, std::string_view attribute, size_t wanted);

inline ir::TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

}  // namespace pando::ops
