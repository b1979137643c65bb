// Losses and metrics. Each adds ops to a graph that compute one number per sample.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/ir/graph.h"
#include "pando/nn/per_output.h"

namespace pando {

// The form of labels: class numbers (i32) or one number per output (one-hot, regression).
enum class LabelKind {
  classes,
  values,
  any  // either, as the data has them
};

// The values from which a loss or a metric is computed.
struct LossInputs {
  ir::Graph* graph = nullptr;
  ir::Value* output = nullptr;  // the output of the network
  ir::Value* labels = nullptr;
  ir::Value* sample_weight = nullptr;  // may be null
};

// A loss, made from its Keras name or by one of the functions below. Immutable; cheap to copy.
class Loss {
 public:
  using Build = std::function<ir::Value*(const LossInputs&)>;
  Loss(const char* name);         // NOLINT(google-explicit-constructor): "mse" reads well
  Loss(const std::string& name);  // NOLINT(google-explicit-constructor)
  Loss(std::string name, LabelKind labels, Build build);

  const std::string& name() const { return name_; }
  LabelKind labels() const { return labels_; }
  ir::Value* build(const LossInputs& inputs) const { return build_(inputs); }

 private:
  std::string name_;
  LabelKind labels_ = LabelKind::values;
  Build build_;
};

struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;
  // CategoricalCrossentropy also takes class numbers, so that data with mixed labels
  // (mix_samples()) and data without can be used with one model.
  bool any_labels = false;
};
Loss CategoricalCrossentropy(CrossentropyOptions options = {});        // one-hot labels
Loss SparseCategoricalCrossentropy(CrossentropyOptions options = {});  // class numbers
Loss MeanSquaredError();
Loss MeanAbsoluteError();

// Compares each element with a label from 0 to 1; the loss of a sample is the mean.
Loss BinaryCrossentropy(CrossentropyOptions options = {});

// Crossentropy times (1 - p)^gamma, where p is the probability of the right answer: what is easy
// counts less.
struct FocalOptions {
  double gamma = 2;
  double alpha = 0.25;                 // factor of the label 1; 1 - alpha is that of the label 0
  bool apply_class_balancing = false;  // whether the binary loss uses alpha
  bool from_logits = false;
  double label_smoothing = 0;
  bool sparse = false;  // the labels of the categorical loss are class numbers, not one-hot
};
Loss BinaryFocalCrossentropy(FocalOptions options = {});
Loss CategoricalFocalCrossentropy(FocalOptions options = {});  // alpha is a factor of all

// Half the squared difference up to delta, a straight line beyond.
struct HuberOptions {
  double delta = 1;
};
Loss Huber(HuberOptions options = {});

// 1 - (2 sum(p y) + smooth) / (sum(p) + sum(y) + smooth) over a sample: how little two masks
// overlap.
struct DiceOptions {
  double smooth = 1e-7;
};
Loss Dice(DiceOptions options = {});
std::vector<std::string> loss_names();

// A metric. It computes one or more numbers for each sample, which are summed over the samples; its
// value is computed from the sums. By default that is the mean of one number.
class Metric {
 public:
  // Appends ops whose result is f32[batch] or, for k numbers, f32[batch, k].
  using Build = std::function<ir::Value*(const LossInputs&)>;
  // The value from the sums and the number of samples, which is more than 0.
  using Finish = std::function<double(std::span<const double> sums, double samples)>;
  Metric(const char* name);         // NOLINT(google-explicit-constructor)
  Metric(const std::string& name);  // NOLINT(google-explicit-constructor)
  Metric(std::string name, Build build, Finish finish = {})
      : name_(std::move(name)), build_(std::move(build)), finish_(std::move(finish)) {}

  const std::string& name() const { return name_; }
  ir::Value* build(const LossInputs& inputs) const { return build_(inputs); }
  bool is_mean() const { return !finish_; }
  double finish(std::span<const double> sums, double samples) const {
    return finish_ ? finish_(sums, samples) : sums[0] / samples;
  }

 private:
  std::string name_;
  Build build_;
  Finish finish_;
};

using Losses = PerOutput<Loss>;
using LossWeights = PerOutput<double>;

// Metrics for all outputs, or for some by name.
class Metrics : public PerOutput<std::vector<Metric>> {
 public:
  using PerOutput::PerOutput;
  Metrics(std::initializer_list<Metric> list) : PerOutput(std::vector<Metric>(list)) {}
};

// Weights of classes by their numbers, {{0, 1}, {1, 5}}; for some outputs by name,
// {{"kind", {{1, 5}}}}.
class ClassWeights : public PerOutput<std::map<int64_t, double>> {
 public:
  using PerOutput::PerOutput;
  ClassWeights() = default;
  ClassWeights(std::initializer_list<std::pair<const int64_t, double>> weights)
      : PerOutput(std::map<int64_t, double>(weights)) {}
};

// The numbers of each sample times its weight; without a value, the weight itself. Requires:
// sample_weight.
ir::Value* weighted(const LossInputs& inputs, ir::Value* value = nullptr);

Metric Accuracy();
Metric TopKAccuracy(int64_t k);
// Means over the classes that are predicted or true in the data, if labels are class numbers or the
// network ends with a softmax; pixels count like samples. Otherwise all numbers of an output are
// one class, which is predicted from 0.5 on.
Metric PrecisionScore();
Metric RecallScore();
Metric F1Score();
Metric MeanIoU();
// The area under the ROC curve of all numbers of the output, which are between 0 and 1, in 200
// steps.
Metric AUC();
Metric R2Score();  // mean over the numbers of the output; 1 is perfect, 0 as good as the mean
std::vector<std::string> metric_names();

// Whether a larger value is better. Takes the name of a metric, also after those of an output and
// of the validation, as logs have it: "val_kind_precision". A metric of the user is known by the
// end of its name: "acc", "accuracy", "auc", "iou", "precision", "recall", "_score". Everything
// else, such as a loss, is better when it is smaller.
bool larger_is_better(std::string_view name);

}  // namespace pando
