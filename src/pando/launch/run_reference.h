// The reference of `pando run`: docs/reference/run.md.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace pando::launch {

std::string run_reference();

}  // namespace pando::launch
