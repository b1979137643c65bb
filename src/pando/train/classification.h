// How well a classifier tells the classes apart: the confusion matrix and the scores of each class.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pando/tensor/tensor.h"

namespace pando {

// Fractions from 0 to 1. A fraction without a denominator (of a class that was never predicted, or
// has no samples) is 0.
struct ClassScores {
  int64_t support = 0;  // samples of the class
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

// Counts predictions against labels. The prediction is the class with the largest output, the first
// of equal ones; a sample with a NaN output has no prediction and counts as wrong, as in the
// metrics. Used by one thread at a time.
class ClassReport {
 public:
  // Throws InvalidArgument for less than one class.
  explicit ClassReport(int64_t classes);

  // `outputs` of the network, probabilities or logits: f32 [samples, classes]; as many labels. More
  // calls add more samples. Throws InvalidArgument, before anything is counted, when shapes or
  // labels do not fit.
  void add(const Tensor& outputs, std::span<const int32_t> labels);
  // Adds the samples of another report. Throws InvalidArgument unless it has as many classes.
  void add(const ClassReport& other);

  int64_t classes() const { return classes_; }
  int64_t samples() const { return samples_; }
  // Samples of class `label` that were predicted as `predicted`.
  int64_t count(int64_t label, int64_t predicted) const;
  int64_t undecided() const { return undecided_; }  // samples without a prediction

  double accuracy() const;
  // Whether the label is among the five largest outputs; with ten classes or more.
  std::optional<double> top_5_accuracy() const;
  ClassScores scores(int64_t label) const;
  ClassScores macro_mean() const;     // every class counts the same
  ClassScores weighted_mean() const;  // every sample counts the same

 private:
  int64_t classes_;
  int64_t samples_ = 0;
  int64_t undecided_ = 0;
  int64_t top_5_hits_ = 0;
  std::vector<int64_t> counts_;   // by label, then by prediction
  std::vector<int64_t> support_;  // by label
};

// The report of one set of outputs, f32 [samples, classes].
ClassReport classify(const Tensor& outputs, std::span<const int32_t> labels);

// Tables of a report. `names` are those of the classes; if it is empty, numbers are shown. Throw
// InvalidArgument unless there is one name per class or none.

// Precision, recall, F1 and support of every class, their means, the most frequent confusions and,
// up to 20 classes, the confusion matrix.
std::string to_text(const ClassReport& report, const std::vector<std::string>& names = {});
// class,name,support,precision,recall,f1
std::string scores_csv(const ClassReport& report, const std::vector<std::string>& names = {});
// A row for every label, a column for every prediction, names in front.
std::string confusion_csv(const ClassReport& report, const std::vector<std::string>& names = {});

// `names`, or "0", "1", ... when there are none. Throws as above.
std::vector<std::string> names_or_numbers(const ClassReport& report,
                                          const std::vector<std::string>& names);

}  // namespace pando
