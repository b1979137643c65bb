// SPDX-License-Identifier: MIT
#include "pando/app/run/answers.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/base/new_file.h"
#include "pando/data/image/geometry.h"
#include "pando/data/image/png.h"
#include "pando/options/output_place.h"
#include "pando/zoo/head.h"

namespace pando::app {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostMaskClasses = 256;  // a mask has a byte for each pixel

void soften(std::span<float> values) {
  const float largest = *std::ranges::max_element(values);
  double sum = 0;
  for (float& value : values) {
    value = std::exp(value - largest);
    sum += value;
  }
  for (float& value : values) value = static_cast<float>(value / sum);
}

bool lists_all(AnswerKind kind) {
  return kind == AnswerKind::labels || kind == AnswerKind::numbers;
}

}  // namespace

AnswerKind answer_kind_of(const Model& model, size_t output) {
  const Network& network = model.network();
  const NetworkOutput& one = network.outputs()[output];
  const bool several = network.outputs().size() > 1;
  if (one.shape.rank() != 1 && one.shape.rank() != 3) {
    throw InvalidArgument("the output ", several ? "'" + one.name + "' " : "", "has shape ",
                          one.shape, ", expected a list of numbers or [height, width, classes]");
  }
  if (one.shape.rank() == 3) return AnswerKind::pixels;
  const std::string& task = model.facts().origin.task;
  const auto known = std::ranges::find(all_tasks(), task, &Task::name);
  if (!several && known != all_tasks().end() && lists_all(known->answers)) return known->answers;
  if (one.shape[0] == 1) return AnswerKind::numbers;
  const std::string op = zoo::last_op(network, output);
  if (several) {  // they have no common task
    return op == "softmax"   ? AnswerKind::classes
           : op == "sigmoid" ? AnswerKind::labels
                             : AnswerKind::numbers;
  }
  return task.empty() && op == "sigmoid" ? AnswerKind::labels : AnswerKind::classes;
}

Answers::Answers(const Model& model, size_t output, const PredictionOptions& options)
    : options_(options),
      kind_(options.kinds.empty() ? answer_kind_of(model, output) : options.kinds[output]),
      op_(zoo::last_op(model.network(), output)) {
  const std::vector<NetworkOutput>& outputs = model.network().outputs();
  const NetworkOutput& one = outputs[output];
  if (outputs.size() > 1) name_ = one.name;
  const std::vector<std::string>& labels = model.facts().labels;
  if (outputs.size() == 1 || std::ssize(labels) == one.shape.back()) labels_ = labels;
  if ((kind_ == AnswerKind::pixels) != (one.shape.rank() == 3)) {
    throw InvalidArgument(
        "--task: the output ", one.name, " has shape ", one.shape, ", expected ",
        kind_ == AnswerKind::pixels ? "[height, width, classes]" : "a list of numbers",
        " for this task");
  }
  if (kind_ != AnswerKind::pixels) return;
  if (one.shape[2] > kMostMaskClasses) {
    throw InvalidArgument("the output has ", one.shape[2],
                          " classes for each pixel, expected up to ", kMostMaskClasses);
  }
  if (options.mask_folder.empty()) return;
  make_output_folder("--output", options.mask_folder);
  masks_ = mask_paths();
  keep_pictures();
}

Prediction Answers::of(size_t file, std::span<float> values, const Shape& shape) const {
  Prediction prediction{.file = options_.files[file],
                        .output = name_,
                        .scores = {},
                        .mask = {},
                        .are_shares = kind_ != AnswerKind::numbers};
  switch (kind_) {
    case AnswerKind::classes: classify(values, prediction); break;
    case AnswerKind::labels:
      if (op_ != "sigmoid" && op_ != "softmax") {
        for (float& value : values) value = 1 / (1 + std::exp(-value));
      }
      list_all(values, prediction);
      break;
    case AnswerKind::numbers: list_all(values, prediction); break;
    case AnswerKind::pixels: segment(file, values, shape, prediction); break;
  }
  return prediction;
}

std::string Answers::label(size_t index) const {
  return index < labels_.size() ? labels_[index] : std::to_string(index);
}

void Answers::classify(std::span<float> values, Prediction& prediction) const {
  if (op_ != "softmax") soften(values);
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto shown = std::min(order.size(), static_cast<size_t>(options_.top));
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
      [&](size_t a, size_t b) { return values[a] != values[b] ? values[a] > values[b] : a < b; });
  for (size_t i = 0; i < shown; ++i) {
    prediction.scores.push_back(
        {static_cast<int64_t>(order[i]), label(order[i]), values[order[i]]});
  }
}

void Answers::list_all(std::span<const float> values, Prediction& prediction) const {
  for (size_t i = 0; i < values.size(); ++i) {
    prediction.scores.push_back({static_cast<int64_t>(i), label(i), values[i]});
  }
}

void Answers::segment(size_t file, std::span<const float> values, const Shape& shape,
                      Prediction& prediction) const {
  const auto classes = static_cast<size_t>(shape[2]);
  Image mask({shape[0], shape[1]}, 1);
  std::vector<int64_t> counts(classes);
  for (size_t i = 0; i < mask.pixels.size(); ++i) {
    const auto pixel = values.subspan(i * classes, classes);
    const auto best = static_cast<size_t>(std::ranges::max_element(pixel) - pixel.begin());
    ++counts[best];
    mask.pixels[i] = static_cast<uint8_t>(best);
  }
  std::vector<Score>& scores = prediction.scores;
  for (size_t i = 0; i < classes; ++i) {
    const double share = static_cast<double>(counts[i]) / static_cast<double>(mask.pixels.size());
    if (counts[i] > 0) scores.push_back({static_cast<int64_t>(i), label(i), share});
  }
  std::ranges::stable_sort(scores, std::greater<>(), &Score::value);
  if (masks_.empty()) return;
  const std::vector<uint8_t> png = encode_png(mask.view());
  write_new_file(masks_[file], std::as_bytes(std::span(png)));
  prediction.mask = masks_[file];
}

// FOLDER/name.png; the name of one of several outputs and a number follow a name that several
// masks would have.
std::vector<std::string> Answers::mask_paths() const {
  std::vector<std::string> paths;
  std::set<std::string> taken;
  for (const std::string& file : options_.files) {
    std::string stem = fs::path(file).stem().string();
    if (!name_.empty()) stem += "-" + name_;
    std::string name = stem;
    for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}-{}", stem, i);
    paths.push_back((fs::path(options_.mask_folder) / (name + ".png")).string());
  }
  return paths;
}

// Masks must not replace the pictures that they are made of.
void Answers::keep_pictures() const {
  std::error_code missing;
  for (const std::string& mask : masks_) {
    if (!fs::exists(mask, missing)) continue;
    for (const std::string& file : options_.files) {
      if (!fs::equivalent(mask, file, missing)) continue;
      throw InvalidArgument("--output: the mask '", mask, "' would replace the picture '", file,
                            "'; use another folder");
    }
  }
}

}  // namespace pando::app
