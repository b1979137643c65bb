// Builds the record files of ImageNet from the folders of ILSVRC2012.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pando/data/bad_records.h"
#include "pando/data/image/decode.h"
#include "pando/data/sources/imagenet/imagenet.h"

namespace pando {

struct ImagenetBuildProgress {
  int64_t images = 0;  // counts those of earlier runs too
  int64_t all_images = 0;
  int shards = 0;
  int all_shards = 0;
};

struct ImagenetBuildOptions {
  int train_shards = kImagenetTrainShards;
  int validation_shards = kImagenetValidationShards;
  int workers = 1;  // threads, a shard each
  uint64_t seed = 0;
  // Files besides the images; "" means the first file in brackets that exists in the source.
  std::string synsets;            // one per line, in the order of labels [synset_labels.txt,
                                  // LOC_synset_mapping.txt]; otherwise the names of the folders,
                                  // sorted
  std::string metadata;           // "synset<TAB>text" lines [imagenet_metadata.txt,
                                  // LOC_synset_mapping.txt]
  std::string validation_labels;  // one synset per line, in the order of the images' names
                                  // [imagenet_2012_validation_synset_labels.txt], or by name
                                  // [LOC_val_solution.csv]
  std::string bounding_boxes;     // [imagenet_2012_bounding_boxes.csv], or a folder of XML files
                                  // [ILSVRC/Annotations/CLS-LOC]
  OnBadRecord on_bad_record = OnBadRecord::error;
  DecodeLimits limits = {};
  // Called now and then, by one thread at a time.
  std::function<void(const ImagenetBuildProgress&)> progress = {};
  const std::atomic<bool>* stop = nullptr;  // once true, the build ends at the next image
};

struct ImagenetBuildReport {
  bool finished = false;  // false: stopped; the same call continues
  int64_t train = 0;      // images in shards that are whole
  int64_t validation = 0;
  int kept_shards = 0;    // the number that an earlier call had built
  int64_t converted = 0;  // images that were not RGB or grey JPEGs
  std::vector<BadRecord> skipped;
};

// Writes train-*-of-*, validation-*-of-* and, last, labels.txt to `folder`, from train/<synset>/*
// and validation/<synset>/* or validation/* in `source` (inputs.h has other names and places, such
// as those of Kaggle's archive). Images keep their bytes; PNGs and CMYK JPEGs, of which ImageNet
// has some, become RGB JPEGs of quality 100. Every image is decoded once and a bad one is an
// IoError with its path, or left out and listed.
//
// The samples are in a random order that depends on the seed and on their number only, and the
// bytes of the shards are the same for any number of workers. A shard gets its name when it is
// complete. After a call that ended early, another call continues. If images (by path, size or
// modification time) or other files (by contents) have changed in between, it refuses to mix them
// with the existing shards. A hidden file in `folder`, removed at the end, holds the state of the
// build.
//
// Throws IoError for files that are missing, do not fit together or cannot be written,
// InvalidArgument for invalid numbers.
ImagenetBuildReport build_imagenet(const std::string& source, const std::string& folder,
                                   const ImagenetBuildOptions& options = {});

}  // namespace pando
