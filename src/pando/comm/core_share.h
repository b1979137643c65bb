// The part of a machine's cores that an instance uses if it is not bound to cores.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/comm/communicator.h"

namespace pando::comm {

struct CoreShare {
  int index = 0;
  int count = 1;
};

// The machine and the hardware threads that this process may run on.
std::string usable_cores_text();

// The share of this instance among the instances whose text is the same. All instances call it
// together.
CoreShare core_share(Communicator& communicator, const std::string& usable_cores);

}  // namespace pando::comm
