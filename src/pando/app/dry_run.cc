// SPDX-License-Identifier: MIT
#include "pando/app/dry_run.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "pando/app/exit_code.h"
#include "pando/app/pipeline_text.h"
#include "pando/profile/trace_summary.h"

namespace pando::app {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void describe_pipeline(const TrainingSetup& setup, const profile::Trace& trace, int64_t updates) {
  const profile::TraceSummary summary = profile::summarize(trace);
  const DeviceFlags& devices = setup.options.devices;
  const std::vector<runtime::StageSeconds> seconds = stage_seconds(
      summary, {.stages = setup.stages(),
                .workers = devices.cores_of_a_device(setup.options.threads),
                .micro_batches = updates * setup.accumulation() * setup.batch.replicas});
  setup.out << timeline_of(setup.shape()) << stage_table(seconds)
            << expected_idle(setup.shape(), seconds)
            << fmt::format("measured idle share of the devices: {:.1f} %\n",
                           100 * summary.idle_share);
}

}  // namespace

std::string counted(int64_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

int try_a_few_updates(TrainingSetup& setup) {
  const TrainOptions& options = setup.options;
  const Dataset& train = setup.data.sets.train;
  const int64_t global_batch = setup.batch.global_batch_size;
  const int64_t updates = std::min<int64_t>(4, train.size() / global_batch);
  const Dataset few = train.take(updates * global_batch);
  profile::Trace trace({.ops = false});
  FitOptions fit = setup.fit_options();
  setup.model.fit(few.take(global_batch), fit);
  fit.trace = setup.stages() > 1 ? &trace : nullptr;
  const Clock::time_point start = Clock::now();
  setup.model.fit(few, fit);
  const double sample_seconds = seconds_since(start) / static_cast<double>(few.size());
  if (!options.compile_report) {
    setup.out << setup.model.memory_report(options.micro_batch_size, train.fields());
  }
  if (setup.stages() > 1) describe_pipeline(setup, trace, updates);
  const bool all = options.weight_updates_per_epoch == -1;
  const int64_t samples = all ? train.size() : setup.updates * global_batch;
  setup.out << fmt::format(
      "one weight update of {} takes about {:.1f} ms, an epoch of {} samples about {:.0f} s\n",
      counted(global_batch, "sample"), 1e3 * sample_seconds * static_cast<double>(global_batch),
      samples, sample_seconds * static_cast<double>(samples));
  return kDone;
}

}  // namespace pando::app
