// Where the devices' micro-batches come from: a stream of the data, numbered for the run and with
// labels that the network can learn.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/runtime/infeed.h"
#include "pando/train/model.h"

namespace pando::train {

// Class numbers that a network has no output for: in a loss they would count as padding, and the
// samples be left out without a word.
struct ClassCheck {
  const char* what = "";  // begins the error
  int64_t classes = 0;    // of the network; 0: anything goes
  int64_t samples = 1;    // of the data, or kEndless

  // Takes the batch as it came from the stream. Throws InvalidArgument.
  void operator()(const Batch& batch) const;
};

// Checks only if the loss wants class numbers.
ClassCheck class_check(const char* what, Model::Impl& impl, const Dataset& dataset);

// The micro-batches of a stream, whose samples are numbered over the whole run. The stream must
// outlive it.
runtime::BatchSource numbered(BatchStream& stream, int64_t samples_per_epoch,
                              ClassCheck check = {});

// The first batch of the stream again and again, under new numbers. Every element of the queue is
// filled once.
runtime::BatchSource repeating(BatchStream& stream, int64_t first_sample, ClassCheck check);

}  // namespace pando::train
