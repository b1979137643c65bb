// Instances that are threads of one process, for tests of communication between instances.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "pando/comm/communicator.h"

namespace pando::comm {

// One communicator per instance, in order. They may outlive each other.
std::vector<std::shared_ptr<Communicator>> in_process_instances(int count);

}  // namespace pando::comm
