// The order in which the devices of a pipeline work: which stage runs which micro-batch when, how
// much is held meanwhile, and how long it all takes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pando {

// The key of a record in runtime::schedules().
enum class PipelineSchedule { grouped, interleaved, sequential };

const char* to_string(PipelineSchedule schedule);

}  // namespace pando

namespace pando::runtime {

// One visit of a micro-batch at a stage.
struct StageVisit {
  int stage = 0;
  bool backward = false;
  int micro_batch = 0;
  bool operator==(const StageVisit&) const = default;
};

// The properties of a pipeline that the order of its work depends on.
struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::grouped;
  int stages = 1;
  int micro_batches = 1;             // per weight update, or in all without training
  bool training = true;              // with backward visits
  std::vector<int> device_of_stage;  // empty: stage i on device i
};

// Everything that depends on the schedule of a pipeline.
struct ScheduleRecord {
  PipelineSchedule schedule = PipelineSchedule::grouped;
  const char* name = "";
  const char* in_flight = "";  // how many micro-batches it keeps in flight, for help texts
  // The order function: the time step of a visit on the clock that all devices share. Devices visit
  // in the order of time steps.
  int64_t (*time_step)(const PipelineShape& shape, const StageVisit& visit) = nullptr;
  // A micro-batch enters after the one before it has left the pipeline.
  bool one_at_a_time = false;
};

// All schedules. A schedule has no more micro-batches in flight than the schedules before it.
std::span<const ScheduleRecord> schedules();
const ScheduleRecord& record_of(PipelineSchedule schedule);

// Throws InvalidArgument for counts below 1, a mapping whose length is not `stages`, and devices
// that are not 0, 1, .., the highest one. The functions below throw the same.
void check(const PipelineShape& shape);

int device_count(const PipelineShape& shape);
int device_of(const PipelineShape& shape, int stage);

// The common clock that orders the visits. A visit comes at least one time step after the one whose
// result it needs; devices do not wait for time steps, see play().
int64_t time_step(const PipelineShape& shape, const StageVisit& visit);
int64_t time_steps(const PipelineShape& shape);  // from the first visit to the last

// The visits of a device for one weight update, in order: by time step; within a time step, visits
// farther along the pipeline come first (bwd 0, bwd 1, .., bwd S-1, fwd S-1, .., fwd 0).
std::vector<StageVisit> device_order(const PipelineShape& shape, int device);

// The most micro-batches whose activations of this stage are held at once: from the forward visit
// to the end of the backward one. Without training a visit holds only its own.
int held_micro_batches(const PipelineShape& shape, int stage);

// One row per device, one column per time step; "B0F3" is backward of micro-batch 0, then forward
// of 3, and "." is idle. If devices have several stages, a visit names its stage: "F3@1".
std::string timeline_text(const PipelineShape& shape);

struct StageSeconds {
  double forward = 0;
  double backward = 0;
};

struct Playback {
  double seconds = 0;
  std::vector<double> busy;        // seconds of each device
  std::vector<double> stage_ends;  // when each stage has done its last visit
  // The part of all devices' time in which they wait, from 0 to 1.
  double idle_share() const;
};

// Plays the order of every device with these durations of the stages. A device waits only for data:
// fwd(s, m) for fwd(s-1, m), bwd(s, m) for bwd(s+1, m), bwd(S-1, m) for fwd(S-1, m). The sequential
// schedule also waits for the previous micro-batch. Throws InvalidArgument unless there is one
// finite duration of at least 0 per stage and direction.
Playback play(const PipelineShape& shape, const std::vector<StageSeconds>& stages);

// Cuts layers, in their order, into stages with at least one layer each, such that the longest
// stage is as short as possible, and among such cuts the stages are as even as possible. Returns
// the first layer of each stage after the first. Throws InvalidArgument when there are more stages
// than layers.
std::vector<int> balance_stages(const std::vector<double>& layer_seconds, int stages);

}  // namespace pando::runtime
