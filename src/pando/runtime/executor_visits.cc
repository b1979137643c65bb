// What a worker does at one visit: wait for data, feed, run, hand over.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstring>

#include "pando/base/error.h"
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
  const MicroBatch& data =
      micro_batches_[static_cast<size_t>(worker.replica)][static_cast<size_t>(visit.micro_batch)];
  const int slice = lane % bound_.slices();
  int64_t together = 0;
  const int64_t own = element_of(visit.micro_batch, worker.replica);
  const int64_t first = own - (bound_.placement().first_replica() + worker.replica) % group;
  for (int i = 0; i < group; ++i) together += valid_of(now, first + i);
  const bool mean = bound_.placement().reduction == GradientReduction::mean;
  const int64_t normaliser = mean ? now.samples : data.valid;
  SliceVisit result{.section = section,
                    .lane = lane,
                    .micro_batch = visit.micro_batch,
                    .update = updater_ ? worker.execution->iteration + shared_.update : -1,
                    .last = visit.micro_batch + 1 == steps_of(now),
                    .track = worker.trace_ops ? worker.track : nullptr};
  result.step = {
      .valid = bound_.program().in_parts() ? data.valid : bound_.slice_valid(slice, data.valid),
      .batch_valid = together,
      .loss_scale = shared_.loss_scaling / static_cast<float>(std::max<int64_t>(normaliser, 1)),
      .seed = worker.execution->seed,
      .first_sample = data.first_sample + bound_.slice_first(slice)};
  // Slices of padding alone have no gradients.
  if (result.step.valid > 0) result.counter = shared_.counter;
  if (bound_.placement().reduction == GradientReduction::running_mean) {
    // All micro-batches before one with real samples are full.
    const int64_t before = visit.micro_batch * micro_batch_;
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

Executor::MicroBatch& Executor::micro_batch(const Worker& worker, int number) {
  return micro_batches_[static_cast<size_t>(worker.replica)][static_cast<size_t>(number)];
}

void Executor::begin_lane(const Worker& worker, const SliceVisit& slice, bool feeds) {
  bound_.prepare(slice);
  if (!feeds) return;
  bound_.feed(slice.lane, slice.micro_batch, ports_[static_cast<size_t>(worker.replica)].batch,
              micro_batch(worker, slice.micro_batch).valid);
}

void Executor::end_lane(const Worker& worker, const SliceVisit& slice, const StageVisit& visit) {
  if (!visit.backward) bound_.accumulate_moments(slice);
  if (visit.stage == stages_ - 1 && !visit.backward) {
    end_forward(worker, slice.lane, visit.micro_batch);
  }
  done(visit.stage, visit.backward, slice.lane).advance_to(shared_.steps + visit.micro_batch + 1);
}

// Slices that never wait for each other: one after the other, each through the whole section, so
// that what it leaves behind is read before the worker's next slice overwrites it.
bool Executor::run_lanes(Worker& worker, const StageVisit& visit, int section) {
  const std::vector<compiler::Segment>& segments =
      bound_.program().sections()[static_cast<size_t>(section)].segments;
  const bool feeds = visit.stage == 0 && !visit.backward;
  bool whole = true;
  for_own_lanes(worker, visit.stage, [&](int lane) {
    whole = whole && wait_for_data(worker, visit, lane);
    if (!whole) return;
    const int64_t begin = worker.track == nullptr ? 0 : worker.track->now();
    const SliceVisit slice = slice_visit(worker, visit, section, lane);
    begin_lane(worker, slice, feeds);
    for (const compiler::Segment& segment : segments) bound_.run_segment(segment, slice);
    end_lane(worker, slice, visit);
    trace_event(worker, profile::EventKind::phase, begin, visit);
  });
  if (feeds) ports_[static_cast<size_t>(worker.replica)].copied.add(1);
  return whole;
}

// Slices that read from each other: all of them through one segment, then the next.
bool Executor::run_together(Worker& worker, const StageVisit& visit, int section) {
  const compiler::Program& program = bound_.program();
  const bool feeds = visit.stage == 0 && !visit.backward;
  // Nobody overwrites what others may still read of the section before.
  if (!meet(worker, *worker.group)) return false;
  bool whole = true;
  for_own_lanes(worker, visit.stage,
                [&](int lane) { whole = whole && wait_for_data(worker, visit, lane); });
  if (!whole) return false;
  const int64_t begin = worker.track == nullptr ? 0 : worker.track->now();
  for_own_lanes(worker, visit.stage, [&](int lane) {
    begin_lane(worker, slice_visit(worker, visit, section, lane), feeds);
  });
  if (feeds) ports_[static_cast<size_t>(worker.replica)].copied.add(1);
  // With parts, every worker reads what slice 0 was fed.
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
  trace_event(worker, profile::EventKind::phase, begin, visit);
  return true;
}

// One worker brings the statistics of other instances.
bool Executor::gather(Worker& worker, const compiler::Segment& segment, int micro_batch) {
  if (worker.number == 0) {
    begin_wait(worker);
    bound_.gather(segment, micro_batch);
    end_wait(worker, profile::EventKind::exchange_wait);
  }
  return meet(worker, *worker.group);
}

// A stage waits for the one before it, and where nothing follows backward (evaluation), for the
// last one to be done with the micro-batch whose memory it takes.
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
      begin_wait(worker);
      if (!progress.wait_for(target, team_.spins(), failed_)) return false;
      end_wait(worker, profile::EventKind::data_wait);
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
  if (worker.number == team_.first_worker(worker.device)) return publish(worker, micro_batch);
  FeedPort& port = ports_[static_cast<size_t>(worker.replica)];
  const int32_t wanted = shared_.steps + micro_batch + 1;
  if (port.published.value() >= wanted && !failed_) return true;
  begin_wait(worker);
  const bool there = port.published.wait_for(wanted, team_.spins(), failed_);
  end_wait(worker, profile::EventKind::feed_wait);
  return there;
}

