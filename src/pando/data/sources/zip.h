// Reads zip archives, as far as NumPy and Keras write them, and writes simple ones.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pando::data {

struct ZipMember {
  std::string name;
  bool encrypted = false;
  uint16_t method = 0;  // 0 stored, 8 deflated
  uint32_t crc = 0;
  uint64_t stored = 0;  // bytes in the archive
  uint64_t bytes = 0;   // after unpacking
  uint64_t offset = 0;  // of its local header
};

// The members in the order of the central directory, also of archives in the zip64 form. Throws
// IoError with `place` for anything that is not a whole archive.
std::vector<ZipMember> zip_members(std::span<const uint8_t> archive, const std::string& place);

// The bytes of a member, checked by their checksum. Throws IoError, also for encrypted members and
// methods other than stored and deflated, and OverMemoryLimit.
std::vector<uint8_t> read_zip_member(std::span<const uint8_t> archive, const ZipMember& member,
                                     const std::string& place);

// A member to be written.
struct ZipContent {
  std::string name;
  std::span<const uint8_t> bytes;
};

// An archive with these members, not compressed. The same members give the same bytes. Throws
// InvalidArgument for 4 GiB or more.
std::vector<uint8_t> make_zip(const std::vector<ZipContent>& members);

}  // namespace pando::data
