// The data of a training run, as the flags want them: found or downloaded, read, made ready for the
// network or for the part of it that prepares them on the device.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <ostream>

#include "pando/app/flags/data_flags.h"
#include "pando/datasets/preparation.h"
#include "pando/tensor/shape.h"

namespace pando::app {

struct DataRequest {
  DataFlags flags;
  uint64_t seed = 0;            // of everything random about the samples
  Shape model_input;            // what the model is made for: the size of views
  int workers = 1;              // threads that read files once at the start
  int64_t synthetic = 1;        // how many different made-up images the devices hold
  std::ostream* out = nullptr;  // tells of a download; null: silent
  bool quiet = false;           // tells only that there is one
};

// Downloads what is nowhere, so that load_training_data finds it. Throws as it does.
void fetch_training_data(const DataRequest& request);

// Downloads what is nowhere, after saying what and how large. Throws UsageError, IoError, also when
// no sample can be read, and fetch::FetchStopped.
TrainingData load_training_data(const DataRequest& request);

}  // namespace pando::app
