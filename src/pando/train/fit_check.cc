// SPDX-License-Identifier: MIT
#include "pando/train/fit_check.h"

#include "pando/base/error.h"
#include "pando/train/evaluation.h"

namespace pando::train {

namespace {

void check_joined(const FitOptions& options) {
  const int64_t joined = options.joined_epochs;
  if (joined < 1) throw InvalidArgument("fit: joined_epochs: expected at least 1, got ", joined);
  if (joined == 1) return;
  if (!options.carry_remainder) {
    throw InvalidArgument("fit: joined_epochs = ", joined, " requires carry_remainder = true");
  }
  if ((options.epochs - options.initial_epoch) % joined != 0) {
    throw InvalidArgument("fit: joined_epochs: expected a divisor of the number of epochs, got ",
                          joined, " for epochs ", options.initial_epoch, " to ", options.epochs);
  }
}

void check_remainder(const FitOptions& options) {
  if (options.same_batch && !options.carry_remainder && !options.drop_remainder) {
    throw InvalidArgument("fit: same_batch requires carry_remainder or drop_remainder");
  }
  if (options.carry_remainder && options.drop_remainder) {
    throw InvalidArgument("fit: give carry_remainder or drop_remainder, not both");
  }
  if (options.updates_per_epoch < 0) {
    throw InvalidArgument("fit: updates_per_epoch: expected 0 or more, got ",
                          options.updates_per_epoch);
  }
  if (options.updates_per_epoch != 0 && !options.carry_remainder) {
    throw InvalidArgument("fit: updates_per_epoch = ", options.updates_per_epoch,
                          " requires carry_remainder = true");
  }
}

// Endless data have no length and decide their own order: updates_per_epoch gives the length of an
// epoch.
void check_endless(const FitOptions& options) {
  if (options.batch_size < 1) {
    throw InvalidArgument("fit: batch_size: expected at least 1, got ", options.batch_size);
  }
  if (options.shuffle) {
    throw InvalidArgument(
        "fit: cannot shuffle a data set that repeats without end; shuffle it before repeat() and "
        "set shuffle = false");
  }
}

}  // namespace

void check_fit(const Dataset& data, const FitOptions& options) {
  if (data.size() == kEndless && options.updates_per_epoch > 0) {
    check_endless(options);
  } else {
    check_data("fit", data, options.batch_size);
  }
  if (options.initial_epoch < 0 || options.epochs < options.initial_epoch) {
    throw InvalidArgument("fit: expected 0 <= initial_epoch <= epochs, got initial_epoch ",
                          options.initial_epoch, " and epochs ", options.epochs);
  }
  if (options.prefetch_depth < 1) {
    throw InvalidArgument("fit: prefetch_depth: expected at least 1, got ", options.prefetch_depth);
  }
  if (options.data_workers < 0) {
    throw InvalidArgument("fit: data_workers: expected 0 or more, got ", options.data_workers);
  }
  check_remainder(options);
  check_joined(options);
}

}  // namespace pando::train
