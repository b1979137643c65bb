// SPDX-License-Identifier: MIT
#include "pando/data/prefetcher.h"

#include <exception>
#include <optional>
#include <utility>

#include "pando/base/threads.h"

namespace pando::data {

// Keeps as many spare batches as can be in use at once: queued, being filled, with the consumer.
Prefetcher::Prefetcher(const BatchPlan& plan, StreamState start, const PrefetchSize& size)
    : plan_(plan),
      start_(start),
      stride_(size.workers),
      spare_(static_cast<size_t>(size.depth) + 2 * static_cast<size_t>(size.workers) + 2) {
  const auto workers = static_cast<size_t>(size.workers);
  const size_t depth = (static_cast<size_t>(size.depth) + workers - 1) / workers;
  for (size_t number = 0; number < workers; ++number) {
    workers_.push_back(std::make_unique<Worker>(depth));
    Worker& worker = *workers_.back();
    worker.thread = start_thread(concat("prefetch ", number), [this, number, cores = size.cores,
                                                               &worker](const std::stop_token&) {
      pin_this_thread(cores);
      give_way();
      work(number, worker.ready);
    });
  }
}

// All queues close before the first join, so that the workers end at the same time.
Prefetcher::~Prefetcher() {
  for (const auto& worker : workers_) worker->ready.close();
}

bool Prefetcher::next(Batch& into) {
  std::optional<Batch> batch = workers_[turn_]->ready.pop();
  if (!batch) return false;
  turn_ = (turn_ + 1) % workers_.size();
  recycle(std::move(into));
  into = std::move(*batch);
  return true;
}

void Prefetcher::recycle(Batch&& batch) {
  if (!batch.fields.empty()) spare_.try_push(std::move(batch));
}

void Prefetcher::work(size_t number, BoundedQueue<Batch>& ready) {
  try {
    BatchFiller filler;
    StreamState at = plan_.after(start_, static_cast<int64_t>(number));
    while (!plan_.at_end(at) && !ready.closed()) {
      std::optional<Batch> batch = spare_.try_pop();
      if (!batch) batch.emplace();
      filler.fill(plan_, at, *batch);
      if (!ready.push(std::move(*batch))) return;
      at = plan_.after(at, stride_);
    }
    ready.close();
  } catch (...) {
    ready.fail(std::current_exception());
  }
}

}  // namespace pando::data
