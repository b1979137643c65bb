// SPDX-License-Identifier: MIT
#include "pando/ops/shape_rules.h"

#include "pando/base/error.h"
#include "pando/ops/attribute_values.h"

namespace pando::ops {

InferRule same_type_as_input(int index) {
  return [index](const ir::Node& node) {
    return std::vector<ir::TensorType>(node.outputs().size(), node.input(index)->type());
  };
}

InferRule same_f32_as_all_inputs() {
  return [](const ir::Node& node) {
    require_dtype(node, 0, DType::f32);
    const ir::TensorType& first = node.input(0)->type();
    for (int i = 1; i < node.num_inputs(); ++i) {
      if (node.input(i)->type() != first) {
        throw InvalidArgument(node.label(), ": expected inputs of the same type, got ",
                              to_string(first), " and ", to_string(node.input(i)->type()));
      }
    }
    return std::vector<ir::TensorType>(node.outputs().size(), first);
  };
}

void require_dtype(const ir::Node& node, int input, DType dtype) {
  const ir::TensorType& type = node.input(input)->type();
  if (type.dtype != dtype) {
    throw InvalidArgument(node.label(), ": input ", input, ": expected ", to_string(dtype),
                          ", got ", to_string(type));
  }
}

void require_rank(const ir::Node& node, int input, int least, int most) {
  const Shape& shape = node.input(input)->shape();
  if (shape.rank() < least || shape.rank() > most) {
    throw InvalidArgument(node.label(), ": input ", input, ": expected ",
                          least == most ? concat(least) : concat(least, " to ", most),
                          " axes, got shape ", shape);
  }
}

void require_shape(const ir::Node& node, int input, const Shape& shape) {
  if (node.input(input)->shape() != shape) {
    throw InvalidArgument(node.label(), ": input ", input, ": expected shape ", shape, ", got ",
                          node.input(input)->shape());
  }
}

void require_f32_shape(const ir::Node& node, int input, const Shape& shape) {
  require_dtype(node, input, DType::f32);
  require_shape(node, input, shape);
}

void require_length(const ir::Node& node, std::string_view attribute, size_t wanted) {
  const ir::Ints list = ints_attribute(node, attribute);
  if (list.size() != wanted) {
    throw InvalidArgument(node.label(), ": ", attribute, ": expected ", wanted, " items, got ",
                          ir::to_text(list));
  }
}

}  // namespace pando::ops
