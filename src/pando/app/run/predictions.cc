// SPDX-License-Identifier: MIT
#include "pando/app/run/predictions.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "pando/app/run/picture_input.h"
#include "pando/base/error.h"
#include "pando/base/new_file.h"
#include "pando/data/image/png.h"
#include "pando/zoo/head.h"

namespace pando::app {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kAnswerBytes = int64_t{256} << 20;  // of outputs that are held at a time
constexpr int64_t kMostPictures = 1024;               // that are predicted by one call
constexpr int64_t kMostMaskClasses = 256;             // a mask has a byte for each pixel
constexpr int64_t kLargePicture = 160;  // from here on, networks see the middle of photographs

void soften(std::span<float> values) {
  const float largest = *std::ranges::max_element(values);
  double sum = 0;
  for (float& value : values) {
    value = std::exp(value - largest);
    sum += value;
  }
  for (float& value : values) value = static_cast<float>(value / sum);
}

// Turns outputs into predictions.
class Answers {
 public:
  Answers(const Model& model, const PredictionOptions& options)
      : options_(options),
        labels_(model.facts().labels),
        kind_(options.kind.value_or(answer_kind_of(model))),
        op_(zoo::last_op(model.network())) {
    const Shape& output = model.network().outputs()[0].shape;
    if ((kind_ == AnswerKind::pixels) != (output.rank() == 3)) {
      throw InvalidArgument(
          "--task: the output ", model.network().outputs()[0].name, " has shape ", output,
          ", expected ",
          kind_ == AnswerKind::pixels ? "[height, width, classes]" : "a list of numbers",
          " for this task");
    }
    if (kind_ != AnswerKind::pixels) return;
    if (output[2] > kMostMaskClasses) {
      throw InvalidArgument("the output has ", output[2],
                            " classes for each pixel, expected up to ", kMostMaskClasses);
    }
    if (!options.mask_folder.empty()) masks_ = mask_paths();
  }

