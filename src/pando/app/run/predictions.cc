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
#include "pando/data/image/augment.h"
#include "pando/data/image/png.h"
#include "pando/options/output_place.h"
#include "pando/zoo/head.h"

namespace pando::app {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kAnswerBytes = int64_t{256} << 20;  // of outputs that are held at a time
constexpr int64_t kMostPictures = 1024;               // that are predicted by one call
constexpr int64_t kMostMaskClasses = 256;             // a mask has a byte for each pixel
constexpr size_t kMostAlike = 64;                     // of one size, predicted by one call
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
    if (options.mask_folder.empty()) return;
    make_output_folder("--output", options.mask_folder);
    masks_ = mask_paths();
    keep_pictures();
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

  // Masks must not replace the pictures that they are made of.
  void keep_pictures() const {
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

  const PredictionOptions& options_;
  const std::vector<std::string>& labels_;
  AnswerKind kind_;
  std::string op_;
  std::vector<std::string> masks_;
};

bool lists_all(AnswerKind kind) {
  return kind == AnswerKind::labels || kind == AnswerKind::numbers;
}

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

// Answers pictures of one size at a time.
class PicturePredictor {
 public:
  PicturePredictor(Model& model, const PredictionOptions& options)
      : model_(model),
        options_(options),
        answers_(model, options),
        dtype_(picture_input(model.network()).dtype) {}

  // The outputs of the network for consecutive files of the list.
  struct Outputs {
    size_t first = 0;  // of the files
    size_t count = 0;
    Tensor values;
    std::map<int64_t, std::string> missing;  // why a file has no output
  };

  Outputs compute(size_t first, size_t count, const PicturePreparation& preparation,
                  int64_t batch) const {
    const auto begin = options_.files.begin() + static_cast<std::ptrdiff_t>(first);
    const auto unread = std::make_shared<UnreadPictures>();
    const Dataset pictures = open_pictures({begin, begin + static_cast<std::ptrdiff_t>(count)},
                                           preparation, dtype_, unread);
    Tensor values = model_.predict(pictures, {.batch_size = batch});
    return {first, count, std::move(values), unread->take()};
  }

  // Returns how many files were answered.
  int64_t tell(Outputs outputs) const {
    const Tensor& values = outputs.values;
    const auto rows = static_cast<size_t>(values.elements()) / outputs.count;
    const Shape shape(std::vector(values.shape().begin() + 1, values.shape().end()));
    int64_t answered = 0;
    for (size_t i = 0; i < outputs.count; ++i) {
      const auto why = outputs.missing.find(static_cast<int64_t>(i));
      if (why != outputs.missing.end()) {
        options_.unread(options_.files[outputs.first + i], why->second);
        continue;
      }
      answered +=
          answer(outputs.first + i, outputs.values.f32().subspan(i * rows, rows), shape) ? 1 : 0;
    }
    return answered;
  }

 private:
  bool answer(size_t file, std::span<float> row, const Shape& shape) const {
    const std::string& name = options_.files[file];
    if (std::ranges::all_of(row, [](float value) { return std::isfinite(value); })) {
      options_.answer(answers_.of(file, row, shape));
      return true;
    }
    options_.unread(name, concat(name,
                                 ": the network gives numbers that are not finite; its weights or "
                                 "--preprocessing are wrong"));
    return false;
  }

  Model& model_;
  const PredictionOptions& options_;
  Answers answers_;
  DType dtype_;
};

int64_t predict_one_size(Model& model, const PicturePredictor& predictor,
                         const PredictionOptions& options) {
  const PicturePreparation& preparation = model.facts().pictures.value();
  const NetworkInput& input = picture_input(model.network());
  const Shape wanted = {preparation.height, preparation.width, preparation.channels()};
  if (input.shape != wanted) {
    throw InvalidArgument("the network takes pictures ", input.shape,
                          ", but its preparation makes ", wanted,
                          "; change --image-size or --preprocessing");
  }
  const Shape& output = model.network().outputs()[0].shape;
  const int64_t bytes = output.elements() * static_cast<int64_t>(sizeof(float));
  const int64_t files = std::ssize(options.files);
  const int64_t batch = std::min(options.batch_size, files);
  const int64_t group =
      std::clamp(kAnswerBytes / std::max<int64_t>(bytes, 1), batch, std::max(batch, kMostPictures));
  int64_t answered = 0;
  for (int64_t first = 0; first < files; first += group) {
    const auto count = static_cast<size_t>(std::min(group, files - first));
    answered +=
        predictor.tell(predictor.compute(static_cast<size_t>(first), count, preparation, batch));
  }
  return answered;
}

// Neighbours of one size are predicted by one call, one by one: a program for each size is enough.
int64_t predict_own_sizes(Model& model, const PicturePredictor& predictor,
                          const PredictionOptions& options) {
  const Shape& sample = picture_input(model.network()).shape;
  const OpenSizes& open = model.open_sizes();
  const SizeChoice choice{
      .height = open.is_open(0, 0) ? 0 : sample[0],
      .width = open.is_open(0, 1) ? 0 : sample[1],
      .multiple = options.size_multiple,
  };
  PicturePreparation preparation = model.facts().pictures.value();
  preparation.fit = PicturePreparation::Fit::stretch;
  int64_t answered = 0;
  for (size_t first = 0, count = 1; first < options.files.size(); first += count) {
    count = 1;
    std::optional<ImageSize> size;
    std::optional<PicturePredictor::Outputs> outputs;
    try {
      size = input_size(options.files[first], choice);
      preparation.height = size->height;
      preparation.width = size->width;
      while (first + count < options.files.size() && count < kMostAlike &&
             has_input_size(options.files[first + count], choice, *size)) {
        ++count;
      }
      outputs = predictor.compute(first, count, preparation, 1);
    } catch (const Error& error) {
      for (size_t i = first; i < first + count; ++i) {
        const std::string& file = options.files[i];
        options.unread(file, size ? concat(file, ": ", *size, " pixels: ", error.what())
                                  : std::string(error.what()));
      }
    }
    if (outputs) answered += predictor.tell(std::move(*outputs));
  }
  return answered;
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
      pictures.mean.assign(kImagenetMean.begin(), kImagenetMean.end());
      pictures.std.assign(kImagenetDeviation.begin(), kImagenetDeviation.end());
      if (is_grey) pictures.mean = {0.449}, pictures.std = {0.226};  // the means of the three
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

std::string describe(const PicturePreparation& preparation, bool own_sizes) {
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
  if (own_sizes) return fmt::format("{} in their own size; {}", colours, values);
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
  if (output.rank() == 3) return AnswerKind::pixels;
  const std::string& task = model.facts().origin.task;
  const auto known = std::ranges::find(all_tasks(), task, &Task::name);
  if (known != all_tasks().end() && lists_all(known->answers)) return known->answers;
  if (output[0] == 1) return AnswerKind::numbers;
  if (task.empty() && zoo::last_op(network) == "sigmoid") return AnswerKind::labels;
  return AnswerKind::classes;
}

bool has_open_sides(const Model& model) {
  const OpenSizes& open = model.open_sizes();
  return model.network().inputs().size() == 1 && (open.is_open(0, 0) || open.is_open(0, 1));
}

int64_t predict_pictures(Model& model, const PredictionOptions& options) {
  const PicturePredictor predictor(model, options);
  return options.own_sizes ? predict_own_sizes(model, predictor, options)
                           : predict_one_size(model, predictor, options);
}

}  // namespace pando::app
