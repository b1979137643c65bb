// The trace of a fit: every device follows the order of its schedule.
#include <map>

#include "pando/runtime/program/schedule.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

// A chain of `stages` dense layers, one per stage.
Network chain(int stages) {
  std::vector<Layer> layers = {Flatten({.name = "flat"})};
  std::vector<int> assignment = {0};
  for (int stage = 0; stage < stages; ++stage) {
    layers.push_back(Dense({.units = 3, .activation = stage + 1 == stages ? "softmax" : "relu"}));
    assignment.push_back(stage);
  }
  return Sequential({6, 6, 1}, layers).with_stages(assignment);
}

// "F0 F1 B0 ...": the visits of every device, in the order in which they ended.
std::map<int, std::string> visits_of(const profile::Trace& trace) {
  std::map<int, std::string> visits;
  for (const profile::TraceTrack* track : trace.tracks()) {
    for (const profile::TraceEvent& event : track->events()) {
      if (event.kind != profile::EventKind::phase) continue;
      visits[track->device()] +=
          (event.backward ? "B" : "F") + std::to_string(event.micro_batch) + " ";
    }
  }
  return visits;
}

std::map<int, std::string> traced_fit(int stages, int micro_batches, PipelineSchedule schedule) {
  const DeviceStrategy strategy({.devices = stages, .cores_per_device = 1});
  const auto scope = strategy.scope();
  Model model(chain(stages));
  model.set_pipelining_options(
      {.gradient_accumulation_steps_per_replica = micro_batches, .schedule = schedule});
  model.compile(classifier());
  profile::Trace trace;
  model.fit(image_data(2 * micro_batches), {.batch_size = 2, .trace = &trace, .verbose = 0});
  return visits_of(trace);
}

TEST(Trace, DevicesWorkInTheOrderOfTheWorkedTimelines) {
  const auto grouped = traced_fit(2, 4, PipelineSchedule::grouped);
  EXPECT_EQ(grouped.at(0), "F0 F1 F2 B0 F3 B1 B2 B3 ");
  EXPECT_EQ(grouped.at(1), "F0 B0 F1 B1 F2 B2 F3 B3 ");
  const auto interleaved = traced_fit(2, 4, PipelineSchedule::interleaved);
  EXPECT_EQ(interleaved.at(0), "F0 F1 B0 F2 B1 F3 B2 B3 ");
  EXPECT_EQ(interleaved.at(1), "F0 B0 F1 B1 F2 B2 F3 B3 ");
  const auto deep = traced_fit(4, 8, PipelineSchedule::interleaved);
  EXPECT_EQ(deep.at(0).substr(0, 29), "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6");
  EXPECT_EQ(deep.at(1).substr(0, 29), "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3");
  EXPECT_EQ(deep.at(2).substr(0, 29), "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5");
  EXPECT_EQ(deep.at(3).substr(0, 29), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4");
  const auto sequential = traced_fit(2, 3, PipelineSchedule::sequential);
  EXPECT_EQ(sequential.at(0), "F0 B0 F1 B1 F2 B2 ");
  EXPECT_EQ(sequential.at(1), "F0 B0 F1 B1 F2 B2 ");
}

TEST(Trace, DevicesWorkInTheOrderOfTheirSchedule) {
  for (const PipelineSchedule schedule :
       {PipelineSchedule::grouped, PipelineSchedule::interleaved, PipelineSchedule::sequential}) {
    for (const int micro_batches : {1, 5, 8}) {
      const auto found = traced_fit(3, micro_batches, schedule);
      const runtime::PipelineShape shape{
          .schedule = schedule, .stages = 3, .micro_batches = micro_batches};
      for (int device = 0; device < 3; ++device) {
        std::string expected;
        for (const runtime::StageVisit& visit : runtime::device_order(shape, device)) {
          expected += (visit.backward ? "B" : "F") + std::to_string(visit.micro_batch) + " ";
        }
        EXPECT_EQ(found.at(device), expected) << to_string(schedule) << ", device " << device;
      }
    }
  }
}

// Every kernel call is an event inside its visit.
TEST(Trace, OpsLieInsideTheirVisits) {
  const DeviceStrategy strategy({.devices = 2, .cores_per_device = 1});
  const auto scope = strategy.scope();
  Model model(chain(2));
  model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 4});
  model.compile(classifier());
  profile::Trace trace;
  model.fit(image_data(8), {.batch_size = 2, .trace = &trace, .verbose = 0});
  int ops = 0;
  for (const profile::TraceTrack* track : trace.tracks()) {
    std::vector<profile::TraceEvent> waiting;
    for (const profile::TraceEvent& event : track->events()) {
      if (event.kind == profile::EventKind::op) waiting.push_back(event);
      if (event.kind != profile::EventKind::phase) continue;
      for (const profile::TraceEvent& op : waiting) {
        EXPECT_GE(op.begin, event.begin);
        EXPECT_LE(op.end, event.end);
        EXPECT_EQ(op.micro_batch, event.micro_batch);
        EXPECT_FALSE(trace.name(op.name).empty());
        ++ops;
      }
      waiting.clear();
    }
    EXPECT_TRUE(waiting.empty());
  }
  EXPECT_GT(ops, 40);
}

}  // namespace
}  // namespace pando
