// Bounding boxes that accompany the images of ImageNet: one CSV file, or a folder of annotations in
// XML.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pando/data/image/geometry.h"

namespace pando::data {

// The boxes by image. Immutable: any number of threads may ask.
class BoxTable {
 public:
  // `path` is "" (no boxes), a folder with <synset>/<image>.xml or <image>.xml or two folders of
  // them, train and val, or a file of lines "<image>.JPEG,xmin,ymin,xmax,ymax", the edges as
  // fractions of the sides. Throws IoError.
  explicit BoxTable(const std::string& path);

  // Throws IoError for an annotation that cannot be read.
  std::vector<ObjectBox> of(std::string_view synset, const std::string& file_name) const;

 private:
  void read_csv(const std::string& path);

  std::string folder_;
  std::unordered_map<std::string, std::vector<ObjectBox>> boxes_;
};

// The boxes of an annotation, <size> with <width> and <height>, then any number of <bndbox> with
// <xmin>, <ymin>, <xmax> and <ymax>, in pixels; corners may be swapped and are cut off at the edges
// of the image. Throws IoError with `place`.
std::vector<ObjectBox> parse_annotation(std::string_view xml, const std::string& place);

}  // namespace pando::data
