// SPDX-License-Identifier: MIT
#include "pando/datasets/tools/show.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pando/base/error.h"
#include "pando/data/image/mask.h"
#include "pando/data/picture_sheet.h"
#include "pando/datasets/all_datasets.h"
#include "pando/datasets/tools/show_impl.h"

namespace pando {

namespace datasets {

namespace {

constexpr int64_t kWidestTile = 264;  // small pictures are enlarged up to this for long captions
constexpr int64_t kUsualTile = 96;

void check(const ShowOptions& options) {
  if (options.samples < 1) {
    throw InvalidArgument("show: ", options.samples, " samples, expected at least 1");
  }
  if (options.epoch < 0) throw InvalidArgument("show: epoch ", options.epoch, ", expected >= 0");
}

std::vector<SheetTile> tiles_of(const Showing& showing, const ShowOptions& options) {
  const Dataset shuffled = showing.dataset.shuffle({.seed = options.seed});
  std::vector<int64_t> indices(static_cast<size_t>(std::min(options.samples, shuffled.size())));
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i);
  if (!showing.tile) {
    return pando::tiles_of(shuffled, {.indices = indices, .epoch = options.epoch}, showing.classes);
  }
  std::vector<SheetTile> tiles;
  for (const int64_t index : indices) {
    tiles.push_back(showing.tile(shuffled.get(index, options.epoch)));
  }
  return tiles;
}

// The picture on the left, its mask in colours on the right.
Image beside_mask(const Image& picture, const Image& mask) {
  const auto grey = picture.channels == 1;
  Image both({picture.size.height, picture.size.width + mask.size.width});
  for (int64_t y = 0; y < both.size.height; ++y) {
    uint8_t* to = both.row(y);
    for (int64_t i = 0; i < 3 * picture.size.width; ++i) {
      *to++ = picture.view().row(y)[grey ? i / 3 : i];
    }
    std::copy_n(mask.view().row(y), 3 * mask.size.width, to);
  }
  return both;
}

// The classes of a mask, without the background where there is more.
std::string caption_of_mask(std::span<const int32_t> labels,
                            const std::vector<std::string>& names) {
  std::set<int32_t> found(labels.begin(), labels.end());
  found.erase(kNotLabelled);
  if (found.size() > 1) found.erase(0);
  std::vector<std::string> words;
  for (const int32_t label : found) {
    const auto at = static_cast<size_t>(label);
    words.push_back(at < names.size() ? names[at] : std::to_string(label));
  }
  return join(words, " ");
}

// Wide enough for the captions, within reason.
int64_t tile_width(const std::vector<SheetTile>& tiles) {
  int64_t width = kUsualTile;
  for (const SheetTile& tile : tiles) {
    width = std::max(width, kCaptionLetterWidth * static_cast<int64_t>(tile.caption.size()));
  }
  return std::min(width, kWidestTile);
}

}  // namespace

SheetTile tile_with_mask(const Sample& sample, const std::vector<std::string>& classes) {
  const Image picture = picture_of(sample.x());
  return {beside_mask(picture, picture_of_mask(sample.y().i32(), picture.size)),
          caption_of_mask(sample.y().i32(), classes)};
}

}  // namespace datasets

Image show_dataset(const std::string& format, const std::string& path, const ShowOptions& options) {
  const DatasetRecord& found = dataset_record(format);
  datasets::check(options);
  const std::vector<SheetTile> tiles = datasets::tiles_of(found.show(path, options), options);
  return contact_sheet(tiles,
                       {.columns = options.columns, .min_tile = datasets::tile_width(tiles)});
}

std::vector<SheetTile> shown_pictures(const std::string& format, const std::string& path,
                                      const ShowOptions& options) {
  datasets::check(options);
  datasets::Showing showing = dataset_record(format).show(path, options);
  const Field& x = showing.dataset.fields()[0];
  if (x.dtype != DType::u8 || !is_picture(x.shape, x.dtype)) {
    throw Unsupported("show: ", path, ": expected pictures of bytes, got samples ",
                      to_string(x.dtype), " ", x.shape);
  }
  if (showing.tile) {
    showing.tile = [](const Sample& sample) { return SheetTile{picture_of(sample.x()), ""}; };
  }
  return datasets::tiles_of(showing, options);
}

}  // namespace pando
