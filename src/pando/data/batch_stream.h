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

struct PrefetchOptions {
  int workers = 1;  // the batches are the same for any number
  // Hardware threads that the workers keep to, such as those that no device uses; empty: any.
  std::vector<int> cores;
};

// Yields the batches of one epoch, or of several after repeat(), then nothing. With prefetch() it
// owns threads that work up to `depth` batches ahead; they start at the first next() and the
// destructor ends them after the batches they are at. One thread at a time may call a stream.
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
  // Only the batches of one instance; the samples of the others are not read. The shares of all
  // instances together are the whole stream. Where the last round of an epoch has no batch for
  // this instance, the next one is of the next epoch. Throws InvalidArgument unless 0 <= first,
  // 1 <= count and first + count <= total.
  BatchStream share(const BatchShare& part) &&;
  // Gathers up to `depth` batches ahead in the background; depth 0 gathers in next().
  BatchStream prefetch(int depth, PrefetchOptions options = {}) &&;

  // The next batch, into the buffers of `into` (or of a recycled batch). False at the end, with
  // `into` unchanged. What the source throws comes out here, at its batch; the position stays.
  bool next(Batch& into);
  std::optional<Batch> next();
  // Gives back the buffers of a batch that is no longer needed.
  void recycle(Batch&& batch);

  // The position of the next batch. A restored stream goes on with exactly the batches that would
  // have followed; the batch size may differ. Throws InvalidArgument for a position outside.
  // With a share: once the instance has its batches of a round, the start of the next round. A
  // restored stream begins with a round, so a position from the start of one continues the order
  // with any number of instances.
  StreamState state() const { return position_; }
  void restore(StreamState position);

  const std::vector<Field>& fields() const { return plan_.source->fields(); }
  int64_t batch_size() const { return plan_.batch_size; }
  int64_t samples_per_epoch() const { return plan_.source->size(); }
  // Of all instances.
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
