// A sum over all instances that makes progress while they compute.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pando/comm/communicator.h"
#include "pando/comm/wire.h"

namespace pando::comm {

struct AllReduceOptions {
  int tag = 0;  // below Communicator::kHostTags; this one and the next are used
  WireFormat wire = WireFormat::f32;
};

// Replaces the numbers of each instance by the sums over all instances, any number of times in the
// same memory. Every instance adds up a share of the numbers and sends the sums to the others. If
// there are few numbers, every instance sends all of its numbers to all others instead, which saves
// one round of messages. Adds in the order of the instances, so that results depend neither on
// timing nor on the transport, and all instances have the same bits. Requires: the communicator and
// the memory outlive it.
class AllReduce {
 public:
  AllReduce(Communicator& communicator, std::span<float> values, AllReduceOptions options);

  void start();
  // Makes progress; returns true when the sums are complete, until the next start().
  bool advance();
  int64_t bytes_sent() const { return bytes_sent_; }  // by this instance, in each sum

 private:
  enum class Phase { idle, collecting, handing_out };
  std::span<float> share_of(int instance) const;
  void prepare_at_once();
  void prepare_shares();
  void sum_at_once();
  void sum_share();
  void take_shares();

  Communicator& communicator_;
  std::span<float> values_;
  WireFormat wire_;
  int tag_;
  bool at_once_ = false;
  Phase phase_ = Phase::idle;
  int64_t bytes_sent_ = 0;
  // Encoded numbers, by instance: first those sent and received while collecting, then those of
  // handing out. With WireFormat::f32, numbers are sent from `values_` and sums are received into
  // it.
  std::vector<std::vector<std::byte>> sent_;
  std::vector<std::vector<std::byte>> received_;
  std::vector<float> own_values_;  // kept, so that a sum allocates nothing
  std::vector<std::byte> own_share_;
  std::vector<std::vector<std::byte>> shares_;
  std::unique_ptr<Messages> collecting_;
  std::unique_ptr<Messages> handing_out_;
};

}  // namespace pando::comm
