// What the numbers of one output of a network mean for pictures.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "pando/app/report/prediction_text.h"
#include "pando/app/run/predictions.h"

namespace pando::app {

// Turns numbers of an output into predictions. Model and options outlive it.
class Answers {
 public:
  // Throws InvalidArgument if the output does not fit its kind, or a mask would replace a picture.
  Answers(const Model& model, size_t output, const PredictionOptions& options);

  // The prediction for a file of the options. Writes its mask, if it has one. Changes the numbers.
  Prediction of(size_t file, std::span<float> values, const Shape& shape) const;

 private:
  std::string label(size_t index) const;
  void classify(std::span<float> values, Prediction& prediction) const;
  void list_all(std::span<const float> values, Prediction& prediction) const;
  void segment(size_t file, std::span<const float> values, const Shape& shape,
               Prediction& prediction) const;
  std::vector<std::string> mask_paths() const;
  void keep_pictures() const;

  const PredictionOptions& options_;
  std::string name_;  // empty: the network has no other output
  std::vector<std::string> labels_;
  AnswerKind kind_;
  std::string op_;
  std::vector<std::string> masks_;
};

}  // namespace pando::app
