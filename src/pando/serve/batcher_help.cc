// How threads that read requests compute short ones themselves. Handing a request to a worker and
// its answer back wakes two threads, which takes about as long as a small network. So such a thread
// submits everything that has arrived and then computes it as one batch; workers are woken only if
// cores are free and the batch is long enough to be divided.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/serve/batcher.h"
#include "pando/serve/job_impl.h"

namespace pando::serve {

namespace {

constexpr double kShortSample = 0.5e-3;  // seconds; longer ones belong to the workers
constexpr double kLongestHelp = 3e-3;    // seconds in which the caller reads nothing
constexpr double kWorthWaking = 300e-6;  // seconds; a shorter batch is not divided
constexpr int64_t kBacklog = 8;          // batches; that many are more than clients in turn have
constexpr std::chrono::milliseconds kRecent{5};

}  // namespace

// Requires: the mutex is held. So does everything below that is private.
bool Batcher::is_short(const ModelQueue& queue) const {
  return queue.seconds_per_sample > 0 && queue.seconds_per_sample < kShortSample &&
         !queue.limits.waits() && queue.limits.max_running == 0 && trace_ == nullptr;
}

// The model with the oldest request among those with short ones.
std::shared_ptr<const LoadedModel> Batcher::pick_short() const {
  std::shared_ptr<const LoadedModel> best;
  for (const auto& model : active_) {
    const ModelQueue& queue = model->queue();
    if (queue.jobs.empty() || !is_short(queue)) continue;
    if (best == nullptr || queue.jobs.front()->accepted < best->queue().jobs.front()->accepted) {
      best = model;
    }
  }
  return best;
}

// Workers for which there is a core: neither they nor threads that help use it.
int Batcher::free_workers(Clock::time_point now) {
  std::erase_if(helpers_, [&](const auto& helper) {
    return now - helper.second > kRecent || helper.first == std::this_thread::get_id();
  });
  helpers_.emplace_back(std::this_thread::get_id(), now);
  return std::max(0, idle_ - static_cast<int>(helpers_.size()));
}

// A model whose requests were short when they came may be slower now.
void Batcher::wake_for_others() {
  const bool is_waiting = std::ranges::any_of(active_, [this](const auto& model) {
    return !model->queue().jobs.empty() && !is_short(model->queue());
  });
  if (is_waiting) work_.notify_all();
}

bool Batcher::help() {
  thread_local Scratch scratch;
  const Clock::time_point begin = Clock::now();
  std::unique_lock lock(mutex_);
  const std::shared_ptr<const LoadedModel> model = pick_short();
  if (model == nullptr) {
    wake_for_others();
    return false;
  }
  const ModelQueue& queue = model->queue();
  const double each = queue.seconds_per_sample;
  const int free = free_workers(begin);
  const int others = static_cast<double>(queue.samples) * each > kWorthWaking ? free : 0;
  const int64_t most =
      std::clamp(static_cast<int64_t>(kLongestHelp / each), int64_t{1}, queue.limits.max_batch);
  Batch batch = take(model, begin, 1 + others, most);
  // More than the threads that read can compute between their reads: the workers do the rest.
  const bool is_backlog = queue.samples > kBacklog * queue.limits.max_batch;
  const bool is_divided = others > 0 && queue.samples > 0;
  lock.unlock();
  if (is_backlog || (is_divided && others > 1)) {
    work_.notify_all();
  } else if (is_divided) {
    work_.notify_one();
  }
  run(batch, scratch);
  batch.pieces.clear();
  lock.lock();
  end_batch(batch, seconds_between(begin, Clock::now()));
  wake_for_others();
  return pick_short() != nullptr;
}

}  // namespace pando::serve
