// What the hosts of all instances do together, and wait for. Every instance calls the same ones in
// the same order, one thread at a time. Throw CommError when an instance is lost.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/comm/communicator.h"

namespace pando::comm {

// Until the messages have arrived. Looks often at first, then lets others have the core.
void wait_for(Messages& messages);

void barrier(Communicator& communicator);
// What instance `root` has; sizes must agree.
void broadcast(Communicator& communicator, std::span<std::byte> bytes, int root = 0);
// Sizes may differ: all have the text of `root` afterwards.
std::string broadcast_text(Communicator& communicator, std::string_view own, int root = 0);
// What each instance gives, in their order; sizes may differ.
std::vector<std::string> all_gather(Communicator& communicator, std::string_view own);
// Adds in the order of the instances.
std::vector<double> all_reduce(Communicator& communicator, std::span<const double> own);
bool any(Communicator& communicator, bool own);
// All instances find the same and throw InvalidArgument together, so that none is left waiting:
// "place: instance 0 gives 3 numbers, instance 2 gives 4 numbers".
void expect_same(Communicator& communicator, const char* place, const std::string& own);

// Messages of one block of bytes of every instance to every other, to be started again and again.
// Block i of `blocks` is that of instance i; each fills its own before the start.
std::unique_ptr<Messages> prepare_all_gather(Communicator& communicator,
                                             std::span<std::byte> blocks, int tag);

}  // namespace pando::comm
