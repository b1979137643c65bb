// The work of one visit: wait for data, feed, run, hand over.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/runtime/executor.h"

namespace pando::runtime {

bool Executor::run_visit(Worker& worker, const StageVisit& visit) {
  const int section = bound_.program().section(visit.stage, visit.backward);
  if (visit.stage == 0 && !visit.backward && !fetch(worker, visit.micro_batch)) return false;
  return waits_together() ? run_together(worker, visit, section)
                          : run_lanes(worker, visit, section);
}

SliceVisit Executor::slice_visit(const Worker& worker, const StageVisit& visit, int section,
                                 int lane) {
  const UpdatePlan& now = plan(worker);
  const int group = bound_.placement().statistics_group;
  const FedBatch& data = feeder_.fed(worker.replica, visit.micro_batch);
  const int slice = lane % bound_.slices();
  int64_t together = 0;
  const int64_t own = division_.element_of(visit.micro_batch, worker.replica);
  const int64_t first = own - (bound_.placement().first_replica() + worker.replica) % group;
  for (int i = 0; i < group; ++i) together += samples_of(now, first + i);
  const bool mean = bound_.placement().reduction == GradientReduction::mean;
  const int64_t normaliser = mean ? shared_.samples : data.valid;
  SliceVisit result{.section = section,
                    .lane = lane,
                    .micro_batch = visit.micro_batch,
                    .update = updater_ ? worker.execution->iteration + shared_.update : -1,
                    .last = visit.micro_batch + 1 == division_.steps_of(now),
                    .track = worker.trace.op_track()};
  result.step = {
      .valid = bound_.program().in_parts() ? data.valid : bound_.slice_valid(slice, data.valid),
      .batch_valid = together,
      .loss_scale = shared_.loss_scaling / static_cast<float>(std::max<int64_t>(normaliser, 1)),
      .seed = worker.execution->seed,
      .first_sample = data.first_sample + bound_.slice_first(slice)};
  // Slices that hold only padding have no gradients.
  if (result.step.valid > 0) result.counter = shared_.counter;
  if (bound_.placement().reduction == GradientReduction::running_mean) {
    const int64_t before = samples_before(now, visit.micro_batch, worker.replica);
    const auto all = static_cast<float>(std::max<int64_t>(before + data.valid, 1));
    result.mix = {.keep = 1, .take = 0};
    if (data.valid > 0) {
      result.mix = {static_cast<float>(before) / all, static_cast<float>(data.valid) / all};
    }
  }
  return result;
}

// The lanes of a stage that a worker runs.
template <typename Function>
void Executor::for_own_lanes(const Worker& worker, int stage, Function function) const {
  const int first = worker.replica * bound_.slices();
  for (int lane = first; lane < first + bound_.slices(); ++lane) {
    if (bound_.worker_of(lane, stage) == worker.number) function(lane);
  }
}

void Executor::begin_lane(const SliceVisit& slice, bool feeds) {
  bound_.prepare(slice);
  if (feeds) feeder_.copy(slice.lane, slice.micro_batch);
}

void Executor::end_lane(const Worker& worker, const SliceVisit& slice, const StageVisit& visit) {
  if (!visit.backward) bound_.accumulate_moments(slice);
  if (visit.stage == stages_ - 1 && !visit.backward) {
    const int number = slice.lane % bound_.slices();
    const int64_t element =
        shared_.elements + division_.element_of(visit.micro_batch, worker.replica);
    outfeed_.add({.lane = slice.lane,
                  .micro_batch = visit.micro_batch,
                  .step = shared_.steps + visit.micro_batch,
                  .samples = bound_.slice_valid(
                      number, feeder_.fed(worker.replica, visit.micro_batch).valid),
                  .first_row = element * division_.micro_batch() + bound_.slice_first(number)});
  }
  done(visit.stage, visit.backward, slice.lane).advance_to(shared_.steps + visit.micro_batch + 1);
}

// For slices that do not read from each other: a worker runs them one after the other, each through
// the whole section, so that the values of a slice are read before the next slice overwrites them.
bool Executor::run_lanes(Worker& worker, const StageVisit& visit, int section) {
  const std::vector<compiler::Segment>& segments =
      bound_.program().sections()[static_cast<size_t>(section)].segments;
  const bool feeds = visit.stage == 0 && !visit.backward;
  bool whole = true;
  for_own_lanes(worker, visit.stage, [&](int lane) {
    whole = whole && wait_for_data(worker, visit, lane);
    if (!whole) return;
    const int64_t begin = worker.trace.now();
    const SliceVisit slice = slice_visit(worker, visit, section, lane);
    begin_lane(slice, feeds);
    for (const compiler::Segment& segment : segments) bound_.run_segment(segment, slice);
    end_lane(worker, slice, visit);
    worker.trace.add_phase(visit, begin);
  });
  if (feeds) feeder_.copied(worker.replica);
  return whole;
}

// For slices that read from each other: all run one segment before any runs the next.
bool Executor::run_together(Worker& worker, const StageVisit& visit, int section) {
  const compiler::Program& program = bound_.program();
  const bool feeds = visit.stage == 0 && !visit.backward;
  // Without this wait, a worker could overwrite values of the previous section that others still
  // read.
  if (!meet(worker, *worker.group)) return false;
  bool whole = true;
  for_own_lanes(worker, visit.stage,
                [&](int lane) { whole = whole && wait_for_data(worker, visit, lane); });
  if (!whole) return false;
  const int64_t begin = worker.trace.now();
  for_own_lanes(worker, visit.stage,
                [&](int lane) { begin_lane(slice_visit(worker, visit, section, lane), feeds); });
  if (feeds) feeder_.copied(worker.replica);
  // With parts, all workers read the samples of slice 0.
  bool wait = program.in_parts();
  for (const compiler::Segment& segment :
       program.sections()[static_cast<size_t>(section)].segments) {
    const bool gathers = bound_.gathers(segment);
    if ((wait || gathers) && !meet(worker, *worker.group)) return false;
    wait = true;
    if (gathers && !gather(worker, segment, visit.micro_batch)) return false;
    for_own_lanes(worker, visit.stage, [&](int lane) {
      bound_.run_segment(segment, slice_visit(worker, visit, section, lane));
    });
  }
  if (program.in_parts() && !meet(worker, *worker.group)) return false;
  for_own_lanes(worker, visit.stage, [&](int lane) {
    end_lane(worker, slice_visit(worker, visit, section, lane), visit);
  });
  worker.trace.add_phase(visit, begin);
  return true;
}

// Worker 0 fetches the statistics of other instances.
bool Executor::gather(Worker& worker, const compiler::Segment& segment, int micro_batch) {
  if (worker.number == 0) {
    worker.trace.begin_wait();
    bound_.gather(segment, micro_batch);
    worker.trace.end_wait(profile::EventKind::exchange_wait);
  }
  return meet(worker, *worker.group);
}

// A stage waits for the data of the stage before it. Without a backward pass (evaluation) it also
// waits until the last stage is done with the micro-batch whose memory it reuses.
bool Executor::wait_for_data(Worker& worker, const StageVisit& visit, int lane) {
  if (stages_ == 1) return true;
  const bool training = bound_.program().section(0, true) >= 0;
  const int before = visit.backward ? visit.stage + 1 : visit.stage - 1;
  const int32_t wanted = shared_.steps + visit.micro_batch + 1;
  const int first = worker.replica * bound_.slices();
  const auto wait = [&](int stage, bool backward, int32_t target) {
    const int from = bound_.program().in_parts() ? first : lane;
    const int end = bound_.program().in_parts() ? first + bound_.slices() : lane + 1;
    for (int other = from; other < end; ++other) {
      Progress& progress = done(stage, backward, other);
      if (progress.value() >= target && !failed_) continue;
      worker.trace.begin_wait();
      if (!progress.wait_for(target, team_.spins(), failed_)) return false;
      worker.trace.end_wait(profile::EventKind::data_wait);
    }
    return true;
  };
  if (before >= 0 && before < stages_ && !wait(before, visit.backward, wanted)) return false;
  if (training || visit.stage == stages_ - 1) return true;
  const int held = bound_.held(visit.stage);
  if (visit.micro_batch < held) return true;
  return wait(stages_ - 1, false, wanted - held);
}

// Brings a micro-batch to the workers of the replica's first device.
bool Executor::fetch(Worker& worker, int micro_batch) {
  const FeedTurn turn{.replica = worker.replica,
                      .micro_batch = micro_batch,
                      .update = &plan(worker),
                      .steps_before = shared_.steps,
                      .fed_before = shared_.fed};
  if (worker.number != team_.first_worker(worker.device)) return feeder_.await(turn, worker.trace);
  return feeder_.publish(turn, team_.workers_of(worker.device), worker.trace);
}

bool Executor::meet(Worker& worker, Barrier& barrier) {
  worker.trace.begin_wait();
  const bool whole = barrier.arrive_and_wait();
  worker.trace.end_wait(profile::EventKind::barrier_wait);
  return whole;
}

}  // namespace pando::runtime
