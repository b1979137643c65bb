// The name of this machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace pando::launch {

std::string host_name();

}  // namespace pando::launch
