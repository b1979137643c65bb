// SPDX-License-Identifier: MIT
#include "pando/train/model_facts.h"

#include <algorithm>
#include <cmath>

#include "pando/base/error.h"
#include "pando/base/json.h"

namespace pando {

namespace {

constexpr const char* kLabelsKey = "pando.labels";
constexpr const char* kPreprocessingKey = "pando.preprocessing";
constexpr const char* kOriginKey = "pando.origin";
constexpr const char* kServingKey = "pando.serving";
constexpr int64_t kLargestServedBatch = 1 << 20;
// Larger pictures do not fit into memory in batches; keeps sizes far from overflow.
constexpr int64_t kLargestSide = 1 << 16;

using Colours = PicturePreparation::Colours;
using Fit = PicturePreparation::Fit;

const std::map<std::string, Colours>& colour_names() {
  static const std::map<std::string, Colours> names = {
      {"rgb", Colours::rgb}, {"bgr", Colours::bgr}, {"grey", Colours::grey}};
  return names;
}

const std::map<std::string, Fit>& fit_names() {
  static const std::map<std::string, Fit> names = {{"crop", Fit::crop}, {"stretch", Fit::stretch}};
  return names;
}

const std::map<std::string, ServedInput>& served_names() {
  static const std::map<std::string, ServedInput> names = {{"tensors", ServedInput::tensors},
                                                           {"images", ServedInput::images},
                                                           {"bytes", ServedInput::pixels}};
  return names;
}

template <typename Value>
std::string name_of(const std::map<std::string, Value>& names, Value value) {
  return std::ranges::find(names, value, &std::pair<const std::string, Value>::second)->first;
}

template <typename Value>
Value value_of(const std::map<std::string, Value>& names, const std::string& what,
               const std::string& name) {
  const auto found = names.find(name);
  if (found != names.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [key, value] : names) known.push_back(key);
  throw IoError(unknown_name_message(what, name, known));
}

Json json_of(const PicturePreparation& pictures) {
  Json json = {{"height", pictures.height},
               {"width", pictures.width},
               {"fit", name_of(fit_names(), pictures.fit)}};
  if (pictures.fit == Fit::crop) json["short_side"] = pictures.short_side;
  json["colours"] = name_of(colour_names(), pictures.colours);
  if (pictures.standardise) {
    json["standardise"] = true;
    return json;
  }
  json["scale"] = pictures.scale;
  json["mean"] = pictures.mean;
  json["std"] = pictures.std;
  return json;
}

void check_side(const char* name, int64_t side, int64_t least) {
  if (side >= least && side <= kLargestSide) return;
  throw IoError(name, ": expected ", least, " to ", kLargestSide, ", got ", side);
}

void check_channels(const char* name, const std::vector<double>& values, int64_t channels) {
  const bool fits = values.size() == 1 || std::ssize(values) == channels;
  if (!fits) {
    throw IoError(name, ": expected 1 or ", channels, " numbers, got ", values.size());
  }
  for (const double value : values) {
    if (!std::isfinite(value)) throw IoError(name, ": expected finite numbers, got ", value);
  }
}

PicturePreparation pictures_of(const Json& json) {
  PicturePreparation pictures;
  pictures.height = json.get<int64_t>("height");
  pictures.width = json.get<int64_t>("width");
  check_side("height", pictures.height, 1);
  check_side("width", pictures.width, 1);
  pictures.fit = value_of(fit_names(), "fit", json.get<std::string>("fit"));
  if (pictures.fit == Fit::crop) {
    pictures.short_side = json.get<int64_t>("short_side");
    check_side("short_side", pictures.short_side, std::max(pictures.height, pictures.width));
  }
  pictures.colours = value_of(colour_names(), "colours", json.get<std::string>("colours"));
  pictures.standardise = json.get<bool>("standardise", false);
  if (pictures.standardise) return pictures;
  pictures.scale = json.get<double>("scale");
  pictures.mean = json.get<std::vector<double>>("mean");
  pictures.std = json.get<std::vector<double>>("std");
  check_channels("mean", pictures.mean, pictures.channels());
  check_channels("std", pictures.std, pictures.channels());
  for (const double std : pictures.std) {
    if (std == 0) throw IoError("std: expected numbers other than 0, got 0");
  }
  return pictures;
}

ServingFacts serving_of(const Json& json) {
  ServingFacts serving{.signature = json.get<std::string>("signature"),
                       .input = value_of(served_names(), "input", json.get<std::string>("input")),
                       .batch = json.get<int64_t>("batch", 0)};
  if (serving.signature.empty()) throw IoError("signature: expected a name, got none");
  if (serving.batch < 0 || serving.batch > kLargestServedBatch) {
    throw IoError("batch: expected 0 to ", kLargestServedBatch, ", got ", serving.batch);
  }
  return serving;
}

}  // namespace

std::map<std::string, std::string> to_metadata(const ModelFacts& facts) {
  std::map<std::string, std::string> metadata;
  if (!facts.labels.empty()) metadata[kLabelsKey] = Json(facts.labels).dump();
  if (facts.pictures) metadata[kPreprocessingKey] = json_of(*facts.pictures).dump();
  Json origin = Json::object();
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) origin[key] = value;
  };
  add("producer", facts.origin.producer);
  add("model", facts.origin.model);
  add("dataset", facts.origin.dataset);
  add("task", facts.origin.task);
  add("date", facts.origin.date);
  if (!origin.members().empty()) metadata[kOriginKey] = origin.dump();
  if (facts.serving) {
    Json serving = {{"signature", facts.serving->signature},
                    {"input", name_of(served_names(), facts.serving->input)}};
    if (facts.serving->batch > 0) serving["batch"] = facts.serving->batch;
    metadata[kServingKey] = serving.dump();
  }
  return metadata;
}

ModelFacts facts_in(const std::map<std::string, std::string>& metadata, const std::string& place) {
  ModelFacts facts;
  const auto read = [&](const char* key, const auto& take) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) return;
    try {
      take(Json::parse(found->second));
    } catch (const IoError& error) {
      throw IoError(place, ": metadata ", key, ": ", error.what());
    }
  };
  read(kLabelsKey, [&](const Json& json) { facts.labels = json.get<std::vector<std::string>>(); });
  read(kPreprocessingKey, [&](const Json& json) { facts.pictures = pictures_of(json); });
  read(kServingKey, [&](const Json& json) { facts.serving = serving_of(json); });
  read(kOriginKey, [&](const Json& json) {
    facts.origin = {.producer = json.get<std::string>("producer", ""),
                    .model = json.get<std::string>("model", ""),
                    .dataset = json.get<std::string>("dataset", ""),
                    .task = json.get<std::string>("task", ""),
                    .date = json.get<std::string>("date", "")};
  });
  return facts;
}

}  // namespace pando
