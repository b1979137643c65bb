// SPDX-License-Identifier: MIT
#include "pando/profile/trace_summary.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::profile {
namespace {

constexpr int64_t kMs = 1000000;

void add(TraceTrack& track, EventKind kind, int64_t begin_ms, int64_t end_ms) {
  track.add({.begin = begin_ms * kMs, .end = end_ms * kMs, .kind = kind});
}

void add_phase(TraceTrack& track, int stage, bool backward, int64_t begin_ms, int64_t end_ms) {
  track.add({.begin = begin_ms * kMs,
             .end = end_ms * kMs,
             .stage = static_cast<int16_t>(stage),
             .kind = EventKind::phase,
             .backward = backward});
}

TEST(TraceSummary, OfNothingIsZero) {
  const TraceSummary nothing = summarize(Trace());
  EXPECT_EQ(nothing.span_seconds, 0);
  EXPECT_EQ(nothing.idle_share, 0);
  EXPECT_TRUE(nothing.devices.empty());
  Trace trace;
  add(trace.add_track("worker", 0), EventKind::feed_wait, 1, 4);
  const TraceSummary waits = summarize(trace);
  EXPECT_EQ(waits.span_seconds, 0);
  ASSERT_EQ(waits.devices.size(), 1u);
  EXPECT_EQ(waits.devices[0].idle_share, 0);
  EXPECT_DOUBLE_EQ(waits.devices[0].seconds_of(EventKind::feed_wait), 0.003);
}

TEST(TraceSummary, TellsWhatWentOnBetweenInstances) {
  Trace trace;
  TraceTrack& worker = trace.add_track("worker", 0);
  add_phase(worker, 0, false, 0, 80);
  add(worker, EventKind::exchange_wait, 80, 90);
  add(worker, EventKind::update, 90, 100);
  TraceTrack& network = trace.add_track("network", kHostDevice);
  add(network, EventKind::exchange, 40, 70);
  add(network, EventKind::exchange, 60, 90);
  const TraceSummary summary = summarize(trace);
  EXPECT_EQ(summary.exchange.buckets, 2);
  EXPECT_DOUBLE_EQ(summary.exchange.seconds, 0.05);
  EXPECT_DOUBLE_EQ(summary.exchange.exposed_seconds, 0.01);
  for (const char* token : {"2 buckets", "50.000 ms", "10.000 ms", "10.0 %"}) {
    EXPECT_SAYS(to_text(summary), token);
  }
}

// Two stages on two devices, one micro-batch, in ms:
//   device 0: prologue 0-10, forward 10-20 (ops 10-14, 15-20), data wait 20-60, backward 60-90
//             (op 60-90), update 90-100
//   device 1: data wait 10-20, forward 20-30 (op 20-30), backward 30-60 (op 30-58), barrier 60-90,
//             update 90-110
void record_pipeline(Trace& trace, bool ops) {
  TraceTrack& first = trace.add_track("worker 0", 0);
  add(first, EventKind::prologue, 0, 10);
  if (ops) add(first, EventKind::op, 10, 14);
  if (ops) add(first, EventKind::op, 15, 20);
  add_phase(first, 0, false, 10, 20);
  add(first, EventKind::data_wait, 20, 60);
  if (ops) add(first, EventKind::op, 60, 90);
  add_phase(first, 0, true, 60, 90);
  add(first, EventKind::update, 90, 100);
  TraceTrack& second = trace.add_track("worker 0", 1);
  add(second, EventKind::data_wait, 10, 20);
  if (ops) add(second, EventKind::op, 20, 30);
  add_phase(second, 1, false, 20, 30);
  if (ops) add(second, EventKind::op, 30, 58);
  add_phase(second, 1, true, 30, 60);
  add(second, EventKind::barrier_wait, 60, 90);
  add(second, EventKind::update, 90, 110);
}

TEST(TraceSummary, SharesAreOfTheSpanOfAllDevices) {
  Trace trace;
  record_pipeline(trace, true);
  const TraceSummary summary = summarize(trace);
  EXPECT_DOUBLE_EQ(summary.span_seconds, 0.100);
  EXPECT_EQ(summary.events, 15);
  EXPECT_EQ(summary.dropped, 0);
  ASSERT_EQ(summary.devices.size(), 2u);
  const DeviceSummary& first = summary.devices[0];
  EXPECT_EQ(first.device, 0);
  EXPECT_EQ(first.tracks, 1);
  EXPECT_DOUBLE_EQ(first.busy_seconds, 0.049);  // the prologue lies before the span
  EXPECT_DOUBLE_EQ(first.idle_share, 0.51);
  EXPECT_DOUBLE_EQ(first.program_seconds, 0.050);
  EXPECT_DOUBLE_EQ(first.program_share, 0.50);
  EXPECT_DOUBLE_EQ(first.seconds_of(EventKind::op), 0.039);
  EXPECT_DOUBLE_EQ(first.seconds_of(EventKind::phase), 0.040);
  EXPECT_DOUBLE_EQ(first.seconds_of(EventKind::data_wait), 0.040);
  EXPECT_DOUBLE_EQ(first.seconds_of(EventKind::update), 0.010);
  EXPECT_DOUBLE_EQ(first.seconds_of(EventKind::prologue), 0.010);
  EXPECT_DOUBLE_EQ(first.seconds_of(EventKind::host), 0);
  const DeviceSummary& second = summary.devices[1];
  EXPECT_DOUBLE_EQ(second.busy_seconds, 0.058);
  EXPECT_DOUBLE_EQ(second.program_seconds, 0.060);
  EXPECT_DOUBLE_EQ(second.seconds_of(EventKind::barrier_wait), 0.030);
  EXPECT_DOUBLE_EQ(summary.idle_share, 1 - 0.107 / 0.2);
  EXPECT_DOUBLE_EQ(summary.program_share, 0.55);
}

TEST(TraceSummary, WithoutOpsPhasesAreBusy) {
  Trace trace({.ops = false});
  record_pipeline(trace, false);
  const TraceSummary summary = summarize(trace);
  EXPECT_DOUBLE_EQ(summary.devices[0].busy_seconds, 0.050);
  EXPECT_DOUBLE_EQ(summary.devices[1].busy_seconds, 0.060);
  EXPECT_DOUBLE_EQ(summary.idle_share, 0.45);
}

TEST(TraceSummary, WorkersOfADeviceCountOnce) {
  Trace trace;
  TraceTrack& first = trace.add_track("worker 0", 0);
  TraceTrack& second = trace.add_track("worker 1", 0);
  add_phase(first, 0, false, 0, 100);
  add_phase(second, 0, false, 0, 100);
  add(first, EventKind::op, 50, 70);
  add(first, EventKind::op, 10, 30);
  add(second, EventKind::op, 20, 40);   // overlaps
  add(second, EventKind::op, 55, 60);   // inside
  add(second, EventKind::op, 95, 120);  // past the end of the span
  const TraceSummary summary = summarize(trace);
  ASSERT_EQ(summary.devices.size(), 1u);
  EXPECT_EQ(summary.devices[0].tracks, 2);
  EXPECT_DOUBLE_EQ(summary.devices[0].busy_seconds, 0.055);
  EXPECT_DOUBLE_EQ(summary.devices[0].program_share, 1);
  EXPECT_DOUBLE_EQ(summary.devices[0].seconds_of(EventKind::op), 0.090);
}

TEST(TraceSummary, MeanTimeOfOneVisitPerStageAndDirection) {
  Trace trace;
  TraceTrack& track = trace.add_track("worker", 0);
  add_phase(track, 1, true, 0, 7);
  add_phase(track, 1, false, 7, 10);
  add_phase(track, 0, false, 10, 12);
  add_phase(track, 0, false, 20, 26);
  const std::vector<StageSummary> stages = summarize(trace).stages;
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(stages[0].stage, 0);
  EXPECT_FALSE(stages[0].backward);
  EXPECT_EQ(stages[0].visits, 2);
  EXPECT_DOUBLE_EQ(stages[0].mean_seconds, 0.004);
  EXPECT_EQ(stages[1].stage, 1);
  EXPECT_FALSE(stages[1].backward);
  EXPECT_DOUBLE_EQ(stages[1].mean_seconds, 0.003);
  EXPECT_TRUE(stages[2].backward);
  EXPECT_DOUBLE_EQ(stages[2].mean_seconds, 0.007);
}

TEST(TraceSummary, TheHostIsNoDevice) {
  Trace trace;
  record_pipeline(trace, true);
  add(trace.add_track("main", kHostDevice), EventKind::host, 0, 500);
  const TraceSummary summary = summarize(trace);
  ASSERT_EQ(summary.devices.size(), 3u);
  EXPECT_EQ(summary.devices[0].device, kHostDevice);
  EXPECT_DOUBLE_EQ(summary.devices[0].seconds_of(EventKind::host), 0.5);
  EXPECT_DOUBLE_EQ(summary.span_seconds, 0.100);
  EXPECT_DOUBLE_EQ(summary.program_share, 0.55);
}

TEST(TraceSummary, AsText) {
  Trace trace;
  record_pipeline(trace, true);
  add(trace.add_track("main", kHostDevice), EventKind::host, 0, 500);
  EXPECT_EQ(to_text(summarize(trace)), R"(trace: 100.000 ms, idle 46.5 %, inside programs 55.0 %
times in ms tracks       busy idle % programs %        op     phase data_wait    update  prologue barrier_wait      host
host             1          -      -          -         -         -         -         -         -            -   500.000
device 0         1     49.000   51.0       50.0    39.000    40.000    40.000    10.000    10.000            -         -
device 1         1     58.000   42.0       60.0    38.000    40.000    10.000    20.000         -       30.000         -
stage pass        visits      mean ms
0     forward          1       10.000
0     backward         1       30.000
1     forward          1       10.000
1     backward         1       30.000
)");
}

TEST(TraceSummary, TheTextWarnsOfDroppedEvents) {
  Trace trace({.events_per_track = 2});
  TraceTrack& track = trace.add_track("worker", 0);
  for (int i = 0; i < 5; ++i) add_phase(track, 0, false, i, i + 1);
  const TraceSummary summary = summarize(trace);
  EXPECT_EQ(summary.dropped, 3);
  for (const char* token : {"warning: 2 events", "3 dropped"}) {
    EXPECT_SAYS(to_text(summary), token);
  }
  EXPECT_FALSE(testing_support::says(to_text(summarize(Trace())), "warning"));
}

}  // namespace
}  // namespace pando::profile
