// The way of data into the devices: a bounded queue of micro-batches, filled from the host's stream
// in order and emptied by the replicas, each of which takes the elements that are its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "pando/data/batch_stream.h"

namespace pando::runtime {

// Makes its argument the next micro-batch; false at the end of the data. `first_sample` is the
// running number of the first sample over the whole run. Called by one thread at a time.
using BatchSource = std::function<bool(Batch&)>;

// Elements are numbered from 0 over the life of the queue. Thread-safe.
class InfeedQueue {
 public:
  // Holds up to `capacity` elements that nobody has taken; at least one.
  InfeedQueue(BatchSource source, int capacity);

  // Waits for element `number`, which stays valid until it is given back; null when the queue was
  // closed. What the source throws reaches the caller who waited, once, and closes the queue; so
  // does the end of the data before the element, an InvalidArgument. Requires: nobody else takes
  // it.
  const Batch* take(int64_t number);
  void give_back(int64_t number);
  // The number of the first element that nobody has taken.
  int64_t position() const;

  // Lets all who wait go, until reopen(), which forgets the elements that were ready: after a
  // failure nobody knows who would have taken them.
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
