// The input for building the shards of ImageNet: the folders of ILSVRC2012 with their images,
// labels, texts and bounding boxes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pando/data/sources/imagenet/format.h"

namespace pando::data {

// The files besides the images. An empty name means the usual name in the folder of the images, if
// that file exists.
struct ImagenetSideFiles {
  std::string synsets;   // synset_labels.txt, LOC_synset_mapping.txt
  std::string metadata;  // imagenet_metadata.txt, LOC_synset_mapping.txt
  std::string
      validation_labels;       // imagenet_2012_validation_synset_labels.txt, LOC_val_solution.csv
  std::string bounding_boxes;  // imagenet_2012_bounding_boxes.csv, ILSVRC/Annotations/CLS-LOC
};

struct ImagenetInput {
  std::string path;
  int32_t label = 0;  // from 0 on
  uint64_t bytes = 0;
  int64_t changed_ns = 0;  // time of the last change
  std::vector<ObjectBox> objects;
};

struct ImagenetInputs {
  std::vector<ImagenetClass> classes;
  std::vector<ImagenetInput> train;  // sorted by class and name
  std::vector<ImagenetInput> validation;

  const std::vector<ImagenetInput>& of(ImagenetPart part) const {
    return part == ImagenetPart::train ? train : validation;
  }
};

// Lists <source>/train/<synset>/* and <source>/validation/<synset>/* or <source>/validation/*, and
// reads the files that belong to them; images are not opened. The folder validation may also be
// called val or test, and validation may lack some of the classes. In the source that Kaggle's
// archive unpacks to, the images are in ILSVRC/Data/CLS-LOC; `source` may also be the folder of the
// images itself. `workers` threads read annotations. Clutter (clutter.h) and empty folders are left
// out. Throws IoError for files that are missing or do not fit together.
ImagenetInputs list_imagenet_inputs(const std::string& source, const ImagenetSideFiles& files,
                                    int workers);

// A hash of everything above; images count with path, size and time.
uint64_t fingerprint(const ImagenetInputs& inputs);

}  // namespace pando::data
