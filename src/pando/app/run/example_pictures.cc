// SPDX-License-Identifier: MIT
#include "pando/app/run/example_pictures.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "pando/app/flags/find_dataset.h"
#include "pando/base/error.h"
#include "pando/data/image/png.h"
#include "pando/datasets/tools/show.h"
#include "pando/options/usage_error.h"

namespace pando::app {

namespace {

constexpr int64_t kLookedAt = 4;  // samples for each example, to find different classes

std::string example_name(size_t number, std::string label) {
  constexpr size_t kLongest = 40;
  label.resize(std::min(label.size(), kLongest));
  std::ranges::replace_if(
      label, [](unsigned char c) { return !std::isalnum(c) && c != '_' && c != '-'; }, '_');
  return concat(number, label.empty() ? "" : "-", label, ".png");
}

// Samples of classes that were not there before come first.
void put_new_classes_first(std::vector<SheetTile>& tiles) {
  std::set<std::string> seen;
  std::stable_partition(tiles.begin(), tiles.end(),
                        [&](const SheetTile& tile) { return seen.insert(tile.caption).second; });
}

}  // namespace

std::vector<ExamplePicture> example_pictures(const DataFlags& data, const ModelFacts& facts,
                                             int64_t count) {
  if (data.synthetic_data != SyntheticData::none) {
    throw UsageError("--examples: synthetic data have no pictures; use --examples 0");
  }
  const std::optional<std::string> path = find_dataset(data);
  if (!path) {
    throw UsageError("--examples: the files of ", data.dataset,
                     " are not on this machine; name their folder by --dataset-path, or use "
                     "--examples 0");
  }
  std::vector<SheetTile> tiles = shown_pictures(
      data.dataset, *path, {.samples = kLookedAt * count, .augment = false, .test = true});
  // The network may know only some of the classes.
  const bool has_classes = facts.origin.task == "classification" && !facts.labels.empty();
  std::erase_if(tiles, [&](const SheetTile& tile) {
    return has_classes && std::ranges::find(facts.labels, tile.caption) == facts.labels.end();
  });
  put_new_classes_first(tiles);
  std::vector<ExamplePicture> examples;
  for (const SheetTile& tile : tiles) {
    if (std::ssize(examples) == count) break;
    std::vector<uint8_t> png = encode_png(tile.image.view());
    if (png.size() > kMostExampleBytes) continue;
    examples.push_back({example_name(examples.size(), tile.caption), std::move(png)});
  }
  return examples;
}

}  // namespace pando::app
