// The superblock: where an HDF5 file begins and ends, how wide its fields are, and its root group.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/store/hdf5/bytes.h"

namespace pando::store::hdf5 {

// Finds and reads the superblock (versions 0 to 3), tells `file` what it says, and returns the
// address of the root group's object header. Throws IoError if this is no HDF5 file, or was cut
// off.
uint64_t read_superblock(FileBytes& file);

}  // namespace pando::store::hdf5
