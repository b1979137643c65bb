// Replaces a file as a whole: a reader, even after a crash or a power cut, finds the old bytes or
// the new ones, never a mixture.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

namespace pando::store {

// Replaces the content of the file `path` by `pieces`, one after the other: writes a new file in
// the same directory, flushes it to the disk and renames it. Keeps the permissions of a file that
// it replaces and follows a symbolic link. On failure throws IoError, removes the new file and
// keeps the old one.
void replace_file(const std::string& path,
                  std::initializer_list<std::span<const std::byte>> pieces);

}  // namespace pando::store
