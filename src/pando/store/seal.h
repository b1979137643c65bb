// A checksum after the last byte of an HDF5 file. HDF5 ignores what follows its own end of file and
// cuts it off when another program changes the file, so a seal is absent or belongs to the content.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pando::store {

// 8 bytes of mark, the length of the content and its checksum, both 64 bits, little-endian.
using Seal = std::array<std::byte, 24>;

// A change of any single byte always changes the seal; other damage does with probability 1 -
// 2^-64.
Seal seal_of(std::span<const std::byte> content);

// Returns true if the file ends in the seal of its content, false if it has none (files of other
// programs). Throws IoError if it is not a readable regular file or its content was damaged.
bool check_seal(const std::string& path);

}  // namespace pando::store
