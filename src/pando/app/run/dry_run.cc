// SPDX-License-Identifier: MIT
#include "pando/app/run/dry_run.h"

#include <algorithm>
#include <chrono>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/run/pipeline_text.h"
#include "pando/base/clock.h"
#include "pando/base/strings.h"
#include "pando/profile/trace_summary.h"

namespace pando::app {

namespace {

using Clock = std::chrono::steady_clock;

// About how long a dry run may take, without compilation.
constexpr double kMostSeconds = 10;

void describe_pipeline(const TrainingSetup& setup, const profile::Trace& trace, int64_t steps) {
  const profile::TraceSummary summary = profile::summarize(trace);
  const DeviceFlags& devices = setup.options.devices;
  const std::vector<runtime::StageSeconds> seconds =
      stage_seconds(summary, {.stages = setup.stages(),
                              .workers = devices.cores_of_a_device(setup.options.threads),
                              .micro_batches = steps * setup.batch.replicas});
  setup.out << timeline_of(setup.shape()) << stage_table(seconds)
            << expected_idle(setup.shape(), seconds)
            << fmt::format("measured idle share of the devices: {:.1f} %\n",
                           100 * summary.idle_share);
}

}  // namespace

int try_a_few_updates(TrainingSetup& setup) {
  const TrainOptions& options = setup.options;
  const Dataset& train = setup.data.sets.train;
  const int64_t global_batch = setup.batch.global_batch_size;
  const int64_t step = setup.batch.micro_batch_size * setup.batch.replicas;  // samples
  FitOptions fit = setup.fit_options();
  fit.carry_remainder = fit.same_batch;  // a part of a large update is enough
  const auto timed_fit = [&](int64_t samples) {
    const Clock::time_point start = Clock::now();
    setup.model.fit(train.take(samples), fit);
    return seconds_since(start);
  };
  const int64_t first = fit.same_batch ? global_batch : step;
  // Warms up memory and caches. All instances use the time of the first one.
  const double first_seconds = setup.instances.share(timed_fit(first));
  int64_t samples = std::min(4 * global_batch, train.size() / step * step);
  while (samples > first && first_seconds * static_cast<double>(samples / first) > kMostSeconds) {
    samples = std::max(first, samples / 2 / first * first);
  }
  profile::Trace trace({.ops = false});
  fit.trace = setup.stages() > 1 ? &trace : nullptr;
  const double sample_seconds = timed_fit(samples) / static_cast<double>(samples);
  if (!options.compile_report) {
    setup.out << setup.model.memory_report(options.micro_batch_size, train.fields());
  }
  if (setup.stages() > 1) describe_pipeline(setup, trace, samples / step);
  const bool all = options.weight_updates_per_epoch == -1;
  const int64_t of_epoch = all ? train.size() : setup.updates * global_batch;
  setup.out << fmt::format(
      "one weight update of {} takes about {:.1f} ms, an epoch of {} samples about {:.0f} s\n",
      counted(global_batch, "sample"), 1e3 * sample_seconds * static_cast<double>(global_batch),
      of_epoch, sample_seconds * static_cast<double>(of_epoch));
  return kDone;
}

}  // namespace pando::app
