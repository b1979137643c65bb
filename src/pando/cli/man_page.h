// Generates man pages from the help texts.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/cli/help_page.h"

namespace pando::cli {

struct ManPage {
  std::string name;     // "pando-train"
  std::string summary;  // "train a model and validate it"
  std::string version;
  HelpPage help;
};

// The page in the roff format of man.
std::string man_page(const ManPage& page);

}  // namespace pando::cli
