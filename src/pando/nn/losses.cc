// SPDX-License-Identifier: MIT
#include "pando/nn/losses.h"

#include "pando/base/error.h"
#include "pando/ops/builder.h"

namespace pando {

namespace {

ir::Value* append_loss(const LossInputs& in, const std::string& op, ir::Value* output,
                       ir::Attributes attributes) {
  std::vector<ir::Value*> inputs = {output, in.labels};
  if (in.sample_weight != nullptr) inputs.push_back(in.sample_weight);
  return ops::append(*in.graph, {.op = op,
                                 .inputs = std::move(inputs),
                                 .attributes = std::move(attributes),
                                 .name = "loss"})
      ->output();
}

// If the network ends with a softmax, the loss is computed from its logits instead of its
// probabilities, so that it stays exact where the probabilities would underflow.
ir::Value* build_crossentropy(const LossInputs& in, const CrossentropyOptions& options) {
  ir::Value* output = in.output;
  bool from_logits = options.from_logits;
  const ir::Node* producer = output->producer();
  if (!from_logits && producer != nullptr && producer->op() == "softmax") {
    output = producer->input(0);
    from_logits = true;
  }
  return append_loss(in, "cross_entropy", output,
                     {{"from_logits", int64_t{from_logits ? 1 : 0}},
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
          [op](const LossInputs& in) { return append_loss(in, op, in.output, {}); }};
}

Loss loss_by_name(const std::string& name) {
  if (name == "categorical_crossentropy") return CategoricalCrossentropy();
  if (name == "sparse_categorical_crossentropy") return SparseCategoricalCrossentropy();
  if (name == "mse" || name == "mean_squared_error") return MeanSquaredError();
  if (name == "mae" || name == "mean_absolute_error") return MeanAbsoluteError();
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
  throw InvalidArgument(unknown_name_message("metric", name, metric_names()));
}

}  // namespace

Loss::Loss(const char* name) : Loss(loss_by_name(name)) {}
Loss::Loss(const std::string& name) : Loss(loss_by_name(name)) {}
Loss::Loss(std::string name, LabelKind labels, Build build)
    : name_(std::move(name)), labels_(labels), build_(std::move(build)) {}

Loss CategoricalCrossentropy(CrossentropyOptions options) {
  return crossentropy("categorical_crossentropy", LabelKind::values, options);
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
          "mae"};
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
  return {
      "accuracy", "top_k_categorical_accuracy", "mean_squared_error", "mean_absolute_error", "mse",
      "mae"};
}

}  // namespace pando
