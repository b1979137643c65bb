// The cost of the tracer: the time to record one event as the runtime does, with one reading of the
// clock per event, and the time of its two halves:
//   micro_trace
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include "pando/profile/trace.h"

namespace pando::bench {
namespace {

constexpr int64_t kEvents = int64_t{1} << 16;

void read_clock(benchmark::State& state) {
  profile::Trace trace;
  const profile::TraceTrack& track = trace.add_track("worker", 0);
  for (auto _ : state) benchmark::DoNotOptimize(track.now());
}

// `record` fills a new track in each iteration; creating the track is not timed.
template <typename Record>
void fill_tracks(benchmark::State& state, const Record& record) {
  for (auto _ : state) {
    state.PauseTiming();
    profile::Trace trace({.events_per_track = kEvents});
    profile::TraceTrack& track = trace.add_track("worker", 0);
    state.ResumeTiming();
    record(track);
    benchmark::ClobberMemory();
  }
  state.counters["per_event"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kEvents),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void add_event(benchmark::State& state) {
  fill_tracks(state, [](profile::TraceTrack& track) {
    for (int64_t i = 0; i < kEvents; ++i) track.add({.begin = i, .end = i + 1, .stage = 0});
  });
}

void record_event(benchmark::State& state) {
  fill_tracks(state, [](profile::TraceTrack& track) {
    int64_t begin = track.now();
    for (int64_t i = 0; i < kEvents; ++i) {
      const int64_t end = track.now();
      track.add({.begin = begin, .end = end, .stage = 0});
      begin = end;
    }
  });
}

BENCHMARK(read_clock);
BENCHMARK(add_event);
BENCHMARK(record_event);

}  // namespace
}  // namespace pando::bench

BENCHMARK_MAIN();
