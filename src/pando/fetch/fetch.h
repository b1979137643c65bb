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
  std::string mirror;  // base address to take the files from instead of the catalog's; the
                       // checksums hold for them too
  bool force = false;  // also when the data set is there
  Patience patience;
  const std::atomic<bool>* stop = nullptr;  // looked at several times per second
  std::ostream* out = nullptr;              // says what happens; null: silent
  bool is_terminal = false;                 // whether `out` is one
};

// Gives what the readers of the data set take (load_cifar10 and its like). Does nothing when the
// files are there with the right checksums; takes an archive that somebody put into the folder.
// Several processes may fetch the same data set: all but one wait.
// Throws InvalidArgument for a mirror that is no address, FetchStopped, NotFetched (the message
// says what to do without a network), and IoError when files cannot be written or unpacked.
std::string fetch_dataset(const RemoteDataset& entry, const FetchOptions& options = {});

}  // namespace pando::fetch
