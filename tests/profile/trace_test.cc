// SPDX-License-Identifier: MIT
#include "pando/profile/trace.h"

#include <limits>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::profile {
namespace {

using testing_support::error_of;

TEST(Trace, KeepsEventsInTheOrderOfRecording) {
  Trace trace;
  TraceTrack& track = trace.add_track("worker 0", 3);
  EXPECT_EQ(track.name(), "worker 0");
  EXPECT_EQ(track.device(), 3);
  EXPECT_TRUE(track.events().empty());
  const int32_t conv = trace.name_id("conv1");
  track.add({.begin = 5, .end = 9, .name = conv, .micro_batch = 2, .replica = 1, .stage = 4});
  track.add({.begin = 5, .end = 10, .kind = EventKind::phase, .backward = true});
  ASSERT_EQ(track.events().size(), 2u);
  const TraceEvent& first = track.events()[0];
  EXPECT_EQ(first.begin, 5);
  EXPECT_EQ(first.end, 9);
  EXPECT_EQ(trace.name(first.name), "conv1");
  EXPECT_EQ(first.micro_batch, 2);
  EXPECT_EQ(first.replica, 1);
  EXPECT_EQ(first.stage, 4);
  EXPECT_EQ(first.kind, EventKind::op);
  EXPECT_FALSE(first.backward);
  EXPECT_EQ(track.events()[1].kind, EventKind::phase);
  EXPECT_TRUE(track.events()[1].backward);
}

TEST(Trace, OneClockForAllTracks) {
  Trace trace;
  TraceTrack& first = trace.add_track("a", 0);
  TraceTrack& second = trace.add_track("b", kHostDevice);
  const int64_t begin = first.now();
  const int64_t middle = second.now();
  const int64_t end = first.now();
  EXPECT_GE(begin, 0);
  EXPECT_GE(middle, begin);
  EXPECT_GE(end, middle);
}

TEST(Trace, CountsWhatAFullTrackDrops) {
  Trace trace({.events_per_track = 3});
  TraceTrack& full = trace.add_track("full", 0);
  TraceTrack& other = trace.add_track("other", 0);
  for (int i = 0; i < 8; ++i) full.add({.begin = i, .end = i});
  other.add({});
  ASSERT_EQ(full.events().size(), 3u);
  EXPECT_EQ(full.events()[2].begin, 2);
  EXPECT_EQ(full.dropped(), 5);
  EXPECT_EQ(other.dropped(), 0);
  EXPECT_EQ(trace.dropped(), 5);
}

TEST(Trace, NamesAreNumberedOnce) {
  Trace trace;
  const int32_t a = trace.name_id("a");
  const int32_t b = trace.name_id("b");
  EXPECT_NE(a, b);
  EXPECT_EQ(trace.name_id("a"), a);
  EXPECT_EQ(trace.name(b), "b");
}

TEST(Trace, OtherThreadsMayReadWhileAThreadRecords) {
  constexpr int kThreads = 4;
  constexpr int64_t kEvents = 20000;
  Trace trace({.events_per_track = kEvents / 2});
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&trace, t] {
      TraceTrack& track = trace.add_track("worker " + std::to_string(t), t);
      const int32_t name = trace.name_id("op " + std::to_string(t % 2));
      for (int64_t i = 0; i < kEvents; ++i) track.add({.begin = i, .end = i + t, .name = name});
    });
  }
  size_t complete = 0;
  while (complete < kThreads * kEvents / 2) {
    complete = 0;
    for (const TraceTrack* track : trace.tracks()) {
      const auto events = track->events();
      complete += events.size();
      if (events.empty()) continue;
      ASSERT_EQ(events.back().begin, static_cast<int64_t>(events.size()) - 1);
      ASSERT_EQ(events.back().end - events.back().begin, track->device());
    }
    std::this_thread::yield();
  }
  for (std::jthread& thread : threads) thread.join();
  std::set<int> devices;
  for (const TraceTrack* track : trace.tracks()) {
    devices.insert(track->device());
    EXPECT_EQ(trace.name(track->events()[0].name), track->device() % 2 == 0 ? "op 0" : "op 1");
    EXPECT_EQ(track->dropped(), kEvents / 2);
  }
  EXPECT_EQ(devices.size(), size_t{kThreads});
  EXPECT_EQ(trace.dropped(), kThreads * kEvents / 2);
}

TEST(Trace, RefusesImpossibleSizes) {
  EXPECT_SAYS(error_of([] { Trace trace({.events_per_track = 0}); }), "at least 1");
  Trace trace({.events_per_track = std::numeric_limits<size_t>::max() / 2});
  const std::string message = error_of<ResourceError>([&] { trace.add_track("worker 7", 0); });
  EXPECT_SAYS(message, "'worker 7'");
  EXPECT_SAYS(message, "fewer events");
  EXPECT_TRUE(trace.tracks().empty());
}

TEST(Trace, ChecksNumbersOfNamesAndDevices) {
  Trace trace;
  EXPECT_THROW(trace.name(0), InternalError);
  EXPECT_THROW(trace.name(-1), InternalError);
  EXPECT_THROW(trace.add_track("x", -2), InternalError);
}

TEST(EventKind, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (size_t i = 0; i < kEventKinds; ++i) names.insert(to_string(static_cast<EventKind>(i)));
  EXPECT_EQ(names.size(), kEventKinds);
  EXPECT_THROW(to_string(static_cast<EventKind>(kEventKinds)), InternalError);
}

}  // namespace
}  // namespace pando::profile