  Prediction of(size_t file, std::span<float> values, const Shape& shape) const {
    Prediction prediction{.file = options_.files[file], .scores = {}, .mask = {}};
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

 private:
  std::string label(size_t index) const {
    return index < labels_.size() ? labels_[index] : std::to_string(index);
  }

  void classify(std::span<float> values, Prediction& prediction) const {
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

  void list_all(std::span<const float> values, Prediction& prediction) const {
    for (size_t i = 0; i < values.size(); ++i) {
      prediction.scores.push_back({static_cast<int64_t>(i), label(i), values[i]});
    }
  }

  void segment(size_t file, std::span<const float> values, const Shape& shape,
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

  // FOLDER/name.png; a number follows a name that several pictures have.
  std::vector<std::string> mask_paths() const {
    std::vector<std::string> paths;
    std::set<std::string> taken;
    for (const std::string& file : options_.files) {
      const std::string stem = fs::path(file).stem().string();
      std::string name = stem;
      for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}-{}", stem, i);
      paths.push_back((fs::path(options_.mask_folder) / (name + ".png")).string());
    }
    return paths;
  }

  const PredictionOptions& options_;
  const std::vector<std::string>& labels_;
  AnswerKind kind_;
  std::string op_;
  std::vector<std::string> masks_;
};

const NetworkInput& picture_input(const Network& network) {
  const NetworkInput* input = nullptr;
  for (const NetworkInput& one : network.inputs()) {
    if (one.auxiliary) continue;
    if (input != nullptr) {
      throw InvalidArgument("the network takes ", network.features(),
                            " inputs, expected one: a picture");
    }
    input = &one;
  }
  PANDO_CHECK(input != nullptr);
  const bool is_picture =
      input->shape.rank() == 3 && (input->shape[2] == 1 || input->shape[2] == 3);
  if (!is_picture) {
    throw InvalidArgument("the network takes samples ", input->shape,
                          ", expected pictures [height, width, channels] with 1 or 3 channels");
  }
  return *input;
}

}  // namespace

PicturePreparation assumed_preparation(const Network& network,
                                       std::optional<AssumedValues> values) {
  const Shape& shape = picture_input(network).shape;
  PicturePreparation pictures{.height = shape[0], .width = shape[1]};
  const bool is_square = shape[0] == shape[1];
  pictures.fit = is_square ? PicturePreparation::Fit::crop : PicturePreparation::Fit::stretch;
  if (is_square) {
    pictures.short_side = shape[0] >= kLargePicture ? shape[0] * 256 / 224 : shape[0];
  }
  const bool is_grey = shape[2] == 1;
  if (is_grey) pictures.colours = PicturePreparation::Colours::grey;
  const bool takes_bytes = picture_input(network).dtype == DType::u8;
  const AssumedValues usual = takes_bytes ? AssumedValues::none
                              : is_grey   ? AssumedValues::scale
                                          : AssumedValues::torchvision;
  switch (values.value_or(usual)) {
    case AssumedValues::torchvision:
      pictures.scale = 1.0 / 255;
      pictures.mean = is_grey ? std::vector{0.449} : std::vector{0.485, 0.456, 0.406};
      pictures.std = is_grey ? std::vector{0.226} : std::vector{0.229, 0.224, 0.225};
      break;
    case AssumedValues::tf:
      pictures.scale = 1.0 / 127.5;
      pictures.mean = {1};
      break;
    case AssumedValues::scale: pictures.scale = 1.0 / 255; break;
    case AssumedValues::none: break;
  }
  return pictures;
}

std::string describe(const PicturePreparation& preparation) {
  using Order = PicturePreparation::Colours;
  const char* colours = preparation.colours == Order::grey  ? "grey"
                        : preparation.colours == Order::bgr ? "bgr"
                                                            : "rgb";
  const std::string fit =
      preparation.fit == PicturePreparation::Fit::crop
          ? fmt::format("the middle of the picture with a short side of {}", preparation.short_side)
          : std::string("the whole picture, stretched");
  const std::string values =
      preparation.standardise
          ? "each picture with mean 0 and deviation 1"
          : fmt::format("(value * {:.6g} - [{}]) / [{}]", preparation.scale,
                        fmt::join(preparation.mean, ", "), fmt::join(preparation.std, ", "));
  return fmt::format("{}x{} {}, {}; {}", preparation.height, preparation.width, colours, fit,
                     values);
}

AnswerKind answer_kind_of(const Model& model) {
  const Network& network = model.network();
  if (network.outputs().size() != 1) {
    throw InvalidArgument("the network has ", network.outputs().size(),
                          " outputs, expected one; cut it at a layer");
  }
  const Shape& output = network.outputs()[0].shape;
  if (output.rank() != 1 && output.rank() != 3) {
    throw InvalidArgument("the output has shape ", output,
                          ", expected a list of numbers or [height, width, classes]");
  }
  const std::string& task = model.facts().origin.task;
  if (output.rank() == 3) return AnswerKind::pixels;
  if (task == "multilabel") return AnswerKind::labels;
  if (task == "regression" || output[0] == 1) return AnswerKind::numbers;
  if (task.empty() && zoo::last_op(network) == "sigmoid") return AnswerKind::labels;
  return AnswerKind::classes;
}

int64_t predict_pictures(Model& model, const PredictionOptions& options) {
  const NetworkInput& input = picture_input(model.network());
  const PicturePreparation& preparation = model.facts().pictures.value();
  const Shape wanted = {preparation.height, preparation.width, preparation.channels()};
  if (input.shape != wanted) {
    throw InvalidArgument("the network takes pictures ", input.shape,
                          ", but its preparation makes ", wanted,
                          "; change --image-size or --preprocessing");
  }
  const Answers answers(model, options);
  const auto unread = std::make_shared<UnreadPictures>();
  const Dataset pictures = open_pictures(options.files, preparation, input.dtype, unread);
  const Shape& output = model.network().outputs()[0].shape;
  const int64_t bytes = output.elements() * static_cast<int64_t>(sizeof(float));
  const int64_t batch = std::min(options.batch_size, pictures.size());
  const int64_t group =
      std::clamp(kAnswerBytes / std::max<int64_t>(bytes, 1), batch, std::max(batch, kMostPictures));
  int64_t answered = 0;
  for (int64_t first = 0; first < pictures.size(); first += group) {
    const Dataset part = pictures.skip(first).take(group);
    Tensor values = model.predict(part, {.batch_size = batch});
    const std::map<int64_t, std::string> missing = unread->take();
    for (int64_t i = 0; i < part.size(); ++i) {
      const auto file = static_cast<size_t>(first + i);
      const auto why = missing.find(first + i);
      if (why != missing.end()) {
        options.unread(options.files[file], why->second);
        continue;
      }
      const auto size = static_cast<size_t>(output.elements());
      const std::span<float> row = values.f32().subspan(static_cast<size_t>(i) * size, size);
      if (!std::ranges::all_of(row, [](float value) { return std::isfinite(value); })) {
        options.unread(options.files[file],
                       concat(options.files[file],
                              ": the network gives numbers that are not finite; its weights or "
                              "--preprocessing are wrong"));
        continue;
      }
      options.answer(answers.of(file, row, output));
      ++answered;
    }
  }
  return answered;
}

}  // namespace pando::app
