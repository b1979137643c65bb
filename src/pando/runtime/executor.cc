// SPDX-License-Identifier: MIT
#include "pando/runtime/executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pando/base/error.h"

namespace pando::runtime {

void Totals::add(const Totals& more) {
  samples += more.samples;
  loss += more.loss;
  metrics.resize(more.metrics.size());
  for (size_t i = 0; i < metrics.size(); ++i) metrics[i] += more.metrics[i];
}

Executor::Executor(const compiler::Program& program, VariableStore& variables, WorkerTeam& team,
                   const UpdateRule* rule, Placement placement)
    : instance_(program, variables, team, std::move(placement)),
      team_(team),
      stages_(program.pipelined() ? program.stages() : 1),
      devices_per_replica_(instance_.placement().devices_per_replica(program.stages())),
      everybody_(team.size(), team.spins()),
      progress_(static_cast<size_t>(2 * stages_ * instance_.lanes())),
      ports_(static_cast<size_t>(instance_.placement().replicas)),
      micro_batches_(static_cast<size_t>(instance_.placement().replicas)),
      totals_(static_cast<size_t>(instance_.lanes())) {
  if (rule != nullptr) updater_.emplace(instance_, variables, *rule, team.size());
  for (const ir::Output& output : program.graph().outputs()) {
    const compiler::Operand operand = program.operand(output.value);
    if (output.role == ir::OutputRole::loss) losses_.push_back(operand);
    if (output.role == ir::OutputRole::result) results_.push_back(operand);
    if (output.role != ir::OutputRole::metric) continue;
    metric_names_.push_back(output.name);
    metrics_.push_back(operand);
  }
  if (!results_.empty()) {
    result_row_bytes_ = results_[0].value->bytes() / static_cast<size_t>(instance_.slice_batch());
  }
  // A group is one device, or those of the replicas that take statistics together.
  const int size = instance_.placement().statistics_group;
  for (int first = 0; first < team.devices(); first += size) {
    int workers = 0;
    for (int device = first; device < std::min(first + size, team.devices()); ++device) {
      workers += team.workers_of(device);
    }
    groups_.push_back(std::make_unique<Barrier>(workers, team.spins()));
  }
}

Progress& Executor::done(int stage, bool backward, int lane) {
  const int row = 2 * stage + (backward ? 1 : 0);
  return progress_[static_cast<size_t>(row * instance_.lanes() + lane)];
}

const UpdatePlan& Executor::plan(const Worker& worker) const {
  return worker.execution->updates[static_cast<size_t>(shared_.update)];
}

int Executor::steps_of(const UpdatePlan& plan) const {
  const int64_t replicas = instance_.placement().replicas;
  return static_cast<int>((plan.elements + replicas - 1) / replicas);
}

int64_t Executor::valid_of(const UpdatePlan& plan, int64_t element) const {
  return std::clamp<int64_t>(plan.samples - element * micro_batch_, 0, micro_batch_);
}

const std::vector<StageVisit>& Executor::order(int steps, int local) const {
  return orders_.at(steps)[static_cast<size_t>(local)];
}

// Whether slices read from each other within a section.
bool Executor::waits_together() const { return !instance_.program().depth_first(); }

void Executor::reset(const Execution& execution) {
  const compiler::Program& program = instance_.program();
  micro_batch_ = execution.micro_batch_size;
  if (micro_batch_ == 0) {
    micro_batch_ = instance_.slice_batch() * (program.in_parts() ? 1 : program.slices());
  }
  int64_t steps = 0;
  for (const UpdatePlan& plan : execution.updates) {
    const int count = steps_of(plan);
    steps += count;
    PANDO_CHECK(!updater_ || count <= instance_.placement().micro_batches, "an update of ", count,
                " steps, planned for ", instance_.placement().micro_batches);
    if (orders_.contains(count)) continue;
    const PipelineShape shape{.schedule = instance_.placement().schedule,
                              .stages = stages_,
                              .micro_batches = count,
                              .training = program.pipelined() && program.section(0, true) >= 0,
                              .device_of_stage = instance_.placement().device_of_stage};
    for (int local = 0; local < devices_per_replica_; ++local) {
      orders_[count].push_back(device_order(shape, local));
    }
  }
  for (LaneTotals& lane : totals_) {
    lane.sums.samples = 0;
    lane.sums.loss = 0;
    lane.sums.metrics.assign(metrics_.size(), 0);
    lane.not_finite = false;
  }
  for (Progress& progress : progress_) progress.reset();
  for (FeedPort& port : ports_) {
    port.batch = nullptr;
    port.number = -1;
    port.published.reset();
    port.copied.reset();
  }
  const size_t most = orders_.empty() ? 1 : static_cast<size_t>(orders_.rbegin()->first);
  for (std::vector<MicroBatch>& of_replica : micro_batches_) of_replica.resize(most);
  everybody_.reset();
  for (const auto& group : groups_) group->reset();
  const size_t kept = execution.keep_steps ? static_cast<size_t>(steps) : 0;
  steps_.assign(kept * totals_.size() * (2 + metrics_.size()), 0);
  shared_ = {};
  error_ = nullptr;
  failed_ = false;
}

void Executor::trace_names(const Execution& execution) {
  instance_.name_calls(*execution.trace);
  for (size_t kind = 0; kind < wait_name_.size(); ++kind) {
    wait_name_[kind] =
        execution.trace->name_id(profile::to_string(static_cast<profile::EventKind>(kind)));
  }
  stage_names_.clear();
  for (int stage = 0; stage < stages_; ++stage) {
    for (const char* pass : {"forward", "backward"}) {
      const bool whole = !instance_.program().pipelined();
      stage_names_.push_back(execution.trace->name_id(whole ? "step" : concat(pass, " ", stage)));
    }
  }
}

ExecutionTotals Executor::run(const Execution& execution, InfeedQueue& infeed) {
  reset(execution);
  infeed.reopen();
  first_element_ = infeed.position();
  const std::vector<profile::TraceTrack*>* tracks = nullptr;
  if (execution.trace != nullptr) {
    tracks = &team_.tracks(*execution.trace);
    trace_names(execution);
  }
  running_ = true;
  team_.run([&](int number) {
    const int device = team_.device_of(number);
    const int group = device / instance_.placement().statistics_group;
    Worker worker{.number = number,
                  .device = device,
                  .replica = device / devices_per_replica_,
                  .execution = &execution,
                  .infeed = &infeed,
                  .group = groups_[static_cast<size_t>(group)].get()};
    if (tracks != nullptr) {
      worker.track = (*tracks)[static_cast<size_t>(number)];
      worker.trace_ops = execution.trace->options().ops;
    }
    try {
      work(worker);
    } catch (...) {
      fail(std::current_exception());
      infeed.close();
    }
  });
  running_ = false;
  for (FeedPort& port : ports_) {
    if (port.number >= 0) infeed.give_back(port.number);
  }
  if (error_ != nullptr) std::rethrow_exception(error_);
  ExecutionTotals result{.updates = shared_.update, .elements = shared_.elements};
  result.replicas.resize(ports_.size());
  result.all.metrics.resize(metrics_.size());
  for (int lane = 0; lane < instance_.lanes(); ++lane) {
    const LaneTotals& totals = totals_[static_cast<size_t>(lane)];
    result.replicas[static_cast<size_t>(instance_.replica_of(lane))].add(totals.sums);
    result.all.add(totals.sums);
    result.finite = result.finite && !totals.not_finite;
  }
  return result;
}

// The first cause is kept; everybody is woken and goes home.
void Executor::fail(std::exception_ptr error) {
  {
    const std::lock_guard lock(error_mutex_);
    if (error_ == nullptr) error_ = std::move(error);
  }
  failed_ = true;
  everybody_.break_up();
  for (const auto& group : groups_) group->break_up();
  for (Progress& progress : progress_) progress.wake();
  for (FeedPort& port : ports_) {
    port.published.wake();
    port.copied.wake();
  }
}

// Worker 0 decides whether there is another update.
bool Executor::begin_update(const Worker& worker) {
  const Execution& execution = *worker.execution;
  const bool stop = execution.stop && execution.stop();
  shared_.end = stop || shared_.update >= static_cast<int64_t>(execution.updates.size());
  if (shared_.end) return false;
  instance_.begin_update();
  if (instance_.placement().reduction != GradientReduction::running_mean) return true;
  // Replicas with fewer real samples count for less.
  const UpdatePlan& now = plan(worker);
  shared_.lane_weights.assign(totals_.size(), 0);
  for (int lane = 0; lane < instance_.lanes(); ++lane) {
    int64_t samples = 0;
    for (int64_t element = instance_.replica_of(lane); element < now.elements;
         element += instance_.placement().replicas) {
      samples += valid_of(now, element);
    }
    shared_.lane_weights[static_cast<size_t>(lane)] =
        static_cast<float>(samples) / static_cast<float>(std::max<int64_t>(now.samples, 1));
  }
  return true;
}

void Executor::work(Worker worker) {
  for (bool first = true;; first = false) {
    if (worker.number == 0) begin_update(worker);
    // Variables change between updates only when there is a rule for it.
    if (first || updater_) {
      const int64_t begin = worker.track == nullptr ? 0 : worker.track->now();
      instance_.run_prologue(worker.number);
      trace_event(worker, profile::EventKind::prologue, begin);
    }
    if (!meet(worker, everybody_)) return;
    if (shared_.end) return;
    if (!run_visits(worker) || !finish_update(worker)) return;
  }
}

bool Executor::run_visits(Worker& worker) {
  if (worker.replica >= instance_.placement().replicas) return true;  // a device without work
  const int local = worker.device % devices_per_replica_;
  for (const StageVisit& visit : order(steps_of(plan(worker)), local)) {
    if (!run_visit(worker, visit)) return false;
  }
  return true;
}

bool Executor::finish_update(Worker& worker) {
  if (!meet(worker, everybody_)) return false;
  // Every worker sees the same flags, so either all update or none.
  const bool not_finite = std::any_of(totals_.begin(), totals_.end(),
                                      [](const LaneTotals& lane) { return lane.not_finite; });
  if (updater_ && not_finite) return false;
  const int64_t begin = worker.track == nullptr ? 0 : worker.track->now();
  if (updater_) {
    const UpdateStep step{worker.execution->learning_rate,
                          worker.execution->iteration + shared_.update};
    if (!updater_->update(worker.number, step, shared_.lane_weights, everybody_)) return false;
    trace_event(worker, profile::EventKind::update, begin);
  }
  if (!meet(worker, everybody_)) return false;
  if (worker.number == 0) {
    shared_.elements += plan(worker).elements;
    shared_.steps += steps_of(plan(worker));
    ++shared_.update;
  }
  return true;
}

bool Executor::run_visit(Worker& worker, const StageVisit& visit) {
  const int section = instance_.program().section(visit.stage, visit.backward);
  if (visit.stage == 0 && !visit.backward && !fetch(worker, visit.micro_batch)) return false;
  return waits_together() ? run_together(worker, visit, section)
                          : run_lanes(worker, visit, section);
}

SliceVisit Executor::slice_visit(const Worker& worker, const StageVisit& visit, int section,
                                 int lane) {
  const UpdatePlan& now = plan(worker);
  const int replicas = instance_.placement().replicas;
  const int group = instance_.placement().statistics_group;
  const MicroBatch& data =
      micro_batches_[static_cast<size_t>(worker.replica)][static_cast<size_t>(visit.micro_batch)];
  const int slice = lane % instance_.slices();
  int64_t together = 0;
  int64_t before = 0;
  for (int i = 0; i < group; ++i) {
    const int replica = worker.replica / group * group + i;
    together += valid_of(now, int64_t{visit.micro_batch} * replicas + replica);
  }
  const bool mean = instance_.placement().reduction == GradientReduction::mean;
  const int64_t normaliser = mean ? now.samples : data.valid;
  SliceVisit result{.section = section,
                    .lane = lane,
                    .micro_batch = visit.micro_batch,
                    .last = visit.micro_batch + 1 == steps_of(now),
                    .track = worker.trace_ops ? worker.track : nullptr};
  result.step = {.valid = instance_.program().in_parts() ? data.valid
                                                         : instance_.slice_valid(slice, data.valid),
                 .batch_valid = together,
                 .loss_scale = 1.0f / static_cast<float>(std::max<int64_t>(normaliser, 1)),
                 .seed = worker.execution->seed,
                 .first_sample = data.first_sample + instance_.slice_first(slice)};
  if (instance_.placement().reduction == GradientReduction::running_mean) {
    for (int m = 0; m < visit.micro_batch; ++m) {
      before += valid_of(now, int64_t{m} * replicas + worker.replica);
    }
    const auto all = static_cast<float>(std::max<int64_t>(before + data.valid, 1));
    result.mix = {static_cast<float>(before) / all, static_cast<float>(data.valid) / all};
  }
  return result;
}

// Slices that never wait for each other: one after the other, each through the whole section, so
// that what it leaves behind is read before the worker's next slice overwrites it.
bool Executor::run_lanes(Worker& worker, const StageVisit& visit, int section) {
  const std::vector<compiler::Segment>& segments =
      instance_.program().sections()[static_cast<size_t>(section)].segments;
  const int first = worker.replica * instance_.slices();
  for (int lane = first; lane < first + instance_.slices(); ++lane) {
    if (instance_.worker_of(lane, visit.stage) != worker.number) continue;
    if (!wait_for_data(worker, visit, lane)) return false;
    const int64_t begin = worker.track == nullptr ? 0 : worker.track->now();
    const SliceVisit slice = slice_visit(worker, visit, section, lane);
    instance_.prepare(slice);
    if (visit.stage == 0 && !visit.backward) {
      instance_.feed(lane, visit.micro_batch, ports_[static_cast<size_t>(worker.replica)].batch,
                     micro_batches_[static_cast<size_t>(worker.replica)]
                                   [static_cast<size_t>(visit.micro_batch)]
                                       .valid);
    }
    for (const compiler::Segment& segment : segments) instance_.run_segment(segment, slice);
    if (!visit.backward) instance_.accumulate_moments(slice);
    if (visit.stage == stages_ - 1 && !visit.backward) end_forward(worker, lane, visit.micro_batch);
    trace_event(worker, profile::EventKind::phase, begin, visit);
    done(visit.stage, visit.backward, lane).advance_to(shared_.steps + visit.micro_batch + 1);
  }
  if (visit.stage == 0 && !visit.backward) {
    ports_[static_cast<size_t>(worker.replica)].copied.add(1);
  }
  return true;
}

// Slices that read from each other: all of them through one segment, then the next.
bool Executor::run_together(Worker& worker, const StageVisit& visit, int section) {
  const compiler::Program& program = instance_.program();
  const int first = worker.replica * instance_.slices();
  const auto for_own_lanes = [&](auto&& function) {
    for (int lane = first; lane < first + instance_.slices(); ++lane) {
      if (instance_.worker_of(lane, visit.stage) == worker.number) function(lane);
    }
  };
  const bool feeds = visit.stage == 0 && !visit.backward;
  // Nobody overwrites what others may still read of the section before.
  if (!meet(worker, *worker.group)) return false;
  bool go_on = true;
  for_own_lanes([&](int lane) { go_on = go_on && wait_for_data(worker, visit, lane); });
  if (!go_on) return false;
  int64_t begin = worker.track == nullptr ? 0 : worker.track->now();
  for_own_lanes([&](int lane) {
    instance_.prepare(slice_visit(worker, visit, section, lane));
    if (!feeds) return;
    instance_.feed(
        lane, visit.micro_batch, ports_[static_cast<size_t>(worker.replica)].batch,
        micro_batches_[static_cast<size_t>(worker.replica)][static_cast<size_t>(visit.micro_batch)]
            .valid);
  });
  if (feeds) ports_[static_cast<size_t>(worker.replica)].copied.add(1);
  // With parts, every worker reads what slice 0 was fed.
  bool wait = program.in_parts();
  for (const compiler::Segment& segment :
       program.sections()[static_cast<size_t>(section)].segments) {
    if (wait && !meet(worker, *worker.group)) return false;
    wait = true;
    for_own_lanes([&](int lane) {
      instance_.run_segment(segment, slice_visit(worker, visit, section, lane));
    });
  }
  if (program.in_parts() && !meet(worker, *worker.group)) return false;
  for_own_lanes([&](int lane) {
    if (!visit.backward) {
      instance_.accumulate_moments(slice_visit(worker, visit, section, lane));
    }
    if (visit.stage == stages_ - 1 && !visit.backward) end_forward(worker, lane, visit.micro_batch);
    done(visit.stage, visit.backward, lane).advance_to(shared_.steps + visit.micro_batch + 1);
  });
  trace_event(worker, profile::EventKind::phase, begin, visit);
  return true;
}

// A stage waits for the one before it, and where nothing follows backward (evaluation), for the
// last one to be done with the micro-batch whose memory it takes.
bool Executor::wait_for_data(Worker& worker, const StageVisit& visit, int lane) {
  if (stages_ == 1) return true;
  const bool training = instance_.program().section(0, true) >= 0;
  const int before = visit.backward ? visit.stage + 1 : visit.stage - 1;
  const int32_t wanted = shared_.steps + visit.micro_batch + 1;
  const int first = worker.replica * instance_.slices();
  const auto wait = [&](int stage, bool backward, int32_t target) {
    const int from = instance_.program().in_parts() ? first : lane;
    const int end = instance_.program().in_parts() ? first + instance_.slices() : lane + 1;
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
  const int held = instance_.held(visit.stage);
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

bool Executor::publish(Worker& worker, int micro_batch) {
  FeedPort& port = ports_[static_cast<size_t>(worker.replica)];
  const int32_t number = shared_.steps + micro_batch;
  begin_wait(worker);
  const int32_t copies = number * team_.workers_of(worker.device);
  if (!port.copied.wait_for(copies, team_.spins(), failed_)) return false;
  if (port.number >= 0) worker.infeed->give_back(port.number);
  port.number = -1;
  port.batch = nullptr;
  const int64_t element = int64_t{micro_batch} * instance_.placement().replicas + worker.replica;
  MicroBatch& data =
      micro_batches_[static_cast<size_t>(worker.replica)][static_cast<size_t>(micro_batch)];
  data = {};
  if (element < plan(worker).elements) {
    const int64_t at = first_element_ + shared_.elements + element;
    port.batch = worker.infeed->take(at);
    if (port.batch == nullptr) return false;
    port.number = at;
    data = {port.batch->valid, port.batch->first_sample};
    PANDO_CHECK(data.valid == valid_of(plan(worker), element), "element ", at, " has ", data.valid,
                " samples, planned were ", valid_of(plan(worker), element));
  }
  end_wait(worker, profile::EventKind::feed_wait);
  port.published.advance_to(number + 1);
  return true;
}

// Adds a lane's losses and metrics to its totals and hands out its results.
void Executor::end_forward(const Worker& worker, int lane, int micro_batch) {
  const int slice = lane % instance_.slices();
  const int64_t valid =
      micro_batches_[static_cast<size_t>(worker.replica)][static_cast<size_t>(micro_batch)].valid;
  const int64_t real = instance_.slice_valid(slice, valid);
  const auto sum_of = [&](const compiler::Operand& operand) {
    const auto* values =
        reinterpret_cast<const float*>(instance_.address(operand, lane, micro_batch));
    double sum = 0;
    for (int64_t i = 0; i < real; ++i) sum += static_cast<double>(values[i]);
    return sum;
  };
  LaneTotals& totals = totals_[static_cast<size_t>(lane)];
  const size_t width = 2 + metrics_.size();
  const int32_t step = shared_.steps + micro_batch;
  double* kept =
      steps_.empty()
          ? nullptr
          : &steps_[(static_cast<size_t>(step) * totals_.size() + static_cast<size_t>(lane)) *
                    width];
  totals.sums.samples += real;
  if (kept != nullptr) kept[0] = static_cast<double>(real);
  if (!losses_.empty()) {
    const double loss = sum_of(losses_[0]);
    totals.sums.loss += loss;
    if (!std::isfinite(loss)) totals.not_finite = true;
    if (kept != nullptr) kept[1] = loss;
  }
  for (size_t i = 0; i < metrics_.size(); ++i) {
    const double metric = sum_of(metrics_[i]);
    totals.sums.metrics[i] += metric;
    if (kept != nullptr) kept[2 + i] = metric;
  }
  if (worker.execution->results == nullptr || results_.empty() || real == 0) return;
  const int64_t element =
      shared_.elements + int64_t{micro_batch} * instance_.placement().replicas + worker.replica;
  const auto row = static_cast<size_t>(element * micro_batch_ + instance_.slice_first(slice));
  std::memcpy(worker.execution->results + row * result_row_bytes_,
              instance_.address(results_[0], lane, micro_batch),
              static_cast<size_t>(real) * result_row_bytes_);
}

int64_t Executor::steps_done() const {
  if (!running_ || failed_) return 0;
  const auto lanes = static_cast<size_t>(instance_.lanes());
  const size_t row = static_cast<size_t>(2 * (stages_ - 1)) * lanes;
  int32_t least = progress_[row].value();
  for (size_t lane = 1; lane < lanes; ++lane) {
    least = std::min(least, progress_[row + lane].value());
  }
  return failed_ ? 0 : least;
}

Totals Executor::step_values(int64_t step, int replica) const {
  const size_t width = 2 + metrics_.size();
  Totals totals;
  totals.metrics.resize(metrics_.size());
  for (int slice = 0; slice < instance_.slices(); ++slice) {
    const size_t lane = static_cast<size_t>(replica * instance_.slices() + slice);
    const double* kept = &steps_[(static_cast<size_t>(step) * totals_.size() + lane) * width];
    totals.samples += static_cast<int64_t>(kept[0]);
    totals.loss += kept[1];
    for (size_t i = 0; i < metrics_.size(); ++i) totals.metrics[i] += kept[2 + i];
  }
  return totals;
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
  worker.wait.name = wait_name_[static_cast<size_t>(kind)];
  worker.track->add(worker.wait);
}

void Executor::trace_event(const Worker& worker, profile::EventKind kind, int64_t begin,
                           const StageVisit& visit) const {
  if (worker.track == nullptr) return;
  profile::TraceEvent event{.begin = begin,
                            .end = worker.track->now(),
                            .name = wait_name_[static_cast<size_t>(kind)],
                            .replica = worker.replica,
                            .kind = kind};
  if (kind == profile::EventKind::phase) {
    event.name = stage_names_[static_cast<size_t>(2 * visit.stage + (visit.backward ? 1 : 0))];
    event.micro_batch = visit.micro_batch;
    event.stage = static_cast<int16_t>(visit.stage);
    event.backward = visit.backward;
  }
  worker.track->add(event);
}

}  // namespace pando::runtime
