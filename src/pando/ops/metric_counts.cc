// Numbers per sample whose sums over samples give metrics that are not means: how often classes are
// right, how scores are spread, how values differ. A class number out of range marks a place
// without a label, which counts nowhere.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

// Labels are f32 like the predictions, or i32 class numbers without their last axis.
void check_counted_labels(const ir::Node& node) {
  const Shape& predictions = node.input(0)->shape();
  const ir::TensorType& labels = node.input(1)->type();
  if (predictions.rank() < 2) {
    throw InvalidArgument(node.label(), ": expected predictions [batch, ..., n], got ",
                          predictions);
  }
  const Shape classes(std::vector<int64_t>(predictions.begin(), predictions.end() - 1));
  if (labels.dtype == DType::i32 && labels.shape == classes) return;
  if (labels.dtype == DType::f32 && labels.shape == predictions) return;
  throw InvalidArgument(node.label(), ": expected labels i32", classes, " or f32", predictions,
                        ", got ", to_string(labels.dtype), labels.shape);
}

}  // namespace

// Over the places of a sample before the last axis: for every class the right predictions, all
// predictions and all labels of it. With by_class = 0, all elements are one class: predictions at
// or above the threshold, and labels at or above one half.
OpDef class_counts_op() {
  return {.name = "class_counts",
          .inputs = {{"predictions"}, {"labels"}},
          .outputs = {"counts"},
          .attributes = {{"by_class", int64_t{1}, {}}, {"threshold", 0.5, {}}},
          .traits = {Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                check_counted_labels(node);
                const Shape& predictions = node.input(0)->shape();
                const bool by_class = int_attribute(node, "by_class") != 0;
                if (!by_class && node.input(1)->type().dtype != DType::f32) {
                  throw InvalidArgument(node.label(), ": by_class = 0: expected f32 labels, got ",
                                        to_string(node.input(1)->type().dtype));
                }
                return std::vector{f32({predictions[0], 3 * (by_class ? predictions.back() : 1)})};
              },
          .exact = {"labels", "counts"}};
}

// How many elements with label 1 have their score in each of the buckets that divide 0 to 1, then
// the same for label 0.
OpDef score_counts_op() {
  return {.name = "score_counts",
          .inputs = {{"predictions"}, {"labels"}},
          .outputs = {"counts"},
          .attributes = {{"buckets", int64_t{200}, {}}},
          .traits = {Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                check_counted_labels(node);
                const int64_t buckets = int_attribute(node, "buckets");
                if (buckets < 2 || buckets > 100000) {
                  throw InvalidArgument(node.label(), ": buckets: expected 2 to 100000, got ",
                                        buckets);
                }
                return std::vector{f32({node.input(0)->shape()[0], 2 * buckets})};
              },
          .exact = {"predictions", "labels", "counts"}};
}

// For each element of a sample: the label, its square, and the square of the error.
OpDef target_sums_op() {
  return {.name = "target_sums",
          .inputs = {{"predictions"}, {"labels"}},
          .outputs = {"sums"},
          .traits = {Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                const Shape& predictions = node.input(0)->shape();
                require_f32_shape(node, 1, predictions);
                return std::vector{f32({predictions[0], 3 * predictions.elements_from(1)})};
              },
          .exact = {"labels", "sums"}};
}

}  // namespace pando::ops
