// Checks the places that flags name for output. Commands call these checks before any work, so that
// a wrong place costs no time.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace pando {

// Throws UsageError, which begins with the flag, if `path` cannot become a file: it is a folder,
// its folder does not exist, or nothing can be written there. Changes nothing.
void check_output_file(const std::string& flag, const std::string& path);

// Creates a folder, with its parents, if it does not exist. Throws UsageError, which begins with
// the flag.
void make_output_folder(const std::string& flag, const std::string& path);

}  // namespace pando
