// SPDX-License-Identifier: MIT
#include "pando/app/report/segmentation_report.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/core.h>

#include "pando/app/report/class_report.h"
#include "pando/base/error.h"
#include "pando/data/contact_sheet.h"
#include "pando/data/image/mask.h"
#include "pando/data/image/png.h"
#include "pando/store/atomic_file.h"

namespace pando::app {
namespace {

constexpr size_t kShownOfEach = 4;
constexpr int64_t kTileWidth = 192;  // room for a caption of 16 letters
constexpr int64_t kTilesOfSample = 3;

// The picture of a sample, or the slice in the middle of a volume.
struct MiddleSlice {
  Image picture;
  size_t first_pixel = 0;
};

MiddleSlice middle_of(const Tensor& x) {
  if (x.shape().rank() != 4) return {picture_of(x), 0};
  const Shape& shape = x.shape();
  Tensor slice(x.dtype(), {shape[1], shape[2], shape[3]});
  const int64_t middle = shape[0] / 2;
  std::memcpy(slice.data(),
              static_cast<const std::byte*>(x.data()) + static_cast<size_t>(middle) * slice.bytes(),
              slice.bytes());
  return {picture_of(slice), static_cast<size_t>(middle * shape[1] * shape[2])};
}

// The picture in grey, so that only the classes have colours.
Image coloured(const MiddleSlice& slice, std::span<const int32_t> labels) {
  Image image(slice.picture.size);
  const auto channels = static_cast<size_t>(slice.picture.channels);
  for (size_t i = 0; i < static_cast<size_t>(image.size.pixels()); ++i) {
    const auto pixel = std::span(slice.picture.pixels).subspan(i * channels, channels);
    const int grey = std::accumulate(pixel.begin(), pixel.end(), 0) / static_cast<int>(channels);
    const int32_t label = labels[slice.first_pixel + i];
    for (size_t c = 0; c < 3; ++c) {
      const int shown = label > 0 ? (grey + 2 * class_colour(label)[c]) / 3 : grey;
      image.pixels[3 * i + c] = static_cast<uint8_t>(shown);
    }
  }
  return image;
}

void add_tiles(const SegmentedSample& sample, const std::string& caption,
               std::vector<SheetTile>& tiles) {
  SegmentedPictures pictures = pictures_of(sample);
  tiles.push_back({std::move(pictures.picture), fmt::format("{}: {:.3f}", caption, sample.iou)});
  tiles.push_back({std::move(pictures.truth), "labels"});
  tiles.push_back({std::move(pictures.predicted), "predicted"});
}

}  // namespace

SegmentedPictures pictures_of(const SegmentedSample& sample) {
  const MiddleSlice slice = middle_of(sample.x);
  return {.picture = slice.picture,
          .truth = coloured(slice, sample.truth),
          .predicted = coloured(slice, sample.predicted)};
}

ShownSamples choose_samples(const SegmentationReport& report) {
  const std::vector<int64_t> order = report.worst_first();
  const size_t best = std::min(kShownOfEach, order.size() / 2);
  const size_t worst = std::min(kShownOfEach, order.size() - best);
  return {.worst = {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(worst)},
          .best = {order.rbegin(), order.rbegin() + static_cast<std::ptrdiff_t>(best)}};
}

Image segmentation_sheet(const std::vector<SegmentedSample>& worst,
                         const std::vector<SegmentedSample>& best) {
  PANDO_CHECK(!worst.empty());
  std::vector<SheetTile> tiles;
  for (size_t i = 0; i < worst.size(); ++i) {
    add_tiles(worst[i], fmt::format("worst {}", i + 1), tiles);
    if (i < best.size()) add_tiles(best[i], fmt::format("best {}", i + 1), tiles);
  }
  return contact_sheet(
      tiles, {.columns = (best.empty() ? 1 : 2) * kTilesOfSample, .min_tile = kTileWidth});
}

void write_segmentation_report(const std::filesystem::path& folder,
                               const SegmentationReport& report,
                               const std::vector<std::string>& names, const Image& sheet) {
  const auto write = [&](const char* name, const auto& content) {
    store::replace_file((folder / name).string(), {std::as_bytes(std::span(content))});
  };
  write("segmentation_report.txt", to_text(report, names));
  write("segmentation_report.csv", ious_csv(report, names));
  write("confusion.svg", confusion_svg(report.pixels(), names, "pixels"));
  if (!sheet.pixels.empty()) write("segmentation.png", encode_png(sheet.view()));
}

}  // namespace pando::app
