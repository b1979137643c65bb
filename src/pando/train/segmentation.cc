// SPDX-License-Identifier: MIT
#include "pando/train/segmentation.h"

#include <algorithm>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/train/report_text.h"

namespace pando {
namespace {

void check_pixels(const Tensor& outputs, std::span<const int32_t> labels, int64_t classes) {
  const Shape& shape = outputs.shape();
  if (outputs.dtype() != DType::f32 || shape.rank() < 2 || shape.back() != classes) {
    throw InvalidArgument("segmentation report: expected outputs f32 [samples, ..., ", classes,
                          "], got ", to_string(outputs.dtype()), " ", shape);
  }
  const int64_t pixels = outputs.elements() / classes;
  if (pixels == 0 && shape.front() > 0) {
    throw InvalidArgument("segmentation report: expected samples with pixels, got outputs ", shape);
  }
  if (std::ssize(labels) != pixels) {
    throw InvalidArgument("segmentation report: expected one label for each of ", pixels,
                          " pixels, got ", labels.size());
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= kNotLabelled && labels[i] < classes) continue;
    throw InvalidArgument("segmentation report: the label of pixel ", i, ": expected 0 to ",
                          classes - 1, ", or ", kNotLabelled, " for none, got ", labels[i]);
  }
}

// The pixels of one sample that have a label.
struct LabelledPixels {
  Tensor outputs;  // f32 [pixels, classes]
  std::vector<int32_t> labels;
};

LabelledPixels labelled(std::span<const float> outputs, std::span<const int32_t> labels) {
  const auto classes = static_cast<int64_t>(outputs.size() / labels.size());
  LabelledPixels found;
  found.outputs = Tensor(
      DType::f32, {std::ranges::count_if(labels, [](int32_t k) { return k >= 0; }), classes});
  float* to = found.outputs.f32().data();
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0) continue;
    found.labels.push_back(labels[i]);
    to = std::copy_n(outputs.data() + i * static_cast<size_t>(classes), classes, to);
  }
  return found;
}

std::optional<double> overlap(const ClassReport& pixels, int64_t label) {
  const int64_t hits = pixels.count(label, label);
  int64_t either = pixels.scores(label).support - hits;
  for (int64_t k = 0; k < pixels.classes(); ++k) either += pixels.count(k, label);
  if (either == 0) return std::nullopt;
  return static_cast<double>(hits) / static_cast<double>(either);
}

double mean_overlap(const ClassReport& pixels) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t k = 0; k < pixels.classes(); ++k) {
    const std::optional<double> one = overlap(pixels, k);
    sum += one.value_or(0);
    count += one.has_value() ? 1 : 0;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double percent(double part, double whole) { return whole == 0 ? 0 : 100 * part / whole; }

std::string percent_or_dash(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f} %", 100 * *share) : "-";
}

}  // namespace

void SegmentationReport::add(const Tensor& outputs, std::span<const int32_t> labels) {
  check_pixels(outputs, labels, classes());
  const auto samples = static_cast<size_t>(outputs.shape().front());
  if (samples == 0) return;
  const size_t pixels = labels.size() / samples;
  const size_t elements = outputs.f32().size() / samples;
  for (size_t i = 0; i < samples; ++i) {
    const LabelledPixels own =
        labelled(outputs.f32().subspan(i * elements, elements), labels.subspan(i * pixels, pixels));
    ClassReport sample(classes());
    if (!own.labels.empty()) sample.add(own.outputs, own.labels);
    overlaps_.push_back(own.labels.empty() ? std::nullopt : std::optional(mean_overlap(sample)));
    pixels_.add(sample);
  }
}

std::optional<double> SegmentationReport::iou(int64_t label) const {
  return overlap(pixels_, label);
}

double SegmentationReport::mean_iou() const { return mean_overlap(pixels_); }

std::vector<int64_t> SegmentationReport::worst_first() const {
  std::vector<int64_t> samples;
  for (size_t i = 0; i < overlaps_.size(); ++i) {
    if (overlaps_[i]) samples.push_back(static_cast<int64_t>(i));
  }
  std::ranges::stable_sort(samples, {},
                           [&](int64_t i) { return overlaps_[static_cast<size_t>(i)]; });
  return samples;
}

std::string to_text(const SegmentationReport& report, const std::vector<std::string>& given) {
  const ClassReport& pixels = report.pixels();
  const std::vector<std::string> names = names_or_numbers(pixels, given);
  const size_t width = train::name_width(names);
  const auto all = static_cast<double>(pixels.samples());
  std::string text = fmt::format("{:<{}} {:>10} {:>10} {:>10} {:>10}\n", "class", width, "IoU",
                                 "precision", "recall", "of pixels");
  for (int64_t k = 0; k < report.classes(); ++k) {
    const ClassScores scores = pixels.scores(k);
    text += fmt::format("{:<{}} {:>10} {:>8.2f} % {:>8.2f} % {:>8.2f} %\n",
                        train::short_name(names[static_cast<size_t>(k)], width), width,
                        percent_or_dash(report.iou(k)), 100 * scores.precision, 100 * scores.recall,
                        percent(static_cast<double>(scores.support), all));
  }
  return text +
         fmt::format("mean IoU {:.2f} %; {:.2f} % of {} labelled pixels of {} samples are right\n",
                     100 * report.mean_iou(), 100 * pixels.accuracy(), pixels.samples(),
                     report.samples());
}

std::string ious_csv(const SegmentationReport& report, const std::vector<std::string>& given) {
  const std::vector<std::string> names = names_or_numbers(report.pixels(), given);
  std::string text = "class,name,pixels,iou,precision,recall\n";
  for (int64_t k = 0; k < report.classes(); ++k) {
    const ClassScores scores = report.pixels().scores(k);
    const std::optional<double> iou = report.iou(k);
    text += fmt::format("{},{},{},{},{:.6f},{:.6f}\n", k,
                        train::csv_field(names[static_cast<size_t>(k)]), scores.support,
                        iou ? fmt::format("{:.6f}", *iou) : "", scores.precision, scores.recall);
  }
  return text;
}

}  // namespace pando
