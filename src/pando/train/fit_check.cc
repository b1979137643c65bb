// SPDX-License-Identifier: MIT
#include "pando/train/fit_check.h"

#include "pando/base/error.h"
#include "pando/train/evaluation.h"

namespace pando::train {

namespace {

void check_joined(const FitOptions& options) {
  const int64_t joined = options.joined_epochs;
  if (joined < 1) throw InvalidArgument("fit: joined_epochs is ", joined, ", wanted at least 1");
  if (joined == 1) return;
  if (!options.carry_remainder) {
    throw InvalidArgument("fit: joined_epochs is ", joined, ", which wants carry_remainder");
  }
  if ((options.epochs - options.initial_epoch) % joined != 0) {
    throw InvalidArgument("fit: joined_epochs is ", joined, ", which does not divide the epochs ",
                          options.initial_epoch, " to ", options.epochs);
  }
}

void check_remainder(const FitOptions& options) {
  if (options.same_batch && !options.carry_remainder && !options.drop_remainder) {
    throw InvalidArgument("fit: same_batch wants carry_remainder or drop_remainder");
  }
  if (options.carry_remainder && options.drop_remainder) {
    throw InvalidArgument("fit: give carry_remainder or drop_remainder, not both");
  }
  if (options.updates_per_epoch < 0) {
    throw InvalidArgument("fit: updates_per_epoch is ", options.updates_per_epoch,
                          ", wanted 0 or more");
  }
  if (options.updates_per_epoch != 0 && !options.carry_remainder) {
    throw InvalidArgument("fit: updates_per_epoch is ", options.updates_per_epoch,
                          ", which wants carry_remainder");
  }
}

// An epoch of it is what updates_per_epoch says, and its order is its own.
void check_endless(const FitOptions& options) {
  if (options.batch_size < 1) {
    throw InvalidArgument("fit: batch_size is ", options.batch_size, ", wanted at least 1");
  }
  if (options.shuffle) {
    throw InvalidArgument(
        "fit: the data set is repeated without end, which has no order to "
        "shuffle; shuffle it before repeat(), and give shuffle = false");
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
    throw InvalidArgument("fit: epochs is ", options.epochs, " and initial_epoch ",
                          options.initial_epoch);
  }
  if (options.prefetch_depth < 1) {
    throw InvalidArgument("fit: prefetch_depth is ", options.prefetch_depth, ", wanted at least 1");
  }
  if (options.data_workers < 0) {
    throw InvalidArgument("fit: data_workers is ", options.data_workers, ", wanted 0 or more");
  }
  check_remainder(options);
  check_joined(options);
}

}  // namespace pando::train
