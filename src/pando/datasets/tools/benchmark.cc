// SPDX-License-Identifier: MIT
#include "pando/datasets/tools/benchmark.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "pando/base/clock.h"
#include "pando/base/error.h"
#include "pando/data/parallel.h"
#include "pando/datasets/all_datasets.h"
#include "pando/datasets/tools/pipeline_impl.h"

namespace pando {

namespace {

using Clock = std::chrono::steady_clock;
using datasets::Pipeline;
using datasets::Stage;
using datasets::StageCount;
using datasets::StageWork;

constexpr size_t kCopyBytes = size_t{64} << 20;    // beyond any cache, for each thread
constexpr size_t kAllCopyBytes = size_t{1} << 30;  // at most, for all threads
constexpr double kCopySeconds = 0.1;
constexpr double kBoundByMemory = 0.7;  // as a part of the bytes of plain copies

void add(StageCount& total, const StageCount& more) {
  total.samples += more.samples;
  total.in += more.in;
  total.out += more.out;
}

struct Measured {
  StageCount count;
  double seconds = 0;
};

// All workers call their work for one unit after the other, each at least once, until the time is
// up.
Measured run_for(double seconds, int64_t units, const std::vector<StageWork>& works) {
  std::atomic<int64_t> next = 0;
  std::vector<StageCount> counts(works.size());
  const Clock::time_point start = Clock::now();
  data::for_each_item(works.size(), static_cast<int>(works.size()), [&](size_t worker) {
    do {
      add(counts[worker], works[worker](next++ % units));
    } while (seconds_since(start) < seconds);
  });
  Measured measured{.count = {}, .seconds = seconds_since(start)};
  for (const StageCount& count : counts) add(measured.count, count);
  return measured;
}

StageRate rate_of(const Stage& stage, int workers, const Measured& measured) {
  return {.stage = stage.name,
          .what = stage.what,
          .workers = workers,
          .samples = measured.count.samples,
          .seconds = measured.seconds,
          .bytes_in = measured.count.in,
          .bytes_out = measured.count.out};
}

StageRate measure_stage(const Stage& stage, int64_t units, int workers, double seconds) {
  std::vector<StageWork> works;
  for (int i = 0; i < workers; ++i) works.push_back(stage.make());
  run_for(seconds / 10, units, works);
  return rate_of(stage, workers, run_for(seconds, units, works));
}

// Measures batches as training gets them: made by `workers` threads ahead of the thread that takes
// them.
StageRate measure_batches(const Dataset& dataset, int workers, int64_t batch_size, double seconds) {
  BatchStream stream = dataset.batch(batch_size)
                           .repeat()
                           .prefetch(2 * workers, PrefetchOptions{.workers = workers, .cores = {}});
  double bytes_per_row = 0;
  for (const Field& field : dataset.fields()) {
    bytes_per_row += static_cast<double>(bytes_per_sample(field));
  }
  Batch batch;
  const std::vector<StageWork> takes = {[&](int64_t) {
    stream.next(batch);
    const double bytes = static_cast<double>(batch.valid) * bytes_per_row;
    return StageCount{batch.valid, bytes, bytes};
  }};
  run_for(seconds / 10, 1, takes);
  return rate_of({"batch", "batches, made ahead", {}}, workers, run_for(seconds, 1, takes));
}

CopyRate measure_copies(int workers) {
  const size_t most = kAllCopyBytes / (2 * static_cast<size_t>(workers));
  const size_t bytes = std::clamp<size_t>(most, 1, kCopyBytes);
  std::vector<StageWork> works;
  for (int i = 0; i < workers; ++i) {
    using Copied = std::vector<std::byte>;
    works.emplace_back([bytes, from = Copied(), to = Copied()](int64_t) mutable {
      if (from.empty()) {
        from.assign(bytes, std::byte{1});
        to.assign(bytes, std::byte{2});
      }
      std::memcpy(to.data(), from.data(), bytes);
      return StageCount{1, static_cast<double>(bytes), static_cast<double>(bytes)};
    });
  }
  run_for(0, 1, works);  // each worker allocates its memory
  const Measured measured = run_for(kCopySeconds, 1, works);
  return {workers, (measured.count.in + measured.count.out) / measured.seconds};
}

// Sets what each stage adds to the time of a sample, as a part of the time of the slowest stage.
void set_shares(std::vector<StageRate>& stages, int workers) {
  double before = 0;
  double all = 0;
  for (const StageRate& stage : stages) {
    if (stage.workers == workers) all = std::max(all, stage.ms_per_sample());
  }
  for (StageRate& stage : stages) {
    if (stage.workers != workers) continue;
    stage.share = std::max(0.0, stage.ms_per_sample() - before) / all;
    before = std::max(before, stage.ms_per_sample());
  }
}

void check(const DataBenchmarkOptions& options) {
  if (options.workers < 1) {
    throw InvalidArgument("benchmark: ", options.workers, " workers, expected at least 1");
  }
  if (!std::isfinite(options.seconds) || options.seconds <= 0) {
    throw InvalidArgument("benchmark: ", options.seconds, " seconds, expected more than 0");
  }
  if (options.batch_size < 1) {
    throw InvalidArgument("benchmark: batch size ", options.batch_size, ", expected at least 1");
  }
}

}  // namespace

DataBenchmarkReport benchmark_dataset(const std::string& format, const std::string& path,
                                      const DataBenchmarkOptions& options) {
  const DatasetRecord& found = dataset_record(format);
  check(options);
  const Pipeline pipeline = found.pipeline(path, options);
  DataBenchmarkReport report{.format = found.name,
                             .path = path,
                             .samples = pipeline.samples,
                             .batch_size = std::min(options.batch_size, pipeline.samples)};
  std::vector<int> counts = {1};
  if (options.workers > 1) counts.push_back(options.workers);
  for (const int workers : counts) {
    const CopyRate copy = measure_copies(workers);
    report.copies.push_back(copy);
    for (const Stage& stage : pipeline.stages) {
      StageRate rate = measure_stage(stage, pipeline.units, workers, options.seconds);
      rate.memory_bound =
          rate.in_per_second() + rate.out_per_second() >= kBoundByMemory * copy.bytes_per_second;
      report.stages.push_back(std::move(rate));
    }
    if (pipeline.batches) {
      report.stages.push_back(
          measure_batches(*pipeline.batches, workers, report.batch_size, options.seconds));
    }
    set_shares(report.stages, workers);
  }
  return report;
}

}  // namespace pando
