// Reports on traces made by hand, whose figures are known.
#include "pando/runtime/report/execution_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/ir/text.h"
#include "tests/support/expect_error.h"

namespace pando::runtime {
namespace {

using profile::EventKind;

constexpr int64_t kMs = 1000000;

std::unique_ptr<const compiler::Program> program_of(int slices) {
  return compiler::compile(ir::parse_graph(R"(graph(x: f32[5,10] feed, k: f32[10,4] variable) {
    a = dense(x, k) @first
    b = softmax(a) @last
    return result b=b })"),
                           {.slices = slices});
}

// One worker, whose events are given in milliseconds.
struct Worker {
  profile::Trace& trace;
  profile::TraceTrack& track;
  explicit Worker(profile::Trace& recorded, int device = 0)
      : trace(recorded), track(recorded.add_track("worker", device)) {}

  void add(const std::string& name, int64_t begin, int64_t end, EventKind kind = EventKind::op) {
    track.add({.begin = begin * kMs,
               .end = end * kMs,
               .name = trace.name_id(name),
               .replica = 0,
               .kind = kind});
  }

  // One step of one slice: 10 ms packing, 2 ms wait, 3 ms feeding, 20 and 5 ms ops, 4 ms update.
  void add_step(int64_t at) {
    add("prologue", at, at + 10, EventKind::prologue);
    add("feed_wait", at + 10, at + 12, EventKind::feed_wait);
    add("dense first", at + 15, at + 35);
    add("softmax last", at + 35, at + 40);
    add("step", at + 12, at + 40, EventKind::phase);
    add("update", at + 40, at + 44, EventKind::update);
  }
};

ExecutionReport report_of(const compiler::CompilationReport& compilation,
                          const profile::Trace& trace) {
  return execution_report(compilation, trace, {.micro_batch_size = 5, .peak = {"avx2", 2, 0.001}});
}

TEST(ExecutionReport, FiguresAreThoseOfTheEvents) {
  const auto program = program_of(1);
  const compiler::CompilationReport compilation = compiler::compilation_report(*program);
  profile::Trace trace;
  Worker worker(trace);
  worker.add_step(0);
  worker.add_step(50);  // 6 ms after the first
  const ExecutionReport report = report_of(compilation, trace);
  EXPECT_DOUBLE_EQ(report.span_seconds, 0.094);
  EXPECT_EQ(report.steps, 2);
  EXPECT_EQ(report.samples, 10);
  EXPECT_EQ(report.updates, 2);
  EXPECT_EQ(report.replicas, 1);
  EXPECT_NEAR(report.seconds_of(Phase::prologue), 0.020, 1e-12);
  EXPECT_NEAR(report.seconds_of(Phase::feed_wait), 0.004, 1e-12);
  EXPECT_NEAR(report.seconds_of(Phase::step), 0.006, 1e-12);
  EXPECT_NEAR(report.seconds_of(Phase::forward), 0.050, 1e-12);
  EXPECT_NEAR(report.seconds_of(Phase::update), 0.008, 1e-12);
  EXPECT_NEAR(report.seconds_of(Phase::outside), 0.006, 1e-12);
  EXPECT_NEAR(report.busy_share(), 84.0 / 94, 1e-12);
  ASSERT_EQ(report.ops.size(), 2u);
  EXPECT_EQ(report.ops[0].times, 2);
  EXPECT_NEAR(report.ops[0].spent.seconds, 0.040, 1e-12);
  EXPECT_EQ(report.ops[0].spent.flops, 2 * 2.0 * 5 * 10 * 4);
  EXPECT_NEAR(report.ops[0].spent.gflops(), 800 / 0.040 * 1e-9, 1e-15);
  EXPECT_NEAR(report.peak_fraction(report.ops[0].spent), 800 / 0.040 * 1e-9 / 0.0005, 1e-9);
  ASSERT_EQ(report.layers.size(), 2u);
  EXPECT_EQ(report.layers[1].layer, "last");
  EXPECT_NEAR(report.layers[1].forward.seconds, 0.010, 1e-12);
}

// The rows of ops show what was computed, padding included; the figures of the whole count samples
// only.
TEST(ExecutionReport, PaddingIsNoSample) {
  const auto program = program_of(1);
  const compiler::CompilationReport compilation = compiler::compilation_report(*program);
  profile::Trace trace;
  Worker worker(trace);
  worker.add_step(0);
  worker.add_step(44);
  trace.count_samples(8);
  ExecutionReport report = report_of(compilation, trace);
  EXPECT_EQ(report.samples, 8);
  EXPECT_EQ(report.padding, 2);
  EXPECT_EQ(report.ops[0].spent.flops, 2 * 2.0 * 5 * 10 * 4);
  EXPECT_DOUBLE_EQ(report.whole().flops, 0.8 * report.forward.flops);
  const std::string text = to_text(report, compilation);
  EXPECT_SAYS(text, "2 steps of 1 replica, 8 samples\nmicro-batches were padded by 2 rows");
  EXPECT_EQ(nlohmann::json::parse(to_json(report, compilation))["padding_rows"], 2);
  trace.count_samples(100);  // after the tracks were full
  report = report_of(compilation, trace);
  EXPECT_EQ(report.samples, 10);
  EXPECT_EQ(report.padding, 0);
}

// A step is a micro-batch on each replica: 80 ms of forward in two steps.
TEST(ExecutionReport, AStepIsOneOfAllReplicas) {
  const auto program = program_of(1);
  const compiler::CompilationReport compilation = compiler::compilation_report(*program);
  profile::Trace trace;
  for (const int32_t replica : {0, 1}) {
    Worker worker(trace, replica);
    for (const int64_t at : {0, 50}) {
      worker.add("dense first", at, at + 20);
      worker.track.add({.begin = at * kMs,
                        .end = (at + 20) * kMs,
                        .name = trace.name_id("step"),
                        .replica = replica,
                        .kind = EventKind::phase});
    }
  }
  const ExecutionReport report = report_of(compilation, trace);
  EXPECT_EQ(report.steps, 2);
  EXPECT_EQ(report.samples, 20);
  const std::string text = to_text(report, compilation);
  EXPECT_SAYS(text, "2 steps of 2 replicas, 20 samples\n");
  EXPECT_SAYS(text, "  forward                         0.0800      40.0000 ");
}

TEST(ExecutionReport, WaitsInsideAVisitAreNoWork) {
  const auto program = program_of(1);
  const compiler::CompilationReport compilation = compiler::compilation_report(*program);
  profile::Trace trace;
  Worker worker(trace);
  worker.add("dense first", 0, 4);
  worker.add("barrier_wait", 4, 9, EventKind::barrier_wait);
  worker.add("step", 0, 10, EventKind::phase);
  const ExecutionReport report = report_of(compilation, trace);
  EXPECT_NEAR(report.seconds_of(Phase::step), 0.001, 1e-12);
  EXPECT_NEAR(report.seconds_of(Phase::barrier_wait), 0.005, 1e-12);
  EXPECT_NEAR(report.seconds_of(Phase::outside), 0, 1e-12);
}

// Nothing counts after the end of the track that was full first, in any track.
TEST(ExecutionReport, EndsWhereTheFirstTrackWasFull) {
  const auto program = program_of(2);
  const compiler::CompilationReport compilation = compiler::compilation_report(*program);
  profile::Trace trace({.events_per_track = 13});
  Worker full(trace);
  Worker other(trace);
  for (int64_t at : {0, 50, 100}) full.add_step(at);
  other.add_step(0);
  other.add_step(200);
  const ExecutionReport report = report_of(compilation, trace);
  EXPECT_EQ(report.dropped, 5);
  EXPECT_EQ(report.events, 25);
  EXPECT_DOUBLE_EQ(report.span_seconds, 0.110);
  ASSERT_EQ(report.ops.size(), 2u);
  EXPECT_EQ(report.ops[0].times, 3);
  const std::string text = to_text(report, compilation);
  EXPECT_SAYS(text, "the trace was full then: 25 of 30 events (83 %) were recorded");
  EXPECT_EQ(nlohmann::json::parse(to_json(report, compilation))["dropped_events"], 5);
}

TEST(ExecutionReport, OtherPrograms) {
  const auto program = program_of(1);
  const compiler::CompilationReport compilation = compiler::compilation_report(*program);
  profile::Trace trace;
  Worker worker(trace, 3);
  worker.add("conv elsewhere", 0, 7);
  worker.add("step", 0, 7, EventKind::phase);
  const ExecutionReport report = report_of(compilation, trace);
  EXPECT_NEAR(report.other_seconds, 0.007, 1e-12);
  EXPECT_TRUE(report.ops.empty());
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_EQ(report.devices[0].device, 3);
  EXPECT_SAYS(to_text(report, compilation), "ops of other programs 0.0070 s");
}

TEST(ExecutionReport, OfAnEmptyTraceSaysSo) {
  const auto program = program_of(1);
  const compiler::CompilationReport compilation = compiler::compilation_report(*program);
  const ExecutionReport report = report_of(compilation, profile::Trace());
  EXPECT_EQ(report.span_seconds, 0);
  EXPECT_EQ(report.busy_share(), 0);
  EXPECT_SAYS(to_text(report, compilation), "no event of a device");
  EXPECT_EQ(nlohmann::json::parse(to_json(report, compilation))["steps"], 0);
}

}  // namespace
}  // namespace pando::runtime
