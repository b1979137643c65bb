// SPDX-License-Identifier: MIT
#include "pando/app/run/predictions.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "pando/app/run/answers.h"
#include "pando/app/run/picture_input.h"
#include "pando/base/error.h"
#include "pando/data/image/augment.h"

namespace pando::app {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kAnswerBytes = int64_t{256} << 20;  // of outputs that are held at a time
constexpr int64_t kMostPictures = 1024;               // that are predicted by one call
constexpr size_t kMostAlike = 64;                     // of one size, predicted by one call
constexpr int64_t kLargePicture = 160;  // from here on, networks see the middle of photographs

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
      : model_(model), options_(options), dtype_(picture_input(model.network()).dtype) {
    const size_t outputs = model.network().outputs().size();
    answers_.reserve(outputs);
    for (size_t i = 0; i < outputs; ++i) answers_.emplace_back(model, i, options);
  }

  // The outputs of the network for consecutive files of the list.
  struct Outputs {
    size_t first = 0;  // of the files
    size_t count = 0;
    std::vector<Tensor> values;              // per output
    std::map<int64_t, std::string> missing;  // why a file has no output
  };

  Outputs compute(size_t first, size_t count, const PicturePreparation& preparation,
                  int64_t batch) const {
    const auto begin = options_.files.begin() + static_cast<std::ptrdiff_t>(first);
    const auto unread = std::make_shared<UnreadPictures>();
    const Dataset pictures = open_pictures({begin, begin + static_cast<std::ptrdiff_t>(count)},
                                           preparation, dtype_, unread);
    std::vector<Tensor> values = model_.predict_all(pictures, {.batch_size = batch});
    return {first, count, std::move(values), unread->take()};
  }

  // Returns how many files were answered.
  int64_t tell(Outputs outputs) const {
    int64_t answered = 0;
    for (size_t i = 0; i < outputs.count; ++i) {
      const auto why = outputs.missing.find(static_cast<int64_t>(i));
      if (why != outputs.missing.end()) {
        options_.unread(options_.files[outputs.first + i], why->second);
        continue;
      }
      answered += answer(outputs, i) ? 1 : 0;
    }
    return answered;
  }

 private:
  // Tells of file `i` of these, unless the network found no numbers for it.
  bool answer(Outputs& outputs, size_t i) const {
    const size_t file = outputs.first + i;
    const std::string& name = options_.files[file];
    std::vector<std::span<float>> rows;
    for (Tensor& values : outputs.values) {
      const auto length = static_cast<size_t>(values.elements()) / outputs.count;
      rows.push_back(values.f32().subspan(i * length, length));
    }
    const auto is_finite = [](std::span<const float> row) {
      return std::ranges::all_of(row, [](float value) { return std::isfinite(value); });
    };
    if (!std::ranges::all_of(rows, is_finite)) {
      options_.unread(name, concat(name,
                                   ": the network gives numbers that are not finite; its weights "
                                   "or --preprocessing are wrong"));
      return false;
    }
    for (size_t k = 0; k < rows.size(); ++k) {
      const Shape& all = outputs.values[k].shape();
      options_.answer(
          answers_[k].of(file, rows[k], Shape(std::vector(all.begin() + 1, all.end()))));
    }
    return true;
  }

  Model& model_;
  const PredictionOptions& options_;
  std::vector<Answers> answers_;  // per output
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
  int64_t bytes = 0;
  for (const NetworkOutput& output : model.network().outputs()) {
    bytes += output.shape.elements() * static_cast<int64_t>(sizeof(float));
  }
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
