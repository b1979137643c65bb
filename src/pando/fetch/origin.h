// Whether files are the ones that the publishers of data sets distribute.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/fetch/remote_dataset.h"

namespace pando {

// Whether a file is byte for byte one that the publisher of a data set distributes.
enum class FileOrigin {
  unknown,   // the publisher gives no checksum
  official,  // it is
  other,     // it has the name of one and other bytes
};

namespace fetch {

// Compares a file with the one of the same name in the data set; a file of another name is unknown.
// Throws IoError when the file cannot be read.
FileOrigin origin_of(const RemoteDataset& dataset, const std::string& path);

}  // namespace fetch

}  // namespace pando
