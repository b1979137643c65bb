// Answers of a trained network for picture files, by its task.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pando/app/report/prediction_text.h"
#include "pando/train/model.h"
#include "pando/zoo/task.h"

namespace pando::app {

// How pictures are prepared for a network that does not say it itself.
enum class AssumedValues { torchvision, tf, scale, none };

// The likeliest classes are shown, or all labels or numbers. For pixels, masks are written and the
// shares of the classes are shown.
struct PredictionOptions {
  std::vector<std::string> files;
  int64_t top = 5;  // classes that are shown
  int64_t batch_size = 32;
  std::string mask_folder;        // for AnswerKind::pixels; is created
  std::vector<AnswerKind> kinds;  // of the outputs; none: as the model says
  // Where the model leaves height and width open (Model::open_sizes()), each picture keeps its
  // size, stretched to the next multiples of size_multiple. If only one of them is open, the
  // picture keeps its proportions.
  bool own_sizes = false;
  int64_t size_multiple = 1;
  // Called in the order of the files, for each output of the network.
  std::function<void(const Prediction&)> answer;
  // Called with a file that cannot be answered and the reason; the others are answered.
  std::function<void(const std::string& file, const std::string& why)> unread;
};

// The preparation that is assumed for a network without one: see `pando predict --help`. Throws
// InvalidArgument unless the network has one input that is a picture with one channel or three.
PicturePreparation assumed_preparation(const Network& network, std::optional<AssumedValues> values);
// "224x224 rgb, the middle of the picture with a short side of 256; values / 255, ...".
// With `own_sizes`, "their own size" instead of size and fit.
std::string describe(const PicturePreparation& preparation, bool own_sizes = false);

// What an output of a model means: by the task in its facts if the model has no other output, else
// by its shape and last layer. Throws InvalidArgument unless it is a list of numbers or a picture
// of them.
AnswerKind answer_kind_of(const Model& model, size_t output = 0);

// Whether the model leaves the height or the width of its pictures open.
bool has_open_sides(const Model& model);

// Requires: the model's facts have a preparation that fits its input. Throws InvalidArgument if
// they do not. Returns the number of pictures that were answered.
int64_t predict_pictures(Model& model, const PredictionOptions& options);

}  // namespace pando::app
