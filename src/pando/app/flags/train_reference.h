// The reference of `pando train`, docs/reference/train.md, generated from the table of its flags
// and from the presets.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace pando::app {

// Markdown; the same on every machine.
std::string train_reference();

}  // namespace pando::app
