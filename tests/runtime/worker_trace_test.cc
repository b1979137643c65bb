#include "pando/runtime/worker_trace.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "pando/ir/text.h"

namespace pando::runtime {
namespace {

std::unique_ptr<const compiler::Program> one_op() {
  return compiler::compile(
      ir::parse_graph("graph(x: f32[2,2] feed) { y = relu(x) return result y=y }"));
}

TEST(WorkerTrace, NamesEventsByKindAndPhasesByStage) {
  const auto program = one_op();
  profile::Trace trace;
  const TraceNames names(trace, *program);
  profile::TraceTrack& track = trace.add_track("worker 0", 0);
  const WorkerTrace recorded(track, names, 3, true);
  recorded.add(profile::EventKind::update, recorded.now());
  recorded.add_phase({.stage = 0, .backward = false, .micro_batch = 5}, recorded.now());
  ASSERT_EQ(track.events().size(), 2u);
  const profile::TraceEvent update = track.events()[0];
  EXPECT_EQ(trace.name(update.name), "update");
  EXPECT_EQ(update.kind, profile::EventKind::update);
  EXPECT_EQ(update.replica, 3);
  EXPECT_EQ(update.micro_batch, -1);
  EXPECT_LE(update.begin, update.end);
  const profile::TraceEvent phase = track.events()[1];
  EXPECT_EQ(trace.name(phase.name), "step");  // the whole network is one stage
  EXPECT_EQ(phase.stage, -1);
  EXPECT_EQ(phase.micro_batch, 5);
  EXPECT_EQ(phase.kind, profile::EventKind::phase);
}

TEST(WorkerTrace, RecordsWaitsThatTakeTime) {
  const auto program = one_op();
  profile::Trace trace;
  const TraceNames names(trace, *program);
  profile::TraceTrack& track = trace.add_track("worker 0", 0);
  WorkerTrace recorded(track, names, 0, false);
  recorded.begin_wait();
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  recorded.end_wait(profile::EventKind::feed_wait);
  ASSERT_EQ(track.events().size(), 1u);
  EXPECT_EQ(trace.name(track.events()[0].name), "feed_wait");
  EXPECT_GE(track.events()[0].end - track.events()[0].begin, 50'000);
}

TEST(WorkerTrace, KernelCallsAreRecordedWhenAskedFor) {
  const auto program = one_op();
  profile::Trace trace;
  const TraceNames names(trace, *program);
  profile::TraceTrack& track = trace.add_track("worker 0", 0);
  EXPECT_EQ(WorkerTrace(track, names, 0, true).op_track(), &track);
  EXPECT_EQ(WorkerTrace(track, names, 0, false).op_track(), nullptr);
}

TEST(WorkerTrace, WithoutATrackItRecordsNothing) {
  WorkerTrace none;
  EXPECT_EQ(none.now(), 0);
  EXPECT_EQ(none.op_track(), nullptr);
  none.begin_wait();
  none.end_wait(profile::EventKind::data_wait);
  none.add(profile::EventKind::update, 0);
  none.add_phase({}, 0);
}

}  // namespace
}  // namespace pando::runtime
