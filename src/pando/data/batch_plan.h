// Which samples belong to which batch, as pure functions of the position in the stream.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pando/data/source.h"

namespace pando {

// Samples side by side, ready for a step. Cheap to move; the buffers are reused.
struct Batch {
  std::vector<Tensor> fields;  // in field order, [batch size, ...]; rows from `valid` on are zero
  int64_t valid = 0;           // how many rows are real samples
  int64_t first_sample = 0;    // position of row 0 within its epoch
  int64_t epoch = 0;

  const Tensor& x() const { return tensor_of(fields, 0); }
  const Tensor& y() const { return tensor_of(fields, 1); }
};

struct BatchOptions {
  bool drop_remainder = false;  // leave out the samples that do not fill a last batch
};

// A position in a stream: the next sample is `sample` of epoch `epoch`.
struct StreamState {
  int64_t epoch = 0;
  int64_t sample = 0;

  bool operator==(const StreamState&) const = default;
};

// The batches that one instance gets. Batches are dealt out in rounds of `total`, one for every
// replica of the job; of each round this instance gets `count` batches, starting with number
// `first`. Every epoch starts a new round.
struct BatchShare {
  int64_t total = 1;
  int64_t first = 0;
  int64_t count = 1;
};

// The division of a source into batches. Immutable in use; copies share the source.
struct BatchPlan {
  SourcePtr source;
  int64_t batch_size = 1;
  bool drop_remainder = false;
  int64_t epochs = 1;
  BatchShare share = {};
  StreamState origin = {};  // where the stream began; a round starts there

  // The number of batches, of all instances, from this sample to the end of the epoch.
  int64_t batches_from(int64_t sample) const;
  bool at_end(StreamState at) const;
  // The position of the share's batch `batches`, counted from its first batch at or after `at`.
  StreamState after(StreamState at, int64_t batches) const;
  // The position when the share's batch at `at` has been handed out: after the last batch of a
  // round it is the start of the next round, which is the same for all instances.
  StreamState following(StreamState at) const;

 private:
  int64_t first_sample(int64_t epoch) const;
  // How many batches of the share are among the first `batches` of an epoch.
  int64_t own_among(int64_t batches) const;
};

// Gathers the batches of a plan. Reuses its scratch memory, so a running stream allocates nothing.
// Each thread has its own filler.
class BatchFiller {
 public:
  // Fills `into` with the batch at `at`, in its buffers where they fit. Requires: not at the end.
  void fill(const BatchPlan& plan, StreamState at, Batch& into);

 private:
  std::vector<int64_t> indices_;
  std::vector<std::byte*> first_bytes_;
};

}  // namespace pando
