// SPDX-License-Identifier: MIT
#include "pando/train/fit_check.h"

#include "pando/base/error.h"
#include "pando/train/evaluation.h"

namespace pando::train {

namespace {

void expect_least(const char* option, int64_t value, int64_t least) {
  if (value >= least) return;
  throw InvalidArgument("fit: ", option, ": expected at least ", least, ", got ", value);
}

void check_joined(const FitOptions& options) {
  const int64_t joined = options.joined_epochs;
  if (joined < 1) throw InvalidArgument("fit: joined_epochs: expected at least 1, got ", joined);
  if (joined == 1) return;
  if (!carries_remainder(options)) {
    throw InvalidArgument("fit: joined_epochs = ", joined, " requires carry_remainder = true");
  }
  if ((options.epochs - options.initial_epoch) % joined != 0) {
    throw InvalidArgument("fit: joined_epochs: expected a divisor of the number of epochs, got ",
                          joined, " for epochs ", options.initial_epoch, " to ", options.epochs);
  }
}

void check_remainder(const FitOptions& options) {
  if (options.same_batch && !carries_remainder(options) && !options.drop_remainder) {
    throw InvalidArgument("fit: same_batch requires carry_remainder or drop_remainder");
  }
  if (options.carry_remainder && options.drop_remainder) {
    throw InvalidArgument("fit: give carry_remainder or drop_remainder, not both");
  }
  expect_least("updates_per_epoch", options.updates_per_epoch, 0);
  expect_least("steps_per_epoch", options.steps_per_epoch, 0);
  if (options.drop_remainder && carries_remainder(options)) {
    throw InvalidArgument(
        "fit: drop_remainder: expected false with updates_per_epoch or steps_per_epoch, which "
        "leave "
        "no remainder; got true");
  }
}

}  // namespace

void check_fit(const Dataset& data, const FitOptions& options) {
  if (data.size() == kEndless && options.updates_per_epoch == 0 && options.steps_per_epoch == 0) {
    throw InvalidArgument(
        "fit: the data set has no end; set steps_per_epoch (or updates_per_epoch), which gives the "
        "length of an epoch");
  }
  check_data("fit", data, options.batch_size);
  if (options.initial_epoch < 0 || options.epochs < options.initial_epoch) {
    throw InvalidArgument("fit: expected 0 <= initial_epoch <= epochs, got initial_epoch ",
                          options.initial_epoch, " and epochs ", options.epochs);
  }
  if (options.prefetch_depth < 1 || options.prefetch_depth > kMostPrefetchDepth) {
    throw InvalidArgument("fit: prefetch_depth: expected 1 to ", kMostPrefetchDepth, ", got ",
                          options.prefetch_depth);
  }
  check_data_workers("fit", options.data_workers);
  expect_least("validation_batch_size", options.validation_batch_size, 0);
  expect_least("validation_steps_to_follow", options.validation_steps_to_follow, 0);
  expect_least("initial_update", options.initial_update, 0);
  for (size_t i = 0; i < options.callbacks.size(); ++i) {
    if (options.callbacks[i] == nullptr) {
      throw InvalidArgument("fit: callbacks: number ", i, " is null; remove it");
    }
  }
  check_remainder(options);
  check_joined(options);
}

bool carries_remainder(const FitOptions& options) {
  return options.carry_remainder || options.updates_per_epoch > 0 || options.steps_per_epoch > 0;
}

int64_t wanted_updates(const FitOptions& options, int64_t accumulation) {
  if (options.steps_per_epoch == 0) return options.updates_per_epoch;
  if (options.steps_per_epoch % accumulation != 0) {
    throw InvalidArgument("fit: steps_per_epoch: expected a multiple of ", accumulation,
                          ", the steps of a weight update, got ", options.steps_per_epoch);
  }
  const int64_t updates = options.steps_per_epoch / accumulation;
  if (options.updates_per_epoch > 0 && options.updates_per_epoch != updates) {
    throw InvalidArgument("fit: steps_per_epoch = ", options.steps_per_epoch, " are ", updates,
                          " weight updates of ", accumulation,
                          " steps, got updates_per_epoch = ", options.updates_per_epoch,
                          "; give one of them");
  }
  return updates;
}

}  // namespace pando::train
