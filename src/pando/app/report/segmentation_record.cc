// SPDX-License-Identifier: MIT
#include "pando/app/report/segmentation_record.h"

#include <span>

#include <fmt/core.h>

#include "pando/app/report/class_record.h"
#include "pando/data/image/mask.h"
#include "pando/data/image/png.h"
#include "pando/data/picture_sheet.h"
#include "pando/store/atomic_file.h"

namespace pando::app {
namespace {

constexpr int64_t kTileSide = 160;

// Three channels, whatever the picture has.
Tensor rgb_of(const Image& image) {
  Tensor pixels(DType::u8, {image.size.height, image.size.width, 3});
  const auto channels = static_cast<size_t>(image.channels);
  for (size_t i = 0; i < static_cast<size_t>(image.size.pixels()); ++i) {
    for (size_t c = 0; c < 3; ++c) {
      pixels.u8()[3 * i + c] = image.pixels[i * channels + (channels < 3 ? 0 : c)];
    }
  }
  return pixels;
}

// Writes the sheet of pictures, and returns what is where in it.
Json write_pictures(const std::filesystem::path& path, const std::vector<SegmentedSample>& worst,
                    const std::vector<SegmentedSample>& best) {
  std::vector<Tensor> tiles;
  Json samples = Json::array();
  const auto add = [&](const SegmentedSample& sample, bool is_best) {
    const SegmentedPictures pictures = pictures_of(sample);
    for (const Image* one : {&pictures.picture, &pictures.truth, &pictures.predicted}) {
      tiles.push_back(rgb_of(*one));
    }
    samples.push_back(Json::Items{sample.index, rounded_share(sample.iou), is_best});
  };
  for (const SegmentedSample& sample : worst) add(sample, false);
  for (const SegmentedSample& sample : best) add(sample, true);
  if (tiles.empty()) return nullptr;
  const PictureSheet sheet = picture_sheet(
      tiles[0].shape(), std::ssize(tiles), [&](int64_t i) { return tiles[static_cast<size_t>(i)]; },
      {.most_side = kTileSide, .most_bytes = std::ssize(tiles) * kTileSide * kTileSide * 3});
  const std::vector<uint8_t> png = encode_png(sheet.image.view());
  store::replace_file(path.string(), {std::as_bytes(std::span(png))});
  return {{"columns", sheet.columns},
          {"tile", Json::Items{sheet.tile.height, sheet.tile.width}},
          {"samples", std::move(samples)}};
}

Json colours_of(int64_t classes) {
  Json colours = Json::array();
  for (int64_t label = 0; label < classes; ++label) {
    const auto [red, green, blue] = class_colour(static_cast<int32_t>(label));
    colours.push_back(fmt::format("#{:02x}{:02x}{:02x}", red, green, blue));
  }
  return colours;
}

}  // namespace

void write_segmentation_record(const std::filesystem::path& folder,
                               const SegmentationReport& report,
                               const std::vector<std::string>& names,
                               const std::vector<SegmentedSample>& worst,
                               const std::vector<SegmentedSample>& best) {
  const ClassReport& pixels = report.pixels();
  Json classes = Json::array();
  for (int64_t label = 0; label < report.classes(); ++label) {
    const ClassScores scores = pixels.scores(label);
    const std::optional<double> iou = report.iou(label);
    classes.push_back(Json::Items{scores.support, iou ? Json(rounded_share(*iou)) : Json(),
                                  rounded_share(scores.precision), rounded_share(scores.recall)});
  }
  std::error_code ignored;
  std::filesystem::remove(folder / kSegmentationSamplesFile, ignored);  // of an earlier validation
  const Json record = {{"version", 1},
                       {"names", names_or_numbers(pixels, names)},
                       {"colours", colours_of(report.classes())},
                       {"samples", report.samples()},
                       {"pixels", pixels.samples()},
                       {"mean_iou", report.mean_iou()},
                       {"accuracy", pixels.accuracy()},
                       {"classes", std::move(classes)},
                       {"cells", recorded_cells(pixels)},
                       {"shown", write_pictures(folder / kSegmentationSamplesFile, worst, best)}};
  const std::string text = record.dump() + "\n";
  store::replace_file((folder / kSegmentationRecordFile).string(),
                      {std::as_bytes(std::span(text))});
}

}  // namespace pando::app
