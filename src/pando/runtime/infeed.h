// Brings data to the devices: a bounded queue of micro-batches, filled in order from the host's
// stream; each replica takes its own elements.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "pando/data/batch_stream.h"

namespace pando::runtime {

// Writes the next micro-batch into its argument; false at the end of the data. `first_sample` is
// the running number of the first sample over the whole run. Called by one thread at a time.
using BatchSource = std::function<bool(Batch&)>;

// Elements are numbered from 0 over the life of the queue. Thread-safe.
class InfeedQueue {
 public:
  // Holds up to `capacity` elements that no caller has taken; at least one.
  InfeedQueue(BatchSource source, int capacity);

  // Waits for element `number`, which stays valid until it is given back; null when the queue was
  // closed. An exception of the source is rethrown once, to the caller that asked the source, and
  // closes the queue. If the data end before the element, it throws InvalidArgument in the same
  // way. Requires: no other caller takes this element.
  const Batch* take(int64_t number);
  void give_back(int64_t number);
  // Waits for element `number`, even if the queue holds more than its capacity then, and returns
  // its real samples; 0 when the queue was closed. Fails like take(). Requires: no caller has taken
  // it.
  int64_t samples_of(int64_t number);
  // The number of the first element that no caller has taken.
  int64_t position() const;

  // close() ends all waits until reopen(), which discards the elements that were ready: after a
  // failure it is unknown which replicas would have taken them.
  void close();
  void reopen();

 private:
  struct Slot {
    Batch batch;
    int64_t number = -1;  // -1: free
    bool taken = false;
  };

  Slot* find(int64_t number);
  Slot& free_slot();
  bool full() const;
  void pull(std::unique_lock<std::mutex>& lock);
  // Waits until element `number` is there; null when the queue was closed.
  Slot* await(int64_t number, bool beyond_capacity, std::unique_lock<std::mutex>& lock);

  BatchSource source_;
  const int64_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Slot>> slots_;
  int64_t pulled_ = 0;
  int64_t taken_ = 0;
  bool pulling_ = false;
  bool closed_ = false;
};

}  // namespace pando::runtime
