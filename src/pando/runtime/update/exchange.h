// The exchange between the instances of a job in a weight update: gradients, bucket by bucket as
// soon as backward has completed them, then moments and flags. Workers advance it between kernels,
// so it needs no thread of its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "pando/comm/all_reduce.h"
#include "pando/optim/loss_scaling.h"
#include "pando/profile/trace.h"
#include "pando/runtime/program/bound_program.h"
#include "pando/runtime/program/exchange_figures.h"

namespace pando::runtime {

// What each instance reports at the end of a weight update, and what all reports give together.
struct UpdateFlags {
  bool not_finite = false;
  bool stop = false;           // after this weight update
  GradientCounts counts = {};  // of all gradients; of all instances, the sums
};

// Any worker may call bucket_done() and poll(); one thread at a time calls the other methods.
// Requires: the bound program outlives it.
class Exchange {
 public:
  // `moments` is how many numbers each instance adds to its flags.
  Exchange(BoundProgram& bound, size_t moments);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void record(profile::Trace* trace);  // may be null
  // The lanes' gradients are multiplied with their weights; empty: all 1.
  void begin_update(const std::vector<float>& lane_weights);
  // Advances the exchange, unless another worker is doing so.
  void poll();
  // Where the instance's own moments go before finish().
  std::span<double> own_moments();
  // Called after all lanes are done; returns when the totals are the sums over all lanes of all
  // instances. Throws CommError when an instance is lost.
  UpdateFlags finish(UpdateFlags own);
  // Where the total of a gradient is after finish(), as f32: in the first lane's memory, or in the
  // bucket's own memory if lanes hold 16-bit gradients.
  Stored total(const compiler::Place& gradient) const;
  // After finish(): a block per instance, in their order.
  std::span<const double> moments() const { return moments_; }

  ExchangeFigures take_figures();

 private:
  struct Bucket {
    std::vector<Stored> lanes;
    std::unique_ptr<float[]> total;  // only if lanes are 16-bit
    int64_t elements = 0;
    std::unique_ptr<comm::AllReduce> sum;
    bool ready = false;
    bool done = false;
    int64_t begin = 0;  // nanoseconds of the trace
    int32_t name = 0;
  };
  static float* total_of(const Bucket& bucket) {
    return bucket.total == nullptr ? bucket.lanes[0].f32() : bucket.total.get();
  }
  void add_bucket(size_t index);
  void bucket_done(int index);
  void start_ready();
  bool advance();  // true when everything that was started is done

  BoundProgram& bound_;
  comm::Communicator& communicator_;
  std::vector<Bucket> buckets_;
  std::vector<float> lane_weights_;
  std::vector<double> report_;  // a block per instance: the flags, then moments
  std::vector<double> moments_;
  size_t block_ = 0;
  std::unique_ptr<comm::Messages> reporting_;
  std::atomic<bool> active_{false};
  std::mutex mutex_;
  size_t next_ = 0;   // the first bucket that is not started
  size_t first_ = 0;  // the first bucket that is not done
  ExchangeFigures figures_;
  profile::TraceTrack* track_ = nullptr;       // null: nothing is recorded
  profile::TraceTrack* last_track_ = nullptr;  // of the trace that was recorded last
  uint64_t trace_ = 0;
};

}  // namespace pando::runtime
