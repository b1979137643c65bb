// SPDX-License-Identifier: MIT
#include "pando/nn/losses.h"

#include <algorithm>

#include "pando/base/error.h"
#include "pando/nn/loss_support.h"
#include "pando/ops/builder.h"

namespace pando {

namespace {

struct MetricName {
  std::string_view name;
  bool larger_is_better;
};
constexpr MetricName kMetricNames[] = {{"accuracy", true},  {"top_k_categorical_accuracy", true},
                                       {"precision", true}, {"recall", true},
                                       {"f1_score", true},  {"mean_iou", true},
                                       {"auc", true},       {"r2_score", true},
                                       {"mse", false},      {"mean_squared_error", false},
                                       {"mae", false},      {"mean_absolute_error", false}};

ir::Value* build_crossentropy(const LossInputs& in, const CrossentropyOptions& options) {
  const nn::LossOutput output = nn::loss_output(in.output, options.from_logits, "softmax");
  return nn::append_loss(in, "cross_entropy", output.value,
                         {{"from_logits", int64_t{output.from_logits ? 1 : 0}},
                          {"label_smoothing", options.label_smoothing}});
}

Loss crossentropy(std::string name, LabelKind labels, CrossentropyOptions options) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    throw InvalidArgument(name, ": label_smoothing: expected 0 to 1, got ",
                          options.label_smoothing);
  }
  return {std::move(name), labels,
          [options](const LossInputs& in) { return build_crossentropy(in, options); }};
}

Loss regression(std::string op) {
  return {op, LabelKind::values,
          [op](const LossInputs& in) { return nn::append_loss(in, op, in.output, {}); }};
}

Loss loss_by_name(const std::string& name) {
  if (name == "categorical_crossentropy") return CategoricalCrossentropy();
  if (name == "sparse_categorical_crossentropy") return SparseCategoricalCrossentropy();
  if (name == "mse" || name == "mean_squared_error") return MeanSquaredError();
  if (name == "mae" || name == "mean_absolute_error") return MeanAbsoluteError();
  if (name == "binary_crossentropy") return BinaryCrossentropy();
  if (name == "binary_focal_crossentropy") return BinaryFocalCrossentropy();
  if (name == "categorical_focal_crossentropy") return CategoricalFocalCrossentropy();
  if (name == "huber") return Huber();
  if (name == "dice") return Dice();
  throw InvalidArgument(unknown_name_message("loss", name, loss_names()));
}

Metric top_k(std::string name, int64_t k) {
  return {std::move(name), [k](const LossInputs& in) {
            return ops::append(*in.graph, {.op = "top_k_accuracy",
                                           .inputs = {in.output, in.labels},
                                           .attributes = {{"k", k}},
                                           .name = "metric"})
                ->output();
          }};
}

Metric unweighted(std::string name, const Loss& loss) {
  return {std::move(name), [loss](const LossInputs& in) {
            LossInputs without_weight = in;
            without_weight.sample_weight = nullptr;
            return loss.build(without_weight);
          }};
}

Metric metric_by_name(const std::string& name) {
  if (name == "accuracy" || name == "acc") return Accuracy();
  if (name == "top_k_categorical_accuracy") return top_k(name, 5);
  if (name == "mse" || name == "mean_squared_error") return unweighted(name, MeanSquaredError());
  if (name == "mae" || name == "mean_absolute_error") return unweighted(name, MeanAbsoluteError());
  for (const Metric& metric :
       {PrecisionScore(), RecallScore(), F1Score(), MeanIoU(), AUC(), R2Score()}) {
    if (metric.name() == name) return metric;
  }
  throw InvalidArgument(unknown_name_message("metric", name, metric_names()));
}

}  // namespace

Loss::Loss(const char* name) : Loss(loss_by_name(name)) {}
Loss::Loss(const std::string& name) : Loss(loss_by_name(name)) {}
Loss::Loss(std::string name, LabelKind labels, Build build)
    : name_(std::move(name)), labels_(labels), build_(std::move(build)) {}

Loss CategoricalCrossentropy(CrossentropyOptions options) {
  return crossentropy("categorical_crossentropy",
                      options.any_labels ? LabelKind::any : LabelKind::values, options);
}
Loss SparseCategoricalCrossentropy(CrossentropyOptions options) {
  return crossentropy("sparse_categorical_crossentropy", LabelKind::classes, options);
}
Loss MeanSquaredError() { return regression("mean_squared_error"); }
Loss MeanAbsoluteError() { return regression("mean_absolute_error"); }

std::vector<std::string> loss_names() {
  return {"categorical_crossentropy",
          "sparse_categorical_crossentropy",
          "mean_squared_error",
          "mean_absolute_error",
          "mse",
          "mae",
          "binary_crossentropy",
          "binary_focal_crossentropy",
          "categorical_focal_crossentropy",
          "huber",
          "dice"};
}

Metric::Metric(const char* name) : Metric(metric_by_name(name)) {}
Metric::Metric(const std::string& name) : Metric(metric_by_name(name)) {}

ir::Value* weighted(const LossInputs& inputs, ir::Value* value) {
  std::vector<ir::Value*> values = {inputs.sample_weight};
  if (value != nullptr) values.push_back(value);
  return ops::append(*inputs.graph, {.op = "weigh", .inputs = std::move(values), .name = "metric"})
      ->output();
}

Metric Accuracy() { return top_k("accuracy", 1); }

Metric TopKAccuracy(int64_t k) {
  if (k < 1) throw InvalidArgument("TopKAccuracy: k: expected at least 1, got ", k);
  return top_k(concat("top_", k, "_accuracy"), k);
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const MetricName& metric : kMetricNames) names.emplace_back(metric.name);
  return names;
}

bool larger_is_better(std::string_view name) {
  constexpr std::string_view kEndings[] = {"acc", "iou", "_score"};  // of metrics of the user
  const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
  return std::ranges::any_of(kMetricNames,
                             [&](const MetricName& metric) {
                               return metric.larger_is_better && ends(metric.name);
                             }) ||
         std::ranges::any_of(kEndings, ends);
}

}  // namespace pando