bool Executor::publish(Worker& worker, int number_in_update) {
  FeedPort& port = ports_[static_cast<size_t>(worker.replica)];
  const int32_t number = shared_.steps + number_in_update;
  begin_wait(worker);
  const int32_t copies = number * team_.workers_of(worker.device);
  if (!port.copied.wait_for(copies, team_.spins(), failed_)) return false;
  end_wait(worker, profile::EventKind::barrier_wait);
  begin_wait(worker);
  if (port.number >= 0) worker.infeed->give_back(port.number);
  port.number = -1;
  port.batch = nullptr;
  const int64_t element = element_of(number_in_update, worker.replica);
  MicroBatch& data = micro_batch(worker, number_in_update);
  data = {};
  if (element < plan(worker).elements) {
    const int64_t at = first_element_ + shared_.fed +
                       int64_t{number_in_update} * bound_.placement().replicas + worker.replica;
    port.batch = worker.infeed->take(at);
    if (port.batch == nullptr) return false;
    port.number = at;
    data = {port.batch->valid, port.batch->first_sample};
    PANDO_CHECK(data.valid == valid_of(plan(worker), element), "element ", at, " has ", data.valid,
                " samples, planned were ", valid_of(plan(worker), element));
    if (profile::Trace* trace = worker.execution->trace) trace->count_samples(data.valid);
  }
  end_wait(worker, profile::EventKind::feed_wait);
  port.published.advance_to(number + 1);
  return true;
}

// Adds a lane's losses and metrics to its totals and hands out its results.
void Executor::end_forward(const Worker& worker, int lane, int number) {
  const int64_t real =
      bound_.slice_valid(lane % bound_.slices(), micro_batch(worker, number).valid);
  const auto sum_of = [&](const compiler::Operand& operand) {
    const auto* values = reinterpret_cast<const float*>(bound_.address(operand, lane, number));
    double sum = 0;
    for (int64_t i = 0; i < real; ++i) sum += static_cast<double>(values[i]);
    return sum;
  };
  Totals& sums = totals_[static_cast<size_t>(lane)].sums;
  double* kept = steps_.empty() ? nullptr : &steps_[kept_at(shared_.steps + number, lane)];
  sums.samples += real;
  if (kept != nullptr) kept[0] = static_cast<double>(real);
  if (!losses_.empty()) {
    const double loss = sum_of(losses_[0]);
    sums.loss += loss;
    if (!std::isfinite(loss)) totals_[static_cast<size_t>(lane)].not_finite = true;
    if (kept != nullptr) kept[1] = loss;
  }
  for (size_t i = 0; i < metrics_.size(); ++i) {
    const double metric = sum_of(metrics_[i]);
    sums.metrics[i] += metric;
    if (kept != nullptr) kept[2 + i] = metric;
  }
  if (worker.execution->results != nullptr && real > 0) hand_out(worker, lane, number, real);
}

void Executor::hand_out(const Worker& worker, int lane, int number, int64_t rows) {
  if (results_.empty()) return;
  const int64_t element = shared_.elements + element_of(number, worker.replica);
  const auto row =
      static_cast<size_t>(element * micro_batch_ + bound_.slice_first(lane % bound_.slices()));
  std::memcpy(worker.execution->results + row * result_row_bytes_,
              bound_.address(results_[0], lane, number),
              static_cast<size_t>(rows) * result_row_bytes_);
}

bool Executor::meet(Worker& worker, Barrier& barrier) {
  begin_wait(worker);
  const bool whole = barrier.arrive_and_wait();
  end_wait(worker, profile::EventKind::barrier_wait);
  return whole;
}

void Executor::begin_wait(Worker& worker) const {
  if (worker.track != nullptr) worker.wait.begin = worker.track->now();
}

void Executor::end_wait(Worker& worker, profile::EventKind kind) const {
  if (worker.track == nullptr) return;
  constexpr int64_t kWorthTelling = 1000;  // nanoseconds
  const int64_t end = worker.track->now();
  if (end - worker.wait.begin < kWorthTelling) return;
  worker.wait.end = end;
  worker.wait.kind = kind;
  worker.wait.replica = worker.replica;
  worker.wait.name = event_names_[static_cast<size_t>(kind)];
  worker.track->add(worker.wait);
}

void Executor::trace_event(const Worker& worker, profile::EventKind kind, int64_t begin,
                           const StageVisit& visit) const {
  if (worker.track == nullptr) return;
  profile::TraceEvent event{.begin = begin,
                            .end = worker.track->now(),
                            .name = event_names_[static_cast<size_t>(kind)],
                            .replica = worker.replica,
                            .kind = kind};
  if (kind == profile::EventKind::phase) {
    event.name = stage_names_[2 * static_cast<size_t>(visit.stage) + (visit.backward ? 1 : 0)];
    event.micro_batch = visit.micro_batch;
    event.stage = static_cast<int16_t>(bound_.program().pipelined() ? visit.stage : -1);
    event.backward = visit.backward;
  }
  worker.track->add(event);
}

}  // namespace pando::runtime
