// Moves channels of a picture into boxes of `block` x `block` pixels, and back. Pixel (i, j) of a
// box gets channel c from channel (i * block + j) * C + c in mode "DCR" and from channel (c * block
// + i) * block + j in mode "CRD", where C is the number of channels of the larger picture.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

int64_t checked_block(const ir::Node& node) {
  require_dtype(node, 0, DType::f32);
  require_rank(node, 0, 4, 4);
  const int64_t block = int_attribute(node, "block");
  if (block < 1 || block > 65535) {
    throw InvalidArgument(node.label(), ": block: expected 1 to 65535, got ", block);
  }
  return block;
}

std::vector<ir::TensorType> infer_depth_to_space(const ir::Node& node) {
  const int64_t block = checked_block(node);
  const Shape& x = node.input(0)->shape();
  if (x.back() % (block * block) != 0) {
    throw InvalidArgument(node.label(), ": ", x.back(), " channels do not divide into boxes of ",
                          block, "x", block, " pixels");
  }
  return {f32({x[0], x[1] * block, x[2] * block, x.back() / (block * block)})};
}

std::vector<ir::TensorType> infer_space_to_depth(const ir::Node& node) {
  const int64_t block = checked_block(node);
  const Shape& x = node.input(0)->shape();
  if (x[1] % block != 0 || x[2] % block != 0) {
    throw InvalidArgument(node.label(), ": ", x[1], "x", x[2],
                          " pixels do not divide into boxes of ", block, "x", block);
  }
  return {f32({x[0], x[1] / block, x[2] / block, x.back() * block * block})};
}

// Each of the two is the inverse, and so the gradient, of the other.
OpDef moving_op(const char* name, const char* inverse, InferRule infer) {
  return {
      .name = name,
      .inputs = {{"x"}},
      .outputs = {"y"},
      .attributes = {{"block", int64_t{0}, {}}, {"mode", std::string("DCR"), {"DCR", "CRD"}}},
      .infer = std::move(infer),
      .grad = [inverse](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
        grad.add(node.input(0), grad.emit(inverse, {dy[0]}, node.attributes())->output());
      }};
}

}  // namespace

OpDef depth_to_space_op() {
  return moving_op("depth_to_space", "space_to_depth", infer_depth_to_space);
}

OpDef space_to_depth_op() {
  return moving_op("space_to_depth", "depth_to_space", infer_space_to_depth);
}

}  // namespace pando::ops
