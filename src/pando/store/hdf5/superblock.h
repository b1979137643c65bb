// The superblock: where an HDF5 file begins and ends, how wide its fields are, and its root group.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/store/hdf5/bytes.h"

namespace pando::store::hdf5 {

// Finds and reads the superblock (versions 0 to 3), stores its sizes and base address in `file`,
// and returns the address of the root group's object header. Throws IoError if the file is not an
// HDF5 file or was cut off.
uint64_t read_superblock(FileBytes& file);

}  // namespace pando::store::hdf5
