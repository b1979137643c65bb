// SPDX-License-Identifier: MIT
#include "pando/app/run/picture_values.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "pando/app/run/predictions.h"
#include "pando/base/strings.h"
#include "pando/data/image/augment.h"
#include "pando/nn/layers.h"

namespace pando::app {
namespace {

// A pixel's value v, 0 to 255, becomes v * scale + shift, for each channel.
struct PixelMap {
  std::vector<double> scale;
  std::vector<double> shift;
};

PixelValues values_of(const DatasetRecord& dataset) {
  return dataset.has_views() ? datasets::kViewPreparation.on_host : dataset.preparation->on_host;
}

// Returns nothing if each picture is standardised by its own figures.
std::optional<PixelMap> map_of(PixelValues values, size_t channels) {
  constexpr double kMostPixel = 255;
  switch (values) {
    case PixelValues::standardised: return std::nullopt;
    case PixelValues::scaled:
      return PixelMap{std::vector(channels, 1 / kMostPixel), std::vector(channels, 0.0)};
    case PixelValues::bytes:
    case PixelValues::plain:
      return PixelMap{std::vector(channels, 1.0), std::vector(channels, 0.0)};
    case PixelValues::normalised: break;
  }
  PixelMap map;
  const ChannelMap normalised = normalise_imagenet();
  for (size_t i = 0; i < channels; ++i) {
    map.scale.push_back(static_cast<double>(normalised.scale[i]));
    map.shift.push_back(static_cast<double>(normalised.shift[i]));
  }
  return map;
}

const char* text_of(PixelValues values) {
  switch (values) {
    case PixelValues::standardised: return "mean 0 and deviation 1 of each picture";
    case PixelValues::scaled: return "0 to 1";
    case PixelValues::normalised: return "normalised by the mean and deviation of ImageNet";
    default: return "0 to 255";
  }
}

PixelMap map_of(const PicturePreparation& pictures, size_t channels) {
  const auto of_channel = [](const std::vector<double>& values, size_t channel) {
    return values[std::min(channel, values.size() - 1)];
  };
  PixelMap map;
  for (size_t i = 0; i < channels; ++i) {
    const double deviation = of_channel(pictures.std, i);
    map.scale.push_back(pictures.scale / deviation);
    map.shift.push_back(-of_channel(pictures.mean, i) / deviation);
  }
  return map;
}

AssumedValues values_named(const std::string& name) {
  static const std::map<std::string, AssumedValues> names = {
      {"torchvision", AssumedValues::torchvision},
      {"tf", AssumedValues::tf},
      {"scale", AssumedValues::scale},
      {"none", AssumedValues::none}};
  return names.at(name);
}

// What turns the numbers of the data into those of the file.
NormalisePixelsOptions difference(const PixelMap& of_data, const PixelMap& of_file) {
  NormalisePixelsOptions options{.scale = {}, .shift = {}, .name = "pixels_of_the_file"};
  for (size_t i = 0; i < of_data.scale.size(); ++i) {
    options.scale.push_back(of_file.scale[i] / of_data.scale[i]);
    options.shift.push_back(of_file.shift[i] - of_data.shift[i] * options.scale[i]);
  }
  return options;
}

bool changes_nothing(const NormalisePixelsOptions& options) {
  constexpr double kRounding = 1e-5;
  const auto is_one = [](double scale) { return std::abs(scale - 1) < kRounding; };
  const auto is_zero = [](double shift) { return std::abs(shift) < kRounding; };
  return std::ranges::all_of(options.scale, is_one) && std::ranges::all_of(options.shift, is_zero);
}

}  // namespace

std::optional<PicturePreparation> wanted_preparation(
    const ModelFile& file, const Network& network,
    const std::optional<std::string>& preprocessing) {
  if (file.model.facts().pictures || !preprocessing) return file.model.facts().pictures;
  return assumed_preparation(network, values_named(*preprocessing));
}

Network for_values_of(const DatasetRecord& dataset, const ModelFile& file, const Network& network,
                      const std::optional<std::string>& preprocessing, std::string& note) {
  const Shape& input = network.inputs()[0].shape;
  if (input.rank() != 3 || !(dataset.has_views() || dataset.preparation)) return network;
  const PixelValues values = values_of(dataset);
  const std::optional<PicturePreparation> wanted = wanted_preparation(file, network, preprocessing);
  if (!wanted) {
    note = fmt::format(
        "{} does not say how pictures are prepared for it; pixels are as usual for {}: {}; "
        "--preprocessing changes that",
        file.path, dataset.name, text_of(values));
    return network;
  }
  const auto channels = static_cast<size_t>(input[2]);
  const std::optional<PixelMap> of_data = map_of(values, channels);
  if (wanted->standardise && !of_data) return network;
  if (wanted->standardise || !of_data || wanted->colours == PicturePreparation::Colours::bgr) {
    note = fmt::format(
        "warning: pixels of {} are not what {} asks for ({}): they are {}", dataset.name, file.path,
        wanted->standardise ? "each picture standardised" : "other numbers or colours",
        text_of(values));
    return network;
  }
  const NormalisePixelsOptions change = difference(*of_data, map_of(*wanted, channels));
  if (changes_nothing(change)) return network;
  note = fmt::format("pixels are converted to what {} expects by a layer in front of it, '{}'",
                     file.path, change.name);
  const SymbolicTensor given = Input(input, {.name = network.inputs()[0].name});
  return Network(given, network(NormalisePixels(change)(given)));
}

}  // namespace pando::app
