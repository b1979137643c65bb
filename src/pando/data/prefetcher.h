// Background threads that gather the batches of a plan ahead of their use.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "pando/base/bounded_queue.h"
#include "pando/data/batch_plan.h"

namespace pando::data {

struct PrefetchSize {
  int depth = 1;
  int workers = 1;
  std::vector<int> cores;  // hardware threads of the workers; empty: any
};

// Worker w of n gathers batches w, w + n, w + 2n, ... into its own queue, and the consumer takes
// from the queues in turn: the order of the batches does not depend on timing. The queue of a
// worker also carries its exception, in the place of the batch that failed. Only one thread may
// call next() and recycle(); the destructor waits only for the batches that are being filled.
class Prefetcher {
 public:
  Prefetcher(const BatchPlan& plan, StreamState start, const PrefetchSize& size);
  ~Prefetcher();

  // Returns false at the end of the plan. The old buffers of `into` are reused for a later batch.
  bool next(Batch& into);
  void recycle(Batch&& batch);

 private:
  // The destructor closes the queue; then the thread, which is the last member, is joined first.
  struct Worker {
    explicit Worker(size_t depth) : ready(depth) {}
    ~Worker() { ready.close(); }
    BoundedQueue<Batch> ready;
    std::jthread thread;
  };
  void work(size_t number, BoundedQueue<Batch>& ready);

  const BatchPlan plan_;
  const StreamState start_;
  const int64_t stride_;  // the number of workers
  BoundedQueue<Batch> spare_;
  size_t turn_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace pando::data
