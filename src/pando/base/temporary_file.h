// Temporary files beside the files that they will replace, and the removal of those that killed
// processes left.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace pando {

struct TemporaryFile {
  std::string path;
  int descriptor = -1;  // open for writing, and locked until it is closed
  int error = 0;        // errno if the file could not be created
};

// Creates `.pando-<process>-<number>.tmp` in a directory. The caller renames or removes the file
// before closing it: an unlocked file of this name counts as left over. The first call for a
// directory removes what is left over there.
TemporaryFile create_temporary(const std::string& directory);

// Removes the temporary files of this user in the directory whose process has ended, on this or
// another machine; ignores what it cannot remove. Does nothing if the file system has no locks.
void sweep_temporaries(const std::string& directory);

}  // namespace pando
