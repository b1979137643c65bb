// SPDX-License-Identifier: MIT
#include "pando/serve/batcher.h"

#include <algorithm>
#include <atomic>

#include "pando/base/error.h"
#include "pando/base/threads.h"

namespace pando::serve {

namespace {

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

// A request on its way. Workers that compute pieces of it share it; the last one answers.
struct Job {
  std::shared_ptr<const LoadedModel> model;
  InferRequest request;
  InferCallback callback;
  int64_t samples = 0;
  int64_t taken = 0;  // guarded by the batcher
  Clock::time_point accepted = Clock::now();
  std::vector<size_t> wanted;            // outputs
  std::vector<size_t> offsets;           // of each wanted output in `results`
  std::shared_ptr<std::byte[]> results;  // of all samples, output after output
  std::atomic<int64_t> open{0};          // samples that are not computed yet
  std::atomic<int64_t> batch{0};         // the most samples that were computed together

  std::mutex mutex;  // guards what follows
  Status failure;
  RequestTimes times;

  size_t row_bytes(size_t place) const {
    return model->predictor().outputs()[wanted[place]].sample_bytes();
  }
  void allocate() {
    wanted = model->wanted_outputs(request);
    size_t bytes = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      offsets.push_back(bytes);
      bytes += (static_cast<size_t>(samples) * row_bytes(i) + 63) / 64 * 64;
    }
    results = std::make_shared_for_overwrite<std::byte[]>(bytes);
    open = samples;
  }
  void fail(Status status) {
    const std::lock_guard lock(mutex);
    if (failure.ok()) failure = std::move(status);
  }
  bool is_cancelled() const { return request.cancelled != nullptr && *request.cancelled; }
  bool has_failed() {
    const std::lock_guard lock(mutex);
    return !failure.ok();
  }
};

Batcher::Batcher(int workers) {
  PANDO_CHECK(workers >= 1, "a batcher of ", workers, " workers");
  try {
    for (int i = 0; i < workers; ++i) {
      threads_.push_back(
          start_thread(concat("pando-serve.", i), [this](const std::stop_token&) { work(); }));
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
        // Samples that nobody took are done; workers answer a job of which they took some.
        job->fail(failure(Code::unavailable, "the server is shutting down"));
        const int64_t left = job->samples - job->taken;
        if (job->open.fetch_sub(left) == left) waiting.push_back(job);
      }
      queue.jobs.clear();
      queue.samples = 0;
    }
  }
  work_.notify_all();
  for (const std::shared_ptr<Job>& job : waiting) answer(job, Result<InferResponse>(job->failure));
}

int64_t Batcher::in_flight() const {
  const std::lock_guard lock(mutex_);
  return in_flight_;
}

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
  if (samples <= queue.limits.max_request_samples) job->allocate();
  Status refusal;
  {
    std::unique_lock lock(mutex_);
    refusal = stopping_ ? failure(Code::unavailable, "the server is shutting down")
                        : admit(queue.limits, state_of(queue), samples, left);
    if (refusal.ok()) {
      if (queue.jobs.empty() && queue.running == 0) active_.push_back(model);
      queue.jobs.push_back(job);
      queue.samples += samples;
      queue.metrics->waiting(queue.samples);
      ++in_flight_;
    }
  }
  if (!refusal.ok()) {
    queue.metrics->refused(refusal);
    job->callback(std::move(refusal));
  } else if (samples > 1) {
    work_.notify_all();
  } else {
    work_.notify_one();
  }
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

