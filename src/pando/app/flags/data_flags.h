// The flags of `pando train` that say which data it reads, how, and who prepares them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "pando/data/bad_records.h"
#include "pando/options/options.h"

namespace pando::app {

enum class SyntheticData { none, host, device };

struct DataFlags {
  std::string dataset =
      "fashion_mnist";       // of all_datasets(); parse_train_options follows the model
  std::string dataset_path;  // empty: where the system keeps it
  bool download = true;      // what is nowhere on this machine
  SyntheticData synthetic_data = SyntheticData::none;
  bool shuffle = true;
  int64_t image_size = 0;  // of views; 0: what the model is made for
  OnBadRecord on_bad_record = OnBadRecord::error;
  int pipeline_num_parallel = 0;  // 0: the cores that no device uses, at least 1

  bool accelerator_side_preprocess = false;
  bool eight_bit_transfer = false;
  bool fused_preprocessing = false;
};

void add_data_flags(OptionTable& table, DataFlags& flags);

// What no single flag can check: throws UsageError that names the flags.
void validate(const DataFlags& flags);

}  // namespace pando::app
