// Downloads the data sets of the catalog.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <ostream>
#include <string>

#include "pando/fetch/download.h"
#include "pando/fetch/remote_dataset.h"

namespace pando::fetch {

struct FetchOptions {
  std::string folder;  // holds a folder for each data set; empty: default_folder()
  std::string mirror;  // base address of the files, instead of the catalog's; checksums
                       // are verified too
  bool force = false;  // fetches even if the data set exists
  RetryLimits retry;
  const std::atomic<bool>* stop = nullptr;  // checked several times per second
  std::ostream* out = nullptr;              // takes progress messages; null: silent
  bool is_terminal = false;                 // whether `out` is a terminal
};

// Returns the folder that the readers of the data set take (load_cifar10 and others). Does nothing
// if the files are there with the right checksums; uses an archive that was put into the folder by
// hand. Several processes may fetch the same data set: all but one wait.
// Throws InvalidArgument if the mirror is not an address, FetchStopped, NotFetched (the message
// says what to do without a network), and IoError if files cannot be written or unpacked.
std::string fetch_dataset(const RemoteDataset& entry, const FetchOptions& options = {});

}  // namespace pando::fetch
