// The two checksums of HDF5 files.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace pando::store::hdf5 {

// The checksum of blocks of metadata: Bob Jenkins' lookup3 with the start value 0.
uint32_t metadata_checksum(std::span<const uint8_t> bytes);

// The checksum of chunks with the filter fletcher32, over big-endian 16-bit words.
uint32_t fletcher32(std::span<const uint8_t> bytes);

}  // namespace pando::store::hdf5
