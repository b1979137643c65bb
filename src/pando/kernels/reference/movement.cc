// Ops that only move elements.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/half/rounding_key.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"
#include "pando/tensor/convert.h"
#include "pando/tensor/half.h"

namespace pando::kernels {

namespace {

// A box of elements inside a larger tensor, with strides.
struct Box {
  Shape box;
  Shape whole;
  ir::Ints begin;
  ir::Ints strides;  // empty: all 1

  // The index in the whole tensor of element `i` of the box.
  int64_t place(int64_t i) const {
    int64_t place = 0;
    int64_t weight = 1;
    for (int axis = box.rank() - 1; axis >= 0; --axis) {
      const auto at = static_cast<size_t>(axis);
      const int64_t stride = strides.empty() ? 1 : strides[at];
      place += (begin[at] + i % box[axis] * stride) * weight;
      i /= box[axis];
      weight *= whole[axis];
    }
    return place;
  }
};

// Copies the box into a tensor of zeros.
KernelOffer scatter(const Box& box) {
  const int64_t count = box.box.elements();
  const int64_t whole = box.whole.elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    std::fill(args.out(), args.out() + whole, 0.0f);
    for (int64_t i = 0; i < count; ++i) args.out()[box.place(i)] = args.in(0)[i];
  });
}

float element_as_float(DType dtype, const std::byte* from, int64_t i) {
  switch (dtype) {
    case DType::f32: return reinterpret_cast<const float*>(from)[i];
    case DType::f16: return from_f16(reinterpret_cast<const uint16_t*>(from)[i]);
    case DType::bf16: return from_bf16(reinterpret_cast<const uint16_t*>(from)[i]);
    case DType::u8: return static_cast<float>(reinterpret_cast<const uint8_t*>(from)[i]);
    case DType::i32: return static_cast<float>(reinterpret_cast<const int32_t*>(from)[i]);
  }
  return 0;
}

}  // namespace

KernelOffer reference_pad(const ir::Node& node) {
  return scatter({.box = node.input(0)->shape(),
                  .whole = node.output()->shape(),
                  .begin = ops::ints_attribute(node, "low"),
                  .strides = {}});
}

KernelOffer reference_slice(const ir::Node& node) {
  const Box box{.box = node.output()->shape(),
                .whole = node.input(0)->shape(),
                .begin = ops::ints_attribute(node, "begin"),
                .strides = ops::ints_attribute(node, "strides")};
  const int64_t count = box.box.elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) args.out()[i] = args.in(0)[box.place(i)];
  });
}

KernelOffer reference_slice_grad(const ir::Node& node) {
  return scatter({.box = node.input(0)->shape(),
                  .whole = node.output()->shape(),
                  .begin = ops::ints_attribute(node, "begin"),
                  .strides = ops::ints_attribute(node, "strides")});
}

KernelOffer reference_concat(const ir::Node& node) {
  const auto axis = static_cast<int>(ops::int_attribute(node, "axis"));
  const Shape& y = node.output()->shape();
  const int64_t width = y.elements_from(axis);
  const int64_t rows = width == 0 ? 0 : y.elements() / width;
  std::vector<int64_t> widths;
  for (const ir::Value* x : node.inputs()) widths.push_back(x->shape().elements_from(axis));
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t r = 0; r < rows; ++r) {
      float* out = args.out() + r * width;
      for (int i = 0; i < args.num_inputs; ++i) {
        const int64_t own = widths[static_cast<size_t>(i)];
        out = std::copy_n(args.in(i) + r * own, own, out);
      }
    }
  });
}

KernelOffer reference_view(const ir::Node& node) {
  const size_t bytes = node.output()->bytes();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    // A view may share the memory of its input.
    std::memmove(args.outputs[0], args.inputs[0], bytes);
  });
}

KernelOffer reference_cast(const ir::Node& node) {
  const Shape& shape = node.output()->shape();
  const int64_t count = shape.elements();
  // A variable has no samples: one numbering runs over all its elements.
  const int64_t row = node.op() == "round_variable" ? count : shape.elements_from(1);
  const DType from = node.input(0)->type().dtype;
  const DType to = node.output()->type().dtype;
  const half::NodeRounding node_rounding(node);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs& step) {
    if (from == to) {
      std::memmove(args.outputs[0], args.inputs[0], static_cast<size_t>(count) * size_of(to));
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      const float value = element_as_float(from, args.inputs[0], i);
      HalfRounding rounding = node_rounding.of(step, step.first_sample + i / row);
      rounding.first = static_cast<uint64_t>(i % row);
      switch (to) {
        case DType::f32: args.out()[i] = value; break;
        case DType::f16:
        case DType::bf16:
          round_halves(to, &value, args.out_as<uint16_t>(0) + i, 1, rounding);
          break;
        case DType::u8: args.out_as<uint8_t>(0)[i] = f32_to_u8(value); break;
        case DType::i32: args.out_as<int32_t>(0)[i] = f32_to_i32(value); break;
      }
    }
  });
}

}  // namespace pando::kernels
