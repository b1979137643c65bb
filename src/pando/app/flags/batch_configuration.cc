// SPDX-License-Identifier: MIT
#include "pando/app/flags/batch_configuration.h"

#include <algorithm>

#include "pando/app/job/exit_code.h"

namespace pando::app {
namespace {

void check_positive(const char* flag, int64_t value) {
  if (value >= 1) return;
  throw UsageError(flag, ": expected a whole number, at least 1, got ", value);
}

void check_request(const BatchRequest& request) {
  check_positive("--micro-batch-size", request.micro_batch_size);
  check_positive("--num-replicas", request.num_replicas);
  const auto& count = request.gradient_accumulation_count;
  const auto& size = request.global_batch_size;
  if (count && size) {
    throw UsageError("--gradient-accumulation-count ", *count, " and --global-batch-size ", *size,
                     ": each determines the other; remove one of them");
  }
  if (count) check_positive("--gradient-accumulation-count", *count);
  if (size) check_positive("--global-batch-size", *size);
}

int64_t checked_product(int64_t a, int64_t b, const char* flags) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  throw UsageError(flags, ": the global batch of ", a, " x ", b,
                   " samples is too large; choose smaller values");
}

// Uses integers because floating-point numbers cannot represent the half of a large quotient.
int64_t divide_half_to_even(int64_t value, int64_t divisor) {
  const int64_t quotient = value / divisor;
  const int64_t below = value % divisor;
  const int64_t above = divisor - below;
  const bool goes_up = below > above || (below == above && quotient % 2 == 1);
  return goes_up ? quotient + 1 : quotient;
}

}  // namespace

BatchConfiguration make_batch_configuration(const BatchRequest& request) {
  check_request(request);
  const int64_t samples_per_step = checked_product(request.micro_batch_size, request.num_replicas,
                                                   "--micro-batch-size and --num-replicas");
  BatchConfiguration batch;
  batch.micro_batch_size = request.micro_batch_size;
  batch.replicas = request.num_replicas;
  batch.gradient_accumulation_count = request.gradient_accumulation_count.value_or(1);
  if (request.global_batch_size) {
    const int64_t nearest = divide_half_to_even(*request.global_batch_size, samples_per_step);
    batch.gradient_accumulation_count = std::max<int64_t>(1, nearest);
  }
  batch.global_batch_size = checked_product(
      samples_per_step, batch.gradient_accumulation_count,
      request.global_batch_size ? "--global-batch-size" : "--gradient-accumulation-count");
  const int64_t wanted = request.global_batch_size.value_or(batch.global_batch_size);
  if (wanted != batch.global_batch_size) {
    batch.warning =
        concat("--global-batch-size ", wanted, " is not a multiple of ", samples_per_step,
               " (--micro-batch-size ", batch.micro_batch_size, " x --num-replicas ",
               batch.replicas, "); rounded to ", batch.global_batch_size,
               ", a gradient accumulation count of ", batch.gradient_accumulation_count);
  }
  return batch;
}

int64_t updates_per_epoch(int64_t dataset_size, int64_t global_batch_size, int64_t wanted) {
  PANDO_CHECK(dataset_size >= 0 && global_batch_size >= 1, dataset_size, " ", global_batch_size);
  if (wanted == 0 || wanted < -1) {
    throw UsageError(
        "--weight-updates-per-epoch: expected at least 1, or -1 for all whole global batches of "
        "the data set, got ",
        wanted);
  }
  if (dataset_size < global_batch_size) {
    throw UsageError("the data set has ", dataset_size, " samples, fewer than one global batch of ",
                     global_batch_size,
                     "; lower --micro-batch-size, --num-replicas, --gradient-accumulation-count or "
                     "--global-batch-size, or use a larger data set");
  }
  return wanted == -1 ? dataset_size / global_batch_size : wanted;
}

}  // namespace pando::app
