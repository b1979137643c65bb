// Pictures anywhere below a folder, with their labels in a CSV file (label_table.h).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pando/data/sources/image_folder.h"
#include "pando/data/sources/label_table.h"

namespace pando {

namespace data {

struct TaggedFile {
  std::string path;
  std::vector<int32_t> labels;  // ascending
};

// The pictures of one table, in the order of its rows.
struct TaggedList {
  std::vector<TaggedFile> files;
  std::vector<BadRecord> bad;         // what was skipped
  std::vector<std::string> warnings;  // about the table, and about pictures without a row
};

struct TaggedPart {
  std::string folder;  // files are written relative to it, or by their names alone
  std::string below;   // only pictures below this folder count; empty: all
};

// Finds the pictures of a table: by path, by name alone, or by either without the ending. Throws
// IoError with the line for a file that does not exist or a name that several pictures have, and
// for unknown classes. With OnBadRecord::skip, files that are missing or cannot be read are left
// out and listed.
TaggedList find_tagged(const LabelTable& table, const TaggedPart& part, const LabelClasses& classes,
                       const ImageFolderOptions& options);

}  // namespace data

// Samples x f32 or u8 [height, width, 3], y f32 [classes] with 1 for each class of the picture,
// maybe flip u8. Gathering throws like load_image_folder().
Dataset open_tagged_images(std::vector<data::TaggedFile> files, int64_t classes,
                           const ImageFolderOptions& options);

}  // namespace pando
