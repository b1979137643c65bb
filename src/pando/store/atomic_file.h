// Replaces a file as a whole: a reader, also after a crash or a power cut, finds the old bytes or
// the new ones, never a mixture.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

namespace pando::store {

// Makes `pieces`, one after the other, the content of the file `path`: written to a new file in the
// same directory, flushed to the disk, renamed. Keeps the permissions of a file that it replaces
// and follows a symbolic link. On failure throws IoError, removes the new file and leaves the old
// one.
void replace_file(const std::string& path,
                  std::initializer_list<std::span<const std::byte>> pieces);

}  // namespace pando::store
