// SPDX-License-Identifier: MIT
#include "pando/serve/batcher.h"

#include <algorithm>
#include <new>

#include "pando/base/error.h"
#include "pando/base/threads.h"
#include "pando/serve/job_impl.h"

namespace pando::serve {

namespace {

// If no other request waits, the thread that brings a short request computes it: waking a worker,
// which then wakes that thread again, would take longer than the work. That thread cannot read
// requests meanwhile, so it computes only after several requests in a row that met no other.
constexpr double kShortSeconds = 250e-6;
constexpr int kAloneBefore = 8;

// False: there is no memory for it. What waits then waits for the next batch.
template <typename T>
bool add_to(std::vector<T>& list, T value) {
  try {
    list.push_back(std::move(value));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

Batcher::Batcher(int workers, profile::Trace* trace) : trace_(trace) {
  PANDO_CHECK(workers >= 1, "a batcher of ", workers, " workers");
  try {
    for (int i = 0; i < workers; ++i) {
      threads_.push_back(
          start_thread(concat("pando-serve.", i), [this, i](const std::stop_token&) { work(i); }));
    }
  } catch (...) {
    stop();
    for (std::jthread& thread : threads_) thread.join();
    throw;
  }
}

Batcher::~Batcher() {
  stop();
  for (std::jthread& thread : threads_) thread.join();
}

void Batcher::stop() {
  std::vector<std::shared_ptr<Job>> waiting;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& model : active_) {
      ModelQueue& queue = model->queue();
      for (const std::shared_ptr<Job>& job : queue.jobs) {
        // Samples that no worker took count as done. If a worker took samples of a job, it answers
        // the job.
        job->fail(told(Code::unavailable, "the server is shutting down"));
        const int64_t left = job->samples - job->taken;
        if (job->open.fetch_sub(left) == left) waiting.push_back(job);
      }
      queue.jobs.clear();
      queue.samples = 0;
    }
  }
  work_.notify_all();
  for (const std::shared_ptr<Job>& job : waiting) answer(job, Result<InferResponse>(job->failure));
  tell_answered({.late = std::move(waiting)});
}

int64_t Batcher::in_flight() const { return in_flight_; }

bool Batcher::await_empty(std::chrono::duration<double> at_most) const {
  std::unique_lock lock(mutex_);
  return empty_.wait_for(lock, at_most, [&] { return in_flight_ == 0; });
}

int64_t Batcher::queued_samples(const LoadedModel& model) const {
  const std::lock_guard lock(mutex_);
  return model.queue().samples;
}

QueueState Batcher::state_of(const ModelQueue& queue) const {
  QueueState state{.queued_samples = queue.samples,
                   .seconds_per_sample = queue.seconds_per_sample,
                   .workers = workers()};
  for (const auto& model : active_) {
    const ModelQueue& other = model->queue();
    // Batches that run are half done, on average.
    const double samples =
        static_cast<double>(other.samples) + 0.5 * static_cast<double>(other.running_samples);
    state.queued_seconds += samples * other.seconds_per_sample;
  }
  return state;
}

void Batcher::submit(std::shared_ptr<const LoadedModel> model, InferRequest request,
                     int64_t samples, InferCallback callback) {
  ModelQueue& queue = model->queue();
  std::optional<double> left;
  if (request.deadline != Clock::time_point::max()) {
    left = seconds_between(Clock::now(), request.deadline);
  }
  const auto job = std::make_shared<Job>();
  job->model = model;
  job->request = std::move(request);
  job->callback = std::move(callback);
  job->samples = samples;
  const bool request_helps = job->request.caller_helps;
  Status refusal;
  std::optional<Batch> own;
  bool is_left = false;  // to help()
  {
    const std::lock_guard lock(mutex_);
    refusal = stopping_ ? failure(Code::unavailable, "the server is shutting down")
                        : admit(queue.limits, state_of(queue), samples, left);
    // Allocates after admission, so that refused requests take no memory.
    if (refusal.ok() && !job->allocate()) refusal = out_of_memory();
    if (refusal.ok() && !enqueue(job)) refusal = out_of_memory();
    if (refusal.ok()) {
      queue.samples += samples;
      queue.metrics->waiting(queue.samples);
      ++in_flight_;
      alone_ = unanswered_++ == 0 ? alone_ + 1 : 0;
      if (is_for_caller(queue, samples)) own = take(model, Clock::now(), 1, 1);
      is_left = request_helps && is_short(queue);
    }
  }
  if (!refusal.ok()) {
    queue.metrics->refused(refusal);
    job->callback(std::move(refusal));
  } else if (own) {
    compute_here(*own);
  } else if (is_left) {
    return;
  } else if (samples > 1) {
    work_.notify_all();
  } else {
    work_.notify_one();
  }
}

// Requires: the mutex is held. False: there is no memory for it.
bool Batcher::enqueue(const std::shared_ptr<Job>& job) {
  ModelQueue& queue = job->model->queue();
  const bool is_new = queue.jobs.empty() && queue.running == 0;
  try {
    if (is_new) active_.push_back(job->model);
    queue.jobs.push_back(job);
    return true;
  } catch (const std::bad_alloc&) {
    forget_empty_queues();
    return false;
  }
}

// Requires: the mutex is held.
bool Batcher::is_for_caller(const ModelQueue& queue, int64_t samples) const {
  return samples == 1 && alone_ > kAloneBefore && queue.jobs.size() == 1 && !queue.limits.waits() &&
         queue.seconds_per_sample < kShortSeconds && trace_ == nullptr;
}

void Batcher::compute_here(Batch& batch) {
  thread_local Scratch scratch;
  const Clock::time_point begin = Clock::now();
  run(batch, scratch);
  batch.pieces.clear();
  const std::lock_guard lock(mutex_);
  end_batch(batch, seconds_between(begin, Clock::now()));
}

// The model whose oldest request waits longest, among those whose batch is due. If there is none,
// `next` becomes the time when one will be.
std::shared_ptr<const LoadedModel> Batcher::pick(Clock::time_point now,
                                                 Clock::time_point& next) const {
  std::shared_ptr<const LoadedModel> best;
  next = Clock::time_point::max();
  for (const auto& model : active_) {
    const ModelQueue& queue = model->queue();
    const bool may_run = queue.limits.max_running == 0 || queue.running < queue.limits.max_running;
    if (queue.jobs.empty() || !may_run) continue;
    const Clock::time_point oldest = queue.jobs.front()->accepted;
    if (!is_due(queue.limits, queue.samples, now - oldest)) {
      next = std::min(next, oldest + queue.limits.timeout);
      continue;
    }
    if (best == nullptr || oldest < best->queue().jobs.front()->accepted) best = model;
  }
  return best;
}

Batcher::Batch Batcher::take(std::shared_ptr<const LoadedModel> model, Clock::time_point now,
                             int takers, int64_t most) {
  ModelQueue& queue = model->queue();
  Batch batch{.model = std::move(model)};
  int64_t share = std::min(queue.samples, share_to_take(queue.samples, takers, most));
  while (share > 0 && !queue.jobs.empty()) {
    const std::shared_ptr<Job> job = queue.jobs.front();
    const double seconds = queue.seconds_per_sample * static_cast<double>(batch.samples + share);
    const bool is_too_late = is_late(job->request.deadline, now, seconds);
    if (job->taken == 0 && (is_too_late || job->is_cancelled())) {
      if (!add_to(batch.late, job)) break;
      queue.samples -= job->samples;
      queue.jobs.pop_front();
      continue;
    }
    const int64_t count = std::min(share, job->samples - job->taken);
    if (!add_to(batch.pieces, {job, {job->taken, count}})) break;
    job->taken += count;
    share -= count;
    batch.samples += count;
    queue.samples -= count;
    if (job->taken == job->samples) queue.jobs.pop_front();
  }
  ++queue.running;
  queue.running_samples += batch.samples;
  queue.metrics->waiting(queue.samples);
  return batch;
}

void Batcher::work(int index) {
  Scratch scratch;
  if (trace_ != nullptr) scratch.track = &trace_->add_track(concat("worker ", index), 0);
  std::unique_lock lock(mutex_);
  ++idle_;
  Clock::time_point begin = Clock::time_point::max();  // of the work on a batch, with all around it
  while (true) {
    const Clock::time_point now = Clock::now();
    begin = std::min(begin, now);
    Clock::time_point next;
    std::shared_ptr<const LoadedModel> model = pick(now, next);
    if (model == nullptr) {
      if (stopping_) return;
      if (next == Clock::time_point::max()) {
        work_.wait(lock);
      } else {
        work_.wait_until(lock, next);
      }
      begin = Clock::time_point::max();
      continue;
    }
    // A queue that waits for full batches does not divide them.
    const QueueLimits& limits = model->queue().limits;
    const int takers = limits.waits() ? 1 : idle_;
    const int64_t most = limits.max_batch;
    Batch batch = take(std::move(model), now, takers, most);
    --idle_;
    lock.unlock();
    run(batch, scratch);
    batch.pieces.clear();  // the memory of requests goes before this thread waits
    const Clock::time_point end = Clock::now();
    lock.lock();
    ++idle_;
    end_batch(batch, seconds_between(begin, end));
    begin = end;
  }
}

// Requires: the mutex is held.
void Batcher::end_batch(const Batch& batch, double seconds) {
  constexpr double kNewShare = 0.1;  // of a measurement in the moving average
  ModelQueue& queue = batch.model->queue();
  --queue.running;
  queue.running_samples -= batch.samples;
  if (batch.samples > 0) {
    const double each = seconds / static_cast<double>(batch.samples);
    queue.seconds_per_sample += kNewShare * (each - queue.seconds_per_sample);
  }
  forget_empty_queues();
  // A model with a limited number of batches may have waited for this one.
  if (queue.limits.max_running > 0) work_.notify_one();
}

void Batcher::forget_empty_queues() {
  std::erase_if(active_, [](const auto& model) {
    return model->queue().jobs.empty() && model->queue().running == 0;
  });
}

}  // namespace pando::serve
