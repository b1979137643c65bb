// Which samples belong to which batch, as pure functions of the position in the stream.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pando/data/source.h"

namespace pando {

// Samples side by side, ready for a step. Movable at no cost; the buffers are used again.
struct Batch {
  std::vector<Tensor> fields;  // in field order, [batch size, ...]; rows from `valid` on are zero
  int64_t valid = 0;           // how many rows are real samples
  int64_t first_sample = 0;    // position of row 0 within its epoch
  int64_t epoch = 0;

  const Tensor& x() const { return fields.at(0); }
  const Tensor& y() const { return fields.at(1); }
};

struct BatchOptions {
  bool drop_remainder = false;  // leave out the samples that do not fill a last batch
};

// Where a stream goes on: with sample `sample` of epoch `epoch`.
struct StreamState {
  int64_t epoch = 0;
  int64_t sample = 0;

  bool operator==(const StreamState&) const = default;
};

// The division of a source into batches. Immutable in use; copies share the source.
struct BatchPlan {
  SourcePtr source;
  int64_t batch_size = 1;
  bool drop_remainder = false;
  int64_t epochs = 1;

  // How many batches an epoch still has from this sample on.
  int64_t batches_from(int64_t sample) const;
  bool at_end(StreamState at) const;
  // The position `batches` later; with 0 the end of an epoch becomes the start of the next.
  StreamState after(StreamState at, int64_t batches) const;
};

// Gathers the batches of a plan. Its scratch memory makes steady state free of allocation; each
// thread has its own filler.
class BatchFiller {
 public:
  // Makes `into` the batch at `at`, in its own buffers where they fit. Requires: not at the end.
  void fill(const BatchPlan& plan, StreamState at, Batch& into);

 private:
  std::vector<int64_t> indices_;
  std::vector<std::byte*> first_bytes_;
};

}  // namespace pando
