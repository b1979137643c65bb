// Whether files are the ones that the publishers of data sets distribute.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/data/tools/verify.h"
#include "pando/fetch/catalog.h"

namespace pando::fetch {

// Compares a file with the one of the same name in the catalog's entry `dataset`; a file or a data
// set that the catalog does not know is unknown. Throws IoError when the file cannot be read.
FileOrigin origin_of(const std::string& dataset, const std::string& path);
// The same for an entry that the catalog need not have.
FileOrigin origin_of(const DatasetEntry& entry, const std::string& path);

}  // namespace pando::fetch
