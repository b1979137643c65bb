// How well a network finds the class of every pixel: the overlap of each class and of each sample.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pando/data/image/mask.h"
#include "pando/tensor/tensor.h"
#include "pando/train/classification.h"

namespace pando {

// Counts predicted pixels against labels. The overlap of a class (intersection over union, IoU) is
// the number of its pixels that are predicted as this class, divided by the number of pixels that
// have this class as their label, their prediction or both. Used by one thread at a time.
class SegmentationReport {
 public:
  // Throws InvalidArgument for less than one class.
  explicit SegmentationReport(int64_t classes) : pixels_(classes) {}

  // `outputs` of the network, f32 [samples, ..., classes], and a label for each pixel: a class or
  // kNotLabelled. More calls add more samples. Throws InvalidArgument, before anything is counted,
  // when shapes or labels do not fit.
  void add(const Tensor& outputs, std::span<const int32_t> labels);

  int64_t classes() const { return pixels_.classes(); }
  int64_t samples() const { return std::ssize(overlaps_); }
  const ClassReport& pixels() const { return pixels_; }

  // Nothing for a class that is neither a label nor a prediction.
  std::optional<double> iou(int64_t label) const;
  // Over the classes that have an overlap; 0 without any.
  double mean_iou() const;
  // The mean overlap of each sample, in the order they were added; nothing for a sample without
  // labels.
  const std::vector<std::optional<double>>& sample_ious() const { return overlaps_; }
  // The samples that have labels, the smallest overlap first; of equal ones, the earlier first.
  std::vector<int64_t> worst_first() const;

 private:
  ClassReport pixels_;
  std::vector<std::optional<double>> overlaps_;
};

// A row per class with its overlap, precision, recall and share of the pixels, then the means.
// `names` are those of the classes; if it is empty, numbers are shown. Throw InvalidArgument unless
// there is one name per class or none.
std::string to_text(const SegmentationReport& report, const std::vector<std::string>& names = {});
// class,name,pixels,iou,precision,recall
std::string ious_csv(const SegmentationReport& report, const std::vector<std::string>& names = {});

}  // namespace pando
