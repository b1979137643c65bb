// The layouts of a user's own pictures, which `image_folder` tells apart: a folder per class, masks
// beside the pictures, labels in a CSV file. Private to the folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pando/data/sources/image_folder.h"
#include "pando/datasets/preparation.h"
#include "pando/datasets/tools/pipeline_impl.h"
#include "pando/datasets/tools/show_impl.h"
#include "pando/datasets/tools/verify.h"

namespace pando::datasets {

// Where the pictures of a data set are.
struct ImageParts {
  std::string root;
  std::string train;
  std::string validation;  // empty: validation is cut out of training
};

// One way to lay out pictures and labels.
struct ImageLayout {
  // Whether a part of the data set in `root` looks like this.
  bool (*fits)(const std::string& root, const std::string& part) = nullptr;
  TrainingData (*load)(const ImageParts& parts, const DataLoadOptions& options) = nullptr;
  VerifyReport (*verify)(const std::string& path, const VerifyOptions& options) = nullptr;
  Pipeline (*pipeline)(const std::string& path, const DataBenchmarkOptions& options) = nullptr;
  Showing (*show)(const std::string& path, const ShowOptions& options) = nullptr;
};

ImageLayout csv_layout();
ImageLayout mask_layout();

// The random views of training; those of validation differ in random_views.
ImageFolderOptions training_views(const DataLoadOptions& load);
// The views of a contact sheet.
ImageFolderOptions shown_views(const ShowOptions& options);
// Training views first, then those of validation.
TrainTest open_both(const ImageFolderOptions& options, int64_t classes,
                    const std::function<Dataset(bool train, const ImageFolderOptions&)>& open);

// The stages of pictures in files of their own.
Pipeline picture_file_pipeline(std::vector<std::string> files, const Dataset& dataset,
                               uint64_t seed);

}  // namespace pando::datasets
