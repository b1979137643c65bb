// The source of the devices' micro-batches: a stream of the data, numbered over the run, with
// labels that the network can learn, and without rows of weight 0.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/runtime/infeed.h"
#include "pando/train/model.h"

namespace pando::train {

// Finds class numbers that the network has no output for: a loss would treat them as padding and
// silently ignore the samples.
struct ClassCheck {
  // The labels of one output.
  struct Labels {
    int field = 0;        // its place in the data
    int64_t classes = 0;  // of the output
    std::string where;    // goes before the message
  };
  const char* what = "";        // begins the error message
  int64_t samples = 1;          // of the data, or kEndless
  std::vector<int> weights;     // Wiring::deciding_weights(); none: every row is a sample
  std::vector<Labels> outputs;  // those whose losses expect class numbers

  // Takes the batch as it came from the stream; rows of weight 0 may have any label. Throws
  // InvalidArgument.
  void operator()(const Batch& batch) const;
};

// Makes rows whose weights are all 0 padding: moves the other rows to the front, in their order,
// and fills the rest with zeros. `weights` are those of ClassCheck.
void remove_unweighted(Batch& batch, const std::vector<int>& weights);

// Checks outputs whose losses expect class numbers.
ClassCheck class_check(const char* what, Model::Impl& impl, const Dataset& dataset);

// The micro-batches of a stream, with samples numbered over the whole run. The stream must outlive
// it.
runtime::BatchSource numbered(BatchStream& stream, int64_t samples_per_epoch,
                              ClassCheck check = {});

// Repeats the first batch of the stream with new sample numbers. Every element of the queue is
// filled once.
runtime::BatchSource repeating(BatchStream& stream, int64_t first_sample, ClassCheck check);

}  // namespace pando::train
