// The facts in a model file besides layers and weights: names of the classes, how pictures are
// prepared, and where the model comes from.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pando {

// How a picture becomes an input of a network. A pixel's value v, 0 to 255, becomes
// (v * scale - mean) / std, with one mean and std for all channels or one for each.
struct PicturePreparation {
  enum class Fit {
    crop,     // the short side becomes `short_side`, then the middle is taken
    stretch,  // the whole picture; proportions may change
  };
  enum class Colours { rgb, bgr, grey };

  int64_t height = 0;
  int64_t width = 0;
  Fit fit = Fit::crop;
  int64_t short_side = 0;  // with Fit::crop; at least height and width
  Colours colours = Colours::rgb;
  // Instead of scale, mean and std: each picture gets mean 0 and standard deviation 1.
  bool standardise = false;
  double scale = 1;
  std::vector<double> mean = {0};
  std::vector<double> std = {1};

  int64_t channels() const { return colours == Colours::grey ? 1 : 3; }
  bool operator==(const PicturePreparation&) const = default;
};

struct ModelOrigin {
  std::string producer;  // the software that wrote the model: "pando 0.6.0"
  std::string model;     // the name of the network: "resnet50"
  std::string dataset;   // that it was trained on
  std::string task;      // a name of zoo/task.h: "classification"
  std::string date;      // "2026-11-17T22:47:24Z"

  bool operator==(const ModelOrigin&) const = default;
};

// What clients of a server send for a picture.
enum class ServedInput {
  tensors,  // numbers as the network takes them
  images,   // encoded JPEGs and PNGs
  pixels,   // eight-bit pixels of the prepared size; "bytes" in files and flags
};

// How a server shows the model.
struct ServingFacts {
  std::string signature = "serving_default";
  ServedInput input = ServedInput::tensors;
  int64_t batch = 0;  // that other software is bound to; 0: any

  bool operator==(const ServingFacts&) const = default;
};

struct ModelFacts {
  std::vector<std::string> labels;  // class i is labels[i]; empty: not known
  std::optional<PicturePreparation> pictures;
  ModelOrigin origin;
  std::optional<ServingFacts> serving;

  bool operator==(const ModelFacts&) const = default;
};

// The facts as texts by key, as files keep them: `pando.labels`, `pando.preprocessing`,
// `pando.origin` and `pando.serving`, in JSON. What is not known has no key.
std::map<std::string, std::string> to_metadata(const ModelFacts& facts);

// Ignores other keys. Throws IoError, which names `place` and the key, for a text that
// to_metadata() cannot have written.
ModelFacts facts_in(const std::map<std::string, std::string>& metadata, const std::string& place);

}  // namespace pando
