// The data of a training run as the flags ask for it: found or downloaded, read, and prepared for
// the network or for the part of it that prepares data on the device.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <ostream>

#include "pando/app/flags/data_flags.h"
#include "pando/datasets/preparation.h"
#include "pando/zoo/zoo.h"

namespace pando::app {

struct DataRequest {
  DataFlags flags;
  uint64_t seed = 0;                // of everything random about the samples
  const ZooEntry* model = nullptr;  // of views and synthetic labels; null: no synthetic data
  int workers = 1;                  // threads that read files once at the start
  int64_t synthetic = 1;            // how many different made-up images the devices hold
  std::ostream* out = nullptr;      // receives messages about a download; null: none
  bool quiet = false;               // only the start of a download is reported
};

// Downloads a data set that is not on this machine, so that load_training_data() finds it. Throws
// like load_training_data().
void fetch_training_data(const DataRequest& request);

// Downloads a data set that is not on this machine, after reporting its name and size. Throws
// UsageError, IoError (also when no sample can be read) and fetch::FetchStopped.
TrainingData load_training_data(const DataRequest& request);

}  // namespace pando::app
