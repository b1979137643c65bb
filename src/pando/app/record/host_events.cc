// SPDX-License-Identifier: MIT
#include "pando/app/record/host_events.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pando/app/job/exit_code.h"
#include "pando/base/strings.h"

namespace pando::app {
namespace {

constexpr const char* kLogs = "--logs-per-epoch";
constexpr const char* kCheckpoints = "--ckpts-per-epoch";
constexpr const char* kFirstCheckpoint = "--first-ckpt-epoch";
constexpr int64_t kMostUpdates = int64_t{1} << 53;  // exact as double, and fast to factor

void check_fraction(const char* flag, const Fraction& value) {
  if (value.numerator() >= 0 && value.numerator() < kFractionLimit &&
      value.denominator() < kFractionLimit) {
    return;
  }
  throw UsageError(flag, ": expected ",
                   value.numerator() < 0 ? "0 or more" : "a fraction of numbers below 2^31",
                   ", got ", to_string(value));
}

int64_t total_updates(const HostEventRequest& request) {
  if (request.epochs < 0) {
    throw UsageError("--num-epochs: expected 0 or more, got ", request.epochs);
  }
  if (request.updates_per_epoch < 1) {
    throw UsageError("--weight-updates-per-epoch: expected at least 1, got ",
                     request.updates_per_epoch);
  }
  int64_t total = 0;
  if (__builtin_mul_overflow(request.updates_per_epoch, request.epochs, &total) ||
      total > kMostUpdates) {
    throw UsageError("--num-epochs: expected at most 2^53 weight updates, got ", request.epochs,
                     " epochs of ", request.updates_per_epoch);
  }
  return total;
}

// floor(count * fraction), also if the product of count and numerator would overflow.
int64_t floor_product(int64_t count, const Fraction& fraction) {
  const int64_t whole = count / fraction.denominator() * fraction.numerator();
  return whole + count % fraction.denominator() * fraction.numerator() / fraction.denominator();
}

// An event that is due `frequency` times per epoch, in a part of the run that has `epochs` epochs.
struct Event {
  const char* flag;
  Fraction frequency;
  int64_t epochs;
};

// The period in weight updates. If it is longer than an epoch, it may end within one.
int64_t period_of(const Event& event, int64_t updates_per_epoch,
                  std::vector<std::string>& warnings) {
  const Fraction& frequency = event.frequency;
  const bool is_rare = frequency.numerator() < frequency.denominator();
  const int64_t epochs = is_rare ? event.epochs : 1;
  const int64_t updates = updates_per_epoch * epochs;
  const double wanted =
      is_rare ? static_cast<double>(floor_product(epochs, frequency)) : frequency.value();
  const int64_t parts = closest_divisor(updates, wanted);
  const Fraction closest(parts, epochs);
  if (closest != frequency) {
    const std::string run =
        concat(counted(updates, "weight update"), " of ", counted(epochs, "epoch"));
    warnings.push_back(concat(event.flag, " ", to_string(frequency), ": the ", run,
                              " do not divide into equal parts that way. The closest possible "
                              "frequency is ",
                              to_string(closest), ", every ",
                              counted(updates / parts, "weight update")));
  }
  return updates / parts;
}

void plan_logs(const HostEventRequest& request, HostEvents& events) {
  const Fraction& logs = request.logs_per_epoch;
  if (logs.numerator() == 0) return;
  if (logs.numerator() < logs.denominator() && request.epochs % logs.denominator() != 0) {
    const Fraction epochs_per_log(logs.denominator(), logs.numerator());
    throw UsageError(kLogs, " ", to_string(logs), ": it is not possible to log ",
                     to_string(epochs_per_log), " epochs at a time for ",
                     counted(request.epochs, "epoch"), "; use a multiple of ", logs.denominator(),
                     " for --num-epochs");
  }
  events.log_period =
      period_of({kLogs, logs, request.epochs}, request.updates_per_epoch, events.warnings);
}

// The update nearest to `epoch`; halves are rounded up. Requires: epoch <= epochs of the run.
int64_t update_at(const Fraction& epoch, int64_t updates_per_epoch) {
  const int64_t below = floor_product(updates_per_epoch, epoch);
  const int64_t rest =
      updates_per_epoch % epoch.denominator() * epoch.numerator() % epoch.denominator();
  return below + (rest >= epoch.denominator() - rest ? 1 : 0);
}

void plan_checkpoints(const HostEventRequest& request, HostEvents& events) {
  const Fraction& frequency = request.checkpoint->per_epoch;
  const Fraction& first = request.checkpoint->first_epoch;
  if (frequency.numerator() == 0) return;
  const int64_t epochs_before = (first.numerator() + first.denominator() - 1) / first.denominator();
  if (epochs_before > request.epochs) {
    events.warnings.push_back(
        concat(kFirstCheckpoint, " ", to_string(first), ": the run ends earlier, after ",
               counted(request.epochs, "epoch"), "; it writes a checkpoint only at its end"));
    return;
  }
  const bool is_rare = frequency.numerator() < frequency.denominator();
  const int64_t epochs_after = request.epochs - epochs_before;
  // If no whole epoch follows the first checkpoint, a frequency below 1 has no second one.
  events.checkpoint_period = is_rare && epochs_after == 0
                                 ? events.total
                                 : period_of({kCheckpoints, frequency, epochs_after},
                                             request.updates_per_epoch, events.warnings);
  events.first_checkpoint = update_at(first, request.updates_per_epoch);
  if (events.first_checkpoint == 0) events.first_checkpoint = events.checkpoint_period;
}

std::string no_log_warning(const HostEvents& events) {
  std::string text = concat(kLogs, " 0: nothing is logged before the end of the run of ",
                            counted(events.total, "weight update"));
  if (events.checkpoint_period == 0) return text;
  return concat(text, "; executions end at checkpoints, after ",
                counted(events.execution, "weight update"));
}

}  // namespace

int64_t closest_divisor(int64_t a, double b) {
  PANDO_CHECK(a >= 1 && std::isfinite(b), a, " ", b);
  int64_t best = 1;
  const auto consider = [&](int64_t divisor) {
    const auto distance = [b](int64_t value) { return std::abs(static_cast<double>(value) - b); };
    if (distance(divisor) < distance(best)) best = divisor;
  };
  for (int64_t i = 1; i <= a / i; ++i) {
    if (a % i != 0) continue;
    consider(i);
    consider(a / i);
  }
  return best;
}

bool HostEvents::logs_since(int64_t logged, int64_t done) const {
  if (done == logged) return false;
  if (done >= total) return true;
  return log_period > 0 && done / log_period > logged / log_period;
}

bool HostEvents::checkpoints_at(int64_t done) const {
  return checkpoint_period > 0 && done >= first_checkpoint && done <= total &&
         (done - first_checkpoint) % checkpoint_period == 0;
}

int64_t HostEvents::next_execution(int64_t done) const {
  PANDO_CHECK(done >= 0 && done <= total, done, " of ", total);
  int64_t length = std::min(execution, total - done);
  if (log_period > 0) length = std::min(length, log_period - done % log_period);
  if (checkpoint_period > 0 && done < first_checkpoint) {
    length = std::min(length, first_checkpoint - done);
  } else if (checkpoint_period > 0) {
    const int64_t since = (done - first_checkpoint) % checkpoint_period;
    length = std::min(length, checkpoint_period - since);
  }
  return length;
}

HostEvents plan_host_events(const HostEventRequest& request) {
  check_fraction(kLogs, request.logs_per_epoch);
  if (request.checkpoint) {
    check_fraction(kCheckpoints, request.checkpoint->per_epoch);
    check_fraction(kFirstCheckpoint, request.checkpoint->first_epoch);
  }
  HostEvents events;
  events.total = total_updates(request);
  if (events.total == 0) return events;
  plan_logs(request, events);
  if (request.checkpoint) plan_checkpoints(request, events);
  events.execution = std::gcd(events.log_period, events.checkpoint_period);
  if (events.execution == 0) events.execution = events.total;
  if (events.log_period == 0) events.warnings.push_back(no_log_warning(events));
  return events;
}

}  // namespace pando::app
