// SPDX-License-Identifier: MIT
#include "pando/runtime/feeder.h"

#include "pando/base/error.h"

namespace pando::runtime {

Feeder::Feeder(const BoundProgram& bound, int spins, const std::atomic<bool>& failed)
    : bound_(bound),
      spins_(spins),
      failed_(failed),
      ports_(static_cast<size_t>(bound.placement().replicas)),
      fed_(static_cast<size_t>(bound.placement().replicas)) {}

void Feeder::begin(InfeedQueue& infeed, const UpdateDivision& division, size_t most_steps,
                   profile::Trace* trace) {
  infeed.reopen();
  infeed_ = &infeed;
  division_ = division;
  trace_ = trace;
  first_element_ = infeed.position();
  for (std::vector<FedBatch>& of_replica : fed_) of_replica.resize(most_steps);
  for (Port& port : ports_) {
    port.batch = nullptr;
    port.number = -1;
    port.published.reset();
    port.copied.reset();
  }
}

void Feeder::end() {
  for (Port& port : ports_) {
    if (port.number >= 0) infeed_->give_back(port.number);
    port.number = -1;
  }
}

void Feeder::wake() {
  for (Port& port : ports_) {
    port.published.wake();
    port.copied.wake();
  }
}

std::vector<int64_t> Feeder::samples_ahead(int64_t fed_before, int64_t elements) const {
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < elements; ++i) {
    samples.push_back(infeed_->samples_of(first_element_ + fed_before + i));
  }
  return samples;
}

bool Feeder::publish(const FeedTurn& turn, int workers, WorkerTrace& trace) {
  Port& port = ports_[static_cast<size_t>(turn.replica)];
  const int32_t number = turn.steps_before + turn.micro_batch;
  trace.begin_wait();
  if (!port.copied.wait_for(number * workers, spins_, failed_)) return false;
  trace.end_wait(profile::EventKind::barrier_wait);
  trace.begin_wait();
  if (port.number >= 0) infeed_->give_back(port.number);
  port.number = -1;
  port.batch = nullptr;
  const int64_t element = division_.element_of(turn.micro_batch, turn.replica);
  FedBatch& fed = fed_[static_cast<size_t>(turn.replica)][static_cast<size_t>(turn.micro_batch)];
  fed = {};
  if (element < turn.update->elements) {
    const int64_t at =
        first_element_ + turn.fed_before + division_.own_place_of(turn.micro_batch, turn.replica);
    port.batch = infeed_->take(at);
    if (port.batch == nullptr) return false;
    port.number = at;
    fed = {port.batch->valid, port.batch->first_sample};
    const int64_t planned = division_.valid_of(*turn.update, element);
    PANDO_CHECK(fed.valid == planned || (bound_.placement().samples_vary && fed.valid < planned),
                "element ", at, ": expected ", planned, " samples, got ", fed.valid);
    if (trace_ != nullptr) trace_->count_samples(fed.valid);
  }
  trace.end_wait(profile::EventKind::feed_wait);
  port.published.advance_to(number + 1);
  return true;
}

bool Feeder::await(const FeedTurn& turn, WorkerTrace& trace) {
  const Port& port = ports_[static_cast<size_t>(turn.replica)];
  const int32_t wanted = turn.steps_before + turn.micro_batch + 1;
  if (port.published.value() >= wanted && !failed_) return true;
  trace.begin_wait();
  const bool there = port.published.wait_for(wanted, spins_, failed_);
  trace.end_wait(profile::EventKind::feed_wait);
  return there;
}

void Feeder::copy(int lane, int micro_batch) const {
  const int replica = bound_.replica_of(lane);
  bound_.feed(lane, micro_batch, ports_[static_cast<size_t>(replica)].batch,
              fed(replica, micro_batch).valid);
}

}  // namespace pando::runtime
