// The samples that a contact sheet is made of. Private to the folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pando/data/contact_sheet.h"
#include "pando/data/dataset.h"
#include "pando/datasets/tools/show.h"

namespace pando::datasets {

struct Showing {
  Dataset dataset;                   // one part, augmented when that is asked for
  std::vector<std::string> classes;  // names of the labels
  // How a sample looks; empty: its x as a picture and its y as a caption.
  std::function<SheetTile(const Sample& sample)> tile;
};

// The picture of a sample beside its mask in colours; the caption names the classes of the mask.
SheetTile tile_with_mask(const Sample& sample, const std::vector<std::string>& classes);

}  // namespace pando::datasets
