// SPDX-License-Identifier: MIT
#include "pando/train/classification.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "pando/base/error.h"

namespace pando {
namespace {

constexpr int64_t kTop = 5;
constexpr int64_t kClassesForTop5 = 10;

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void check(const Tensor& outputs, std::span<const int32_t> labels, int64_t classes) {
  const Shape& shape = outputs.shape();
  if (outputs.dtype() != DType::f32 || shape.rank() != 2 || shape.back() != classes) {
    throw InvalidArgument("class report: expected outputs f32 [samples, ", classes, "], got ",
                          to_string(outputs.dtype()), " ", shape);
  }
  if (static_cast<int64_t>(labels.size()) != shape.front()) {
    throw InvalidArgument("class report: expected one label for each of ", shape.front(),
                          " samples, got ", labels.size());
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= 0 && labels[i] < classes) continue;
    throw InvalidArgument("class report: label ", i, ": expected 0 to ", classes - 1, ", got ",
                          labels[i]);
  }
}

}  // namespace

ClassReport::ClassReport(int64_t classes) : classes_(classes) {
  if (classes < 1) {
    throw InvalidArgument("class report: expected at least 1 class, got ", classes);
  }
  counts_.resize(static_cast<size_t>(classes * classes));
  support_.resize(static_cast<size_t>(classes));
}

void ClassReport::add(const Tensor& outputs, std::span<const int32_t> labels) {
  check(outputs, labels, classes_);
  const auto width = static_cast<size_t>(classes_);
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::span<const float> row = outputs.f32().subspan(i * width, width);
    const auto label = static_cast<size_t>(labels[i]);
    ++samples_;
    ++support_[label];
    if (std::any_of(row.begin(), row.end(), [](float value) { return std::isnan(value); })) {
      ++undecided_;
      continue;
    }
    const auto best = static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    ++counts_[label * width + best];
    const auto above = std::count_if(row.begin(), row.end(),
                                     [mine = row[label]](float value) { return value > mine; });
    if (above < kTop) ++top_5_hits_;
  }
}

void ClassReport::add(const ClassReport& other) {
  if (other.classes_ != classes_) {
    throw InvalidArgument("class report: expected another report on ", classes_, " classes, got ",
                          other.classes_);
  }
  const auto sum = std::plus<int64_t>();
  std::ranges::transform(counts_, other.counts_, counts_.begin(), sum);
  std::ranges::transform(support_, other.support_, support_.begin(), sum);
  samples_ += other.samples_;
  undecided_ += other.undecided_;
  top_5_hits_ += other.top_5_hits_;
}

int64_t ClassReport::count(int64_t label, int64_t predicted) const {
  PANDO_CHECK(label >= 0 && label < classes_ && predicted >= 0 && predicted < classes_, label, " ",
              predicted);
  return counts_[static_cast<size_t>(label * classes_ + predicted)];
}

double ClassReport::accuracy() const {
  int64_t right = 0;
  for (int64_t k = 0; k < classes_; ++k) right += count(k, k);
  return ratio(right, samples_);
}

std::optional<double> ClassReport::top_5_accuracy() const {
  if (classes_ < kClassesForTop5) return std::nullopt;
  return ratio(top_5_hits_, samples_);
}

ClassScores ClassReport::scores(int64_t label) const {
  int64_t predicted = 0;
  for (int64_t k = 0; k < classes_; ++k) predicted += count(k, label);
  const int64_t hits = count(label, label);
  const int64_t support = support_[static_cast<size_t>(label)];
  return {.support = support,
          .precision = ratio(hits, predicted),
          .recall = ratio(hits, support),
          .f1 = ratio(2 * hits, predicted + support)};
}

ClassScores ClassReport::macro_mean() const {
  ClassScores mean{.support = samples_};
  for (int64_t k = 0; k < classes_; ++k) {
    const ClassScores one = scores(k);
    mean.precision += one.precision / static_cast<double>(classes_);
    mean.recall += one.recall / static_cast<double>(classes_);
    mean.f1 += one.f1 / static_cast<double>(classes_);
  }
  return mean;
}

ClassScores ClassReport::weighted_mean() const {
  ClassScores mean{.support = samples_};
  for (int64_t k = 0; k < classes_; ++k) {
    const ClassScores one = scores(k);
    const double weight = ratio(one.support, samples_);
    mean.precision += weight * one.precision;
    mean.recall += weight * one.recall;
    mean.f1 += weight * one.f1;
  }
  return mean;
}

ClassReport classify(const Tensor& outputs, std::span<const int32_t> labels) {
  if (outputs.shape().rank() != 2) {
    throw InvalidArgument("class report: expected outputs f32 [samples, classes], got ",
                          to_string(outputs.dtype()), " ", outputs.shape());
  }
  ClassReport report(outputs.shape().back());
  report.add(outputs, labels);
  return report;
}

}  // namespace pando
