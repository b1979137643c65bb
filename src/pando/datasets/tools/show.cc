// SPDX-License-Identifier: MIT
#include "pando/datasets/tools/show.h"

#include <algorithm>
#include <utility>

#include "pando/base/error.h"
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

// Wide enough for the captions, within reason.
int64_t tile_width(const std::vector<SheetTile>& tiles) {
  int64_t width = kUsualTile;
  for (const SheetTile& tile : tiles) {
    width = std::max(width, kCaptionLetterWidth * static_cast<int64_t>(tile.caption.size()));
  }
  return std::min(width, kWidestTile);
}

}  // namespace

}  // namespace datasets

Image show_dataset(const std::string& format, const std::string& path, const ShowOptions& options) {
  const DatasetRecord& found = dataset_record(format);
  datasets::check(options);
  const std::vector<SheetTile> tiles = datasets::tiles_of(found.show(path, options), options);
  return contact_sheet(tiles,
                       {.columns = options.columns, .min_tile = datasets::tile_width(tiles)});
}

}  // namespace pando
