// SPDX-License-Identifier: MIT
#include "pando/data/batch_stream.h"

#include <utility>

#include "pando/data/prefetcher.h"

namespace pando {

BatchStream::BatchStream(SourcePtr source, int64_t batch_size, BatchOptions options)
    : plan_{.source = std::move(source),
            .batch_size = batch_size,
            .drop_remainder = options.drop_remainder} {
  PANDO_CHECK(plan_.source != nullptr);
  if (batch_size < 1) throw InvalidArgument("batch size: expected at least 1, got ", batch_size);
}

BatchStream::~BatchStream() = default;
BatchStream::BatchStream(BatchStream&&) noexcept = default;
BatchStream& BatchStream::operator=(BatchStream&&) noexcept = default;

BatchStream BatchStream::repeat(int64_t epochs) && {
  if (epochs < 1) throw InvalidArgument("repeat: expected at least 1 epoch, got ", epochs);
  stop_workers();
  plan_.epochs = plan_.epochs > kEndless / epochs ? kEndless : plan_.epochs * epochs;
  return std::move(*this);
}

BatchStream BatchStream::share(const BatchShare& part) && {
  if (part.first < 0 || part.count < 1 || part.first > part.total - part.count) {
    throw InvalidArgument("share: expected a part of every ", part.total, " batches, got ",
                          part.count, " batches from number ", part.first);
  }
  stop_workers();
  plan_.share = part;
  return std::move(*this);
}

BatchStream BatchStream::prefetch(int depth, PrefetchOptions options) && {
  if (depth < 0 || depth > kMostPrefetchDepth) {
    throw InvalidArgument("prefetch: expected a depth of 0 to ", kMostPrefetchDepth, ", got ",
                          depth);
  }
  if (options.workers < 1 || options.workers > kMostPrefetchWorkers) {
    throw InvalidArgument("prefetch: expected 1 to ", kMostPrefetchWorkers, " workers, got ",
                          options.workers);
  }
  stop_workers();
  depth_ = depth;
  prefetch_ = std::move(options);
  return std::move(*this);
}

bool BatchStream::next(Batch& into) {
  if (plan_.at_end(position_)) return false;
  const StreamState at = plan_.after(position_, 0);
  if (depth_ == 0) {
    filler_.fill(plan_, at, into);
  } else {
    if (prefetcher_ == nullptr) {
      prefetcher_ = std::make_unique<data::Prefetcher>(
          plan_, position_,
          data::PrefetchSize{.depth = depth_,
                             .workers = plan_.source->sequential() ? 1 : prefetch_.workers,
                             .cores = prefetch_.cores});
    }
    try {
      PANDO_CHECK(prefetcher_->next(into), "the workers ended before the stream");
    } catch (...) {
      stop_workers();  // the next call starts again with the failed batch
      throw;
    }
  }
  position_ = plan_.following(at);
  return true;
}

std::optional<Batch> BatchStream::next() {
  Batch batch;
  if (!spare_.empty()) {
    batch = std::move(spare_.back());
    spare_.pop_back();
  }
  if (!next(batch)) return std::nullopt;
  return batch;
}

void BatchStream::recycle(Batch&& batch) {
  if (prefetcher_ != nullptr) return prefetcher_->recycle(std::move(batch));
  spare_.push_back(std::move(batch));
}

void BatchStream::restore(StreamState position) {
  if (position.epoch < 0 || position.sample < 0 || position.sample > samples_per_epoch()) {
    throw InvalidArgument("cannot continue at epoch ", position.epoch, ", sample ", position.sample,
                          " of a data set with ", samples_per_epoch(), " samples");
  }
  stop_workers();
  position_ = position;
  if (plan_.batches_from(position.sample) == 0) position_ = {position.epoch + 1, 0};
  plan_.origin = position_;
}

void BatchStream::stop_workers() { prefetcher_.reset(); }

}  // namespace pando
