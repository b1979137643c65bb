// Batches in the order of training: fixed size, zero-padded at the end of an epoch, gathered by
// the caller or ahead of time by background threads, with a position that can be saved.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "pando/data/batch_plan.h"

namespace pando {

namespace data {
class Prefetcher;
}

inline constexpr int kMostPrefetchWorkers = 1024;
inline constexpr int kMostPrefetchDepth = 1 << 20;

struct PrefetchOptions {
  int workers = 1;  // up to kMostPrefetchWorkers; the batches are the same for any number
  // Hardware threads that the workers are bound to, such as those that no device uses; empty: any.
  std::vector<int> cores;
};

// Yields the batches of one epoch, or of several after repeat(), then nothing. With prefetch() it
// owns threads that work up to `depth` batches ahead; they start at the first next(), and the
// destructor stops them after their current batches. Only one thread at a time may use a stream.
class BatchStream {
 public:
  // Requires: source. Throws InvalidArgument unless batch_size >= 1.
  BatchStream(SourcePtr source, int64_t batch_size, BatchOptions options = {});
  ~BatchStream();
  BatchStream(BatchStream&&) noexcept;
  BatchStream& operator=(BatchStream&&) noexcept;

  // Runs over the data `epochs` times, without end by default. Batches do not cross the end of an
  // epoch (to let them, repeat the data set before batching it).
  BatchStream repeat(int64_t epochs = kEndless) &&;
  // Keeps only the batches of one instance; the samples of the others are not read. The shares of
  // all instances together are the whole stream. If the last round of an epoch has no batch for
  // this instance, its next batch belongs to the next epoch. Throws InvalidArgument unless
  // 0 <= first, 1 <= count and first + count <= total.
  BatchStream share(const BatchShare& part) &&;
  // Gathers up to `depth` batches ahead in the background, at most kMostPrefetchDepth; depth 0
  // gathers in next().
  BatchStream prefetch(int depth, PrefetchOptions options = {}) &&;

  // Reads the next batch into the buffers of `into` (or of a recycled batch). Returns false at the
  // end and leaves `into` unchanged. Throws what the source threw for this batch; the position then
  // stays the same.
  bool next(Batch& into);
  std::optional<Batch> next();
  // Gives back the buffers of a batch that is no longer needed.
  void recycle(Batch&& batch);

  // The position of the next batch. A restored stream continues with exactly the batches that would
  // have followed; the batch size may differ. Throws InvalidArgument for a position outside the
  // data set. With a share, the position after the last batch of the instance in a round is the
  // start of the next round. A restored stream starts a new round, so a position at the start of a
  // round continues the order with any number of instances.
  StreamState state() const { return position_; }
  void restore(StreamState position);

  const std::vector<Field>& fields() const { return plan_.source->fields(); }
  int64_t batch_size() const { return plan_.batch_size; }
  int64_t samples_per_epoch() const { return plan_.source->size(); }
  // Counts the batches of all instances.
  int64_t batches_per_epoch() const { return plan_.batches_from(0); }

 private:
  void stop_workers();

  BatchPlan plan_;
  StreamState position_;
  BatchFiller filler_;
  int depth_ = 0;
  PrefetchOptions prefetch_;
  std::unique_ptr<data::Prefetcher> prefetcher_;  // null until the first next()
  std::vector<Batch> spare_;
};

}  // namespace pando
