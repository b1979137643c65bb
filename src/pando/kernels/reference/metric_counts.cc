// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

// The class of a place: its class number, or the largest of its numbers.
template <typename Labels>
int64_t label_at(const Labels* labels, int64_t place, int64_t classes) {
  if constexpr (std::is_same_v<Labels, int32_t>) {
    (void)classes;
    return labels[place];
  } else {
    const float* row = labels + place * classes;
    return std::max_element(row, row + classes) - row;
  }
}

// Other numbers mark places without a label.
bool is_class(int64_t label, int64_t classes) { return label >= 0 && label < classes; }

template <typename Labels>
void count_classes(const float* predictions, const Labels* labels, const Shape& shape,
                   float* counts) {
  const int64_t classes = shape.back();
  const int64_t places = shape.elements_from(1) / classes;
  std::fill_n(counts, shape[0] * 3 * classes, 0.0f);
  for (int64_t i = 0; i < shape[0] * places; ++i) {
    float* hits = counts + i / places * 3 * classes;
    const float* row = predictions + i * classes;
    const int64_t predicted = std::max_element(row, row + classes) - row;
    const int64_t label = label_at(labels, i, classes);
    if (!is_class(label, classes)) continue;  // not labelled: any prediction will do
    hits[classes + predicted] += 1;
    hits[2 * classes + label] += 1;
    if (label == predicted) hits[label] += 1;
  }
}

}  // namespace

KernelOffer reference_class_counts(const ir::Node& node) {
  const Shape shape = node.input(0)->shape();
  const bool numbers = node.input(1)->type().dtype == DType::i32;
  const auto threshold = static_cast<float>(ops::number_attribute(node, "threshold"));
  if (ops::int_attribute(node, "by_class") != 0) {
    return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
      if (numbers) {
        count_classes(args.in(0), args.in_as<int32_t>(1), shape, args.out());
      } else {
        count_classes(args.in(0), args.in(1), shape, args.out());
      }
    });
  }
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const int64_t each = shape.elements_from(1);
    std::fill_n(args.out(), shape[0] * 3, 0.0f);
    for (int64_t i = 0; i < shape[0] * each; ++i) {
      float* hits = args.out() + i / each * 3;
      const bool predicted = args.in(0)[i] >= threshold;
      const bool label = args.in(1)[i] >= 0.5f;
      if (predicted && label) hits[0] += 1;
      if (predicted) hits[1] += 1;
      if (label) hits[2] += 1;
    }
  });
}

KernelOffer reference_score_counts(const ir::Node& node) {
  const Shape shape = node.input(0)->shape();
  const bool numbers = node.input(1)->type().dtype == DType::i32;
  const int64_t buckets = ops::int_attribute(node, "buckets");
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const int64_t each = shape.elements_from(1);
    std::fill_n(args.out(), shape[0] * 2 * buckets, 0.0f);
    for (int64_t i = 0; i < shape[0] * each; ++i) {
      const float score = args.in(0)[i];
      if (numbers && !is_class(args.in_as<int32_t>(1)[i / shape.back()], shape.back())) continue;
      const bool label = numbers ? args.in_as<int32_t>(1)[i / shape.back()] == i % shape.back()
                                 : args.in(1)[i] >= 0.5f;
      // A NaN counts as 0.
      const auto bucket = static_cast<int64_t>((score > 0 ? std::min(score, 1.0f) : 0.0f) *
                                               static_cast<float>(buckets));
      float* counts = args.out() + i / each * 2 * buckets + (label ? 0 : buckets);
      counts[std::min(bucket, buckets - 1)] += 1;
    }
  });
}

KernelOffer reference_target_sums(const ir::Node& node) {
  const Shape shape = node.input(0)->shape();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const int64_t each = shape.elements_from(1);
    for (int64_t i = 0; i < shape[0] * each; ++i) {
      float* sums = args.out() + i / each * 3 * each + i % each;
      const float label = args.in(1)[i];
      const float error = args.in(0)[i] - label;
      sums[0] = label;
      sums[each] = label * label;
      sums[2 * each] = error * error;
    }
  });
}

}  // namespace pando::kernels
