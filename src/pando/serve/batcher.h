// The threads that compute: they take what waits for any model, as batches, and answer.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "pando/profile/trace.h"
#include "pando/serve/batch_policy.h"
#include "pando/serve/infer.h"
#include "pando/serve/loaded_model.h"
#include "pando/serve/model_metrics.h"

namespace pando::serve {

struct Job;

// The requests that wait for one version of a model. Guarded by the mutex of the batcher.
struct ModelQueue {
  QueueLimits limits;
  std::unique_ptr<ModelMetrics> metrics;
  std::deque<std::shared_ptr<Job>> jobs;
  int64_t samples = 0;  // of the jobs that no worker has taken
  int running = 0;      // batches
  int64_t running_samples = 0;
  double seconds_per_sample = 0;
};

// Every method may be called by any thread.
class Batcher {
 public:
  // Records on `trace`, unless it is null, what each worker does.
  explicit Batcher(int workers, profile::Trace* trace = nullptr);
  ~Batcher();  // stop()
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  int workers() const { return static_cast<int>(threads_.size()); }
  // Calls back before it returns if the request is refused, or if it is short and no other request
  // waits. Requires: request.servable is `model`, which checked the request and found so many
  // samples.
  void submit(std::shared_ptr<const LoadedModel> model, InferRequest request, int64_t samples,
              InferCallback callback);
  // Computes one waiting batch, like ModelServer::help().
  bool help();
  // Refuses from now on and answers what waits with `unavailable`; what is computed is answered.
  void stop();
  int64_t in_flight() const;  // requests that are accepted and not answered yet
  // Waits until no request is in flight. Returns false if the time was too short.
  bool await_empty(std::chrono::duration<double> at_most) const;
  int64_t queued_samples(const LoadedModel& model) const;

 private:
  // Samples of one request that one worker computes.
  struct Piece {
    std::shared_ptr<Job> job;
    SampleRange range;
  };
  // The samples that a worker takes at once.
  struct Batch {
    std::shared_ptr<const LoadedModel> model;
    std::vector<Piece> pieces;
    std::vector<std::shared_ptr<Job>> late;
    int64_t samples = 0;
  };
  // Memory of one worker, which grows to what its batches need.
  struct Scratch {
    bool reserve(size_t pieces, size_t input_count, size_t output_count);  // false: no memory
    std::vector<std::vector<std::byte>> rows;
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
    std::vector<PredictorRows> parts;
    profile::TraceTrack* track = nullptr;  // of the worker
  };

  void work(int index);
  void record(const Scratch& scratch, const Batch& batch, const char* what, Clock::time_point begin,
              Clock::time_point end) const;
  std::shared_ptr<const LoadedModel> pick(Clock::time_point now, Clock::time_point& next) const;
  // At most `most` samples, and no more than its share if there are other takers.
  Batch take(std::shared_ptr<const LoadedModel> model, Clock::time_point now, int takers,
             int64_t most);
  bool enqueue(const std::shared_ptr<Job>& job);
  bool is_short(const ModelQueue& queue) const;
  std::shared_ptr<const LoadedModel> pick_short() const;
  int free_workers(Clock::time_point now);
  void wake_for_others();
  bool is_for_caller(const ModelQueue& queue, int64_t samples) const;
  void compute_here(Batch& batch);
  void run(Batch& batch, Scratch& scratch);
  static void compute(const Batch& batch, const Scratch& scratch, int64_t samples);
  static bool prepare(const LoadedModel& model, Piece& piece, size_t place, Scratch& scratch);
  static Result<InferResponse> response_of(const Job& job);
  void finish(const Piece& piece, int64_t batch);
  void answer(const std::shared_ptr<Job>& job, Result<InferResponse> result);
  static void tell_answered(const Batch& batch);
  void end_batch(const Batch& batch, double seconds);
  QueueState state_of(const ModelQueue& queue) const;
  void forget_empty_queues();

  mutable std::mutex mutex_;
  std::condition_variable work_;
  mutable std::condition_variable empty_;
  std::vector<std::shared_ptr<const LoadedModel>> active_;  // models with jobs or running batches
  int idle_ = 0;
  std::atomic<int64_t> in_flight_{0};  // grows with the mutex held
  int64_t alone_ = 0;                  // requests in a row with no other open
  // Counts what in_flight_ counts, without requests whose answers are being handed over: their
  // clients may be faster than the worker.
  std::atomic<int64_t> unanswered_{0};
  bool stopping_ = false;
  // Threads that call help(), and when they did last.
  std::vector<std::pair<std::thread::id, Clock::time_point>> helpers_;
  profile::Trace* trace_ = nullptr;
  std::vector<std::jthread> threads_;
};

}  // namespace pando::serve
