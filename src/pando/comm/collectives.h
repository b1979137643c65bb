// Blocking collectives between the hosts of all instances. Every instance calls the same ones in
// the same order, one thread at a time. They throw CommError if an instance is lost.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/comm/communicator.h"

namespace pando::comm {

// Waits until the messages have arrived. Polls often at first, then yields the core to others.
void wait_for(Messages& messages);

void barrier(Communicator& communicator);
// Gives all instances the bytes of instance `root`; sizes must agree.
void broadcast(Communicator& communicator, std::span<std::byte> bytes, int root = 0);
// Returns the text of instance `root` on all instances; sizes may differ.
std::string broadcast_text(Communicator& communicator, std::string_view own, int root = 0);
// Returns the texts of all instances, in their order; sizes may differ.
std::vector<std::string> all_gather(Communicator& communicator, std::string_view own);
// Returns the sums, added in the order of the instances.
std::vector<double> all_reduce(Communicator& communicator, std::span<const double> own);
bool any(Communicator& communicator, bool own);
// If the texts differ, all instances throw InvalidArgument together, so that none is left waiting:
// "place: instance 0 gives 3 numbers, instance 2 gives 4 numbers".
void expect_same(Communicator& communicator, const char* place, const std::string& own);

// Messages that send a block of bytes from every instance to every other, to be started any number
// of times. Block i of `blocks` belongs to instance i; each instance fills its own before the
// start.
std::unique_ptr<Messages> prepare_all_gather(Communicator& communicator,
                                             std::span<std::byte> blocks, int tag);

}  // namespace pando::comm
