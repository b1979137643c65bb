// The flags of `pando train` that choose the data, how they are read and where they are prepared.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pando/app/flags/augmentation_flags.h"
#include "pando/data/bad_records.h"
#include "pando/options/options.h"
#include "pando/tensor/shape.h"

namespace pando::app {

enum class SyntheticData { none, host, device };

struct DataFlags {
  std::string dataset =
      "fashion_mnist";       // of all_datasets(); parse_train_options follows the model
  std::string dataset_path;  // empty: search where the system keeps data sets
  bool download = true;      // fetch a data set that is not on this machine
  SyntheticData synthetic_data = SyntheticData::none;
  bool shuffle = true;
  int64_t image_size = 0;                    // of views; 0: the default of the model
  std::vector<std::string> dataset_classes;  // numbers or names; empty: all
  int64_t train_samples = 0;                 // 0: all
  int64_t test_samples = 0;
  double validation_split = 0;  // of the training samples, for validation; 0: the test samples
  OnBadRecord on_bad_record = OnBadRecord::error;
  int pipeline_num_parallel = 0;  // 0: the cores that no device uses, at least 1

  bool accelerator_side_preprocess = false;
  bool eight_bit_transfer = false;
  bool fused_preprocessing = false;

  AugmentationFlags augmentation;
};

// The height and width of views of images, and the sides of synthetic volumes, for a model with
// this input.
int64_t view_side(const DataFlags& flags, const Shape& model_input);

void add_data_flags(OptionTable& table, DataFlags& flags);

// Checks combinations of flags; throws UsageError that names the flags.
void validate(const DataFlags& flags);

}  // namespace pando::app
