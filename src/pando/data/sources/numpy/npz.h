// The members of .npz files.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "pando/data/sources/zip.h"

namespace pando::data {

// The arrays of an .npz file by their names, which are not unpacked. Members that are not arrays
// are left out. Throws IoError like zip_members(), and for a name that occurs twice.
std::map<std::string, ZipMember> npz_members(std::span<const uint8_t> archive,
                                             const std::string& place);

}  // namespace pando::data
