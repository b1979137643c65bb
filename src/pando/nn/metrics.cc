// Metrics that are computed from sums of several numbers per sample.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/base/error.h"
#include "pando/nn/losses.h"
#include "pando/ops/builder.h"

namespace pando {

namespace {

using Sums = std::span<const double>;

ir::Value* append_counts(const LossInputs& in, const std::string& op, ir::Attributes attributes) {
  return ops::append(*in.graph, {.op = op,
                                 .inputs = {in.output, in.labels},
                                 .attributes = std::move(attributes),
                                 .name = "metric"})
      ->output();
}

// Classes exclude each other if labels are class numbers or the network ends with a softmax.
bool counts_classes(const LossInputs& in) {
  const ir::Node* producer = in.output->producer();
  return in.labels->type().dtype == DType::i32 ||
         (producer != nullptr && producer->op() == "softmax");
}

// A figure of one class from what was right, predicted and true.
using ClassFigure = double (*)(double hits, double predicted, double actual);

// The mean of a figure over the classes that were predicted or true at all.
Metric class_metric(std::string name, ClassFigure figure) {
  const auto build = [](const LossInputs& in) {
    return append_counts(in, "class_counts", {{"by_class", int64_t{counts_classes(in) ? 1 : 0}}});
  };
  const auto finish = [figure](Sums sums, double) {
    const size_t classes = sums.size() / 3;
    double total = 0;
    int counted = 0;
    for (size_t c = 0; c < classes; ++c) {
      const double predicted = sums[classes + c], actual = sums[2 * classes + c];
      if (predicted + actual == 0) continue;
      total += figure(sums[c], predicted, actual);
      ++counted;
    }
    return counted == 0 ? 0 : total / counted;
  };
  return {std::move(name), build, finish};
}

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

// The area under the curve of true against false positives, by trapezoids between the buckets.
double area_under_curve(Sums sums, double) {
  const size_t buckets = sums.size() / 2;
  double positives = 0, negatives = 0, area = 0;
  for (size_t i = buckets; i-- > 0;) {
    area += sums[buckets + i] * (positives + sums[i] / 2);
    positives += sums[i];
    negatives += sums[buckets + i];
  }
  return ratio(area, positives * negatives);
}

// One minus the squared error over the variance of the labels, averaged over the outputs.
double r2_of(Sums sums, double samples) {
  const size_t targets = sums.size() / 3;
  double total = 0;
  for (size_t t = 0; t < targets; ++t) {
    const double spread = sums[targets + t] - sums[t] * sums[t] / samples;
    const double error = sums[2 * targets + t];
    total += spread > 0 ? 1 - error / spread : (error == 0 ? 1 : 0);
  }
  return ratio(total, static_cast<double>(targets));
}

}  // namespace

Metric PrecisionScore() {
  return class_metric("precision",
                      [](double hits, double predicted, double) { return ratio(hits, predicted); });
}

Metric RecallScore() {
  return class_metric("recall",
                      [](double hits, double, double actual) { return ratio(hits, actual); });
}

Metric F1Score() {
  return class_metric("f1_score", [](double hits, double predicted, double actual) {
    return ratio(2 * hits, predicted + actual);
  });
}

Metric MeanIoU() {
  return class_metric("mean_iou", [](double hits, double predicted, double actual) {
    return ratio(hits, predicted + actual - hits);
  });
}

Metric AUC() {
  return {"auc", [](const LossInputs& in) { return append_counts(in, "score_counts", {}); },
          area_under_curve};
}

Metric R2Score() {
  return {"r2_score", [](const LossInputs& in) { return append_counts(in, "target_sums", {}); },
          r2_of};
}

}  // namespace pando