Batcher::Batch Batcher::take(std::shared_ptr<const LoadedModel> model, Clock::time_point now) {
  ModelQueue& queue = model->queue();
  Batch batch{.model = std::move(model)};
  // A queue that waits for full batches does not divide them.
  const int idle = queue.limits.waits() ? 1 : idle_;
  int64_t share =
      std::min(queue.samples, share_to_take(queue.samples, idle, queue.limits.max_batch));
  while (share > 0 && !queue.jobs.empty()) {
    const std::shared_ptr<Job> job = queue.jobs.front();
    const double seconds = queue.seconds_per_sample * static_cast<double>(batch.samples + share);
    const bool is_too_late = is_late(job->request.deadline, now, seconds);
    if (job->taken == 0 && (is_too_late || job->is_cancelled())) {
      queue.samples -= job->samples;
      batch.late.push_back(job);
      queue.jobs.pop_front();
      continue;
    }
    const int64_t count = std::min(share, job->samples - job->taken);
    batch.pieces.push_back({job, {job->taken, count}});
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

void Batcher::work() {
  Scratch scratch;
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
    Batch batch = take(std::move(model), now);
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

// Writes where the samples of a piece are. False: they cannot be read, or another piece of the
// request failed.
bool Batcher::prepare(const LoadedModel& model, Piece& piece, size_t place, Scratch& scratch) {
  if (piece.job->has_failed()) return false;
  const size_t inputs = model.predictor().inputs().size();
  try {
    for (size_t i = 0; i < inputs; ++i) {
      scratch.inputs[place * inputs + i] =
          model.rows(piece.job->request, i, piece.range, scratch.rows[place * inputs + i]);
    }
    return true;
  } catch (const IoError& error) {
    piece.job->fail(failure(Code::invalid_argument, error.what()));
  } catch (const Unsupported& error) {
    piece.job->fail(failure(Code::invalid_argument, error.what()));
  } catch (const std::exception&) {
    piece.job->fail(failure(Code::internal, "the input could not be prepared"));
  }
  return false;
}

void Batcher::run(Batch& batch, Scratch& scratch) {
  const LoadedModel& model = *batch.model;
  const Clock::time_point begin = Clock::now();
  for (const std::shared_ptr<Job>& job : batch.late) {
    answer(job, job->is_cancelled() ? failure(Code::cancelled, "the client does not wait any more")
                                    : failure(Code::deadline_exceeded,
                                              "the deadline passed while the request waited"));
  }
  const size_t inputs = model.predictor().inputs().size();
  const size_t outputs = model.predictor().outputs().size();
  scratch.parts.clear();
  scratch.inputs.assign(batch.pieces.size() * inputs, nullptr);
  scratch.outputs.assign(batch.pieces.size() * outputs, nullptr);
  if (scratch.rows.size() < scratch.inputs.size()) scratch.rows.resize(scratch.inputs.size());
  int64_t samples = 0;
  for (size_t p = 0; p < batch.pieces.size(); ++p) {
    Piece& piece = batch.pieces[p];
    if (!prepare(model, piece, p, scratch)) continue;
    const Job& job = *piece.job;
    for (size_t i = 0; i < job.wanted.size(); ++i) {
      scratch.outputs[p * outputs + job.wanted[i]] =
          job.results.get() + job.offsets[i] +
          static_cast<size_t>(piece.range.first) * job.row_bytes(i);
    }
    scratch.parts.push_back({.inputs = {&scratch.inputs[p * inputs], inputs},
                             .outputs = {&scratch.outputs[p * outputs], outputs},
                             .samples = piece.range.count});
    samples += piece.range.count;
  }
  const Clock::time_point prepared = Clock::now();
  if (samples > 0) model.predictor().run(scratch.parts);
  const Clock::time_point computed = Clock::now();
  if (samples > 0) model.queue().metrics->computed(samples);
  for (const Piece& piece : batch.pieces) {
    {
      const std::lock_guard lock(piece.job->mutex);
      RequestTimes& times = piece.job->times;
      times.queue = std::max(times.queue, seconds_between(piece.job->accepted, begin));
      times.input = std::max(times.input, seconds_between(begin, prepared));
      times.compute = std::max(times.compute, seconds_between(prepared, computed));
    }
    finish(piece, samples);
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

void Batcher::finish(const Piece& piece, int64_t batch) {
  const std::shared_ptr<Job>& job = piece.job;
  int64_t most = job->batch.load();
  while (batch > most && !job->batch.compare_exchange_weak(most, batch)) {
  }
  if (job->open.fetch_sub(piece.range.count) != piece.range.count) return;
  const Clock::time_point begin = Clock::now();
  std::unique_lock lock(job->mutex);
  if (!job->failure.ok()) {
    Status status = job->failure;
    lock.unlock();
    return answer(job, Result<InferResponse>(std::move(status)));
  }
  InferResponse response{
      .servable = job->model, .times = job->times, .batch = job->batch, .owner = job->results};
  lock.unlock();
  for (size_t i = 0; i < job->wanted.size(); ++i) {
    const TensorInfo& info = job->model->outputs()[job->wanted[i]];
    OutputTensor output{.name = info.name, .type = info.type, .shape = info.shape};
    output.shape[0] = job->samples;
    output.data = {job->results.get() + job->offsets[i],
                   static_cast<size_t>(job->samples) * job->row_bytes(i)};
    response.outputs.push_back(std::move(output));
  }
  response.times.output = seconds_between(begin, Clock::now());
  answer(job, std::move(response));
}

void Batcher::answer(const std::shared_ptr<Job>& job, Result<InferResponse> result) {
  job->model->queue().metrics->answered(result.status(), job->samples,
                                        result ? result->times : RequestTimes{},
                                        seconds_between(job->accepted, Clock::now()));
  job->callback(std::move(result));
  const std::lock_guard lock(mutex_);
  if (--in_flight_ == 0) empty_.notify_all();
}

}  // namespace pando::serve
