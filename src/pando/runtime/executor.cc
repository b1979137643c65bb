// SPDX-License-Identifier: MIT
#include "pando/runtime/executor.h"

#include <algorithm>
#include <cstring>

#include "pando/base/error.h"
#include "pando/comm/collectives.h"

namespace pando::runtime {

Executor::Executor(const compiler::Program& program, VariableStore& variables, WorkerTeam& team,
                   const Optimizer* optimizer, Placement placement)
    : bound_(program, variables, team, std::move(placement)),
      variables_(variables),
      team_(team),
      stages_(program.pipelined() ? program.stages() : 1),
      devices_per_replica_(bound_.placement().devices_per_replica(program.stages())),
      everybody_(team.size(), team.spins()),
      progress_(static_cast<size_t>(2 * stages_ * bound_.lanes())),
      feeder_(bound_, team.spins(), failed_),
      outfeed_(bound_) {
  if (optimizer != nullptr) {
    statistics_.emplace(bound_, variables);
    counter_.emplace(bound_);
    if (bound_.placement().instances() > 1) {
      exchange_.emplace(bound_, statistics_->block_size());
    } else {
      moments_.resize(statistics_->block_size());
    }
    updater_.emplace(bound_, variables, *optimizer, team.size(), exchange_ ? &*exchange_ : nullptr);
  }
  // A group is one device, or the devices of the replicas that compute statistics together.
  const int size = bound_.placement().statistics_group;
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
  return progress_[static_cast<size_t>(row * bound_.lanes() + lane)];
}

const UpdatePlan& Executor::plan(const Worker& worker) const {
  return worker.execution->updates[static_cast<size_t>(shared_.update)];
}

// The order of visits for every number of steps that an update of the execution has.
void Executor::plan_orders(const Execution& execution) {
  const compiler::Program& program = bound_.program();
  if (!updater_) orders_.clear();  // otherwise orders of many lengths would accumulate
  for (const UpdatePlan& plan : execution.updates) {
    const int steps = division_.steps_of(plan);
    PANDO_CHECK(!updater_ || steps <= bound_.placement().micro_batches, "expected at most ",
                bound_.placement().micro_batches, " steps in an update, got ", steps);
    if (orders_.contains(steps)) continue;
    const PipelineShape shape{.schedule = bound_.placement().schedule,
                              .stages = stages_,
                              .micro_batches = steps,
                              .training = program.pipelined() && program.section(0, true) >= 0,
                              .device_of_stage = bound_.placement().device_of_stage};
    for (int local = 0; local < devices_per_replica_; ++local) {
      orders_[steps].push_back(device_order(shape, local));
    }
  }
}

void Executor::reset(const Execution& execution, InfeedQueue& infeed) {
  int64_t micro_batch = execution.micro_batch_size;
  if (micro_batch == 0) {
    const bool parts = bound_.program().in_parts();
    micro_batch = bound_.slice_batch() * (parts ? 1 : bound_.slices());
  }
  division_ = UpdateDivision(bound_.placement(), micro_batch);
  plan_orders(execution);
  for (Progress& progress : progress_) progress.reset();
  everybody_.reset();
  for (const auto& group : groups_) group->reset();
  size_t kept = execution.keep_last_step ? 1 : 0;
  for (const UpdatePlan& plan : execution.updates) {
    if (execution.keep_steps) kept += static_cast<size_t>(division_.steps_of(plan));
  }
  outfeed_.begin(kept, execution.results);
  const size_t most_steps = orders_.empty() ? 1 : static_cast<size_t>(orders_.rbegin()->first);
  feeder_.begin(infeed, division_, most_steps, execution.trace);
  shared_ = {};
  error_ = nullptr;
  failed_ = false;
  if (execution.trace != nullptr) {
    team_.tracks(*execution.trace);  // made before workers ask for them
    bound_.name_calls(*execution.trace);
    trace_names_ = TraceNames(*execution.trace, bound_.program());
  }
  if (exchange_) exchange_->record(execution.trace);
}

Executor::Worker Executor::worker_for(int number, const Execution& execution) {
  const int device = team_.device_of(number);
  const int group = device / bound_.placement().statistics_group;
  Worker worker{.number = number,
                .device = device,
                .replica = device / devices_per_replica_,
                .execution = &execution,
                .group = groups_[static_cast<size_t>(group)].get()};
  if (profile::Trace* trace = execution.trace) {
    worker.trace = WorkerTrace(*team_.tracks(*trace)[static_cast<size_t>(number)], trace_names_,
                               worker.replica, trace->options().ops);
  }
  return worker;
}

// Weights are folded and packed once for all executions between two changes of the variables.
ExecutionTotals Executor::run(const Execution& execution, InfeedQueue& infeed) {
  reset(execution, infeed);
  const Prologue now{variables_.version(), execution.seed, execution.iteration};
  skips_prologue_ = !updater_ && prologue_ == now;
  prologue_.reset();
  running_ = true;
  team_.run([&](int number) {
    try {
      work(worker_for(number, execution));
    } catch (...) {
      fail(std::current_exception());
      infeed.close();
    }
  });
  running_ = false;
  feeder_.end();
  if (updater_) variables_.changed();
  if (error_ != nullptr) std::rethrow_exception(error_);
  if (!updater_) prologue_ = now;
  return collect();
}

ExecutionTotals Executor::collect() {
  ExecutionTotals result{.updates = shared_.update,
                         .elements = shared_.elements,
                         .replicas = outfeed_.replica_totals(),
                         .finite = !outfeed_.not_finite()};
  if (bound_.placement().instances() > 1) share_totals(result);
  result.all.metrics.resize(outfeed_.metric_sums());
  for (const Totals& replica : result.replicas) result.all.add(replica);
  if (exchange_) {
    result.exchange = exchange_->take_figures();
    result.exchange.add(bound_.take_gather_figures());
  }
  return result;
}

// Replaces the totals of this instance's replicas by those of all instances.
void Executor::share_totals(ExecutionTotals& totals) const {
  std::vector<double> own = {totals.finite ? 1.0 : 0.0};
  for (const Totals& replica : totals.replicas) {
    const std::vector<double> numbers = replica.numbers();
    own.insert(own.end(), numbers.begin(), numbers.end());
  }
  const std::string_view bytes(reinterpret_cast<const char*>(own.data()),
                               own.size() * sizeof(double));
  const size_t replicas = totals.replicas.size();
  const size_t numbers = Totals::count_of_numbers(outfeed_.metric_sums());
  totals.replicas.clear();
  for (const std::string& text : comm::all_gather(*bound_.placement().communicator, bytes)) {
    PANDO_CHECK(text.size() == bytes.size(), "expected ", bytes.size(),
                " bytes from another instance, got ", text.size());
    std::memcpy(own.data(), text.data(), text.size());
    totals.finite = totals.finite && own[0] != 0;
    for (size_t i = 0; i < replicas; ++i) {
      totals.replicas.push_back(Totals::of({&own[1 + i * numbers], numbers}));
    }
  }
}

// Keeps the first exception and wakes all workers.
void Executor::fail(std::exception_ptr error) {
  {
    const std::lock_guard lock(error_mutex_);
    if (error_ == nullptr) error_ = std::move(error);
  }
  failed_ = true;
  everybody_.break_up();
  for (const auto& group : groups_) group->break_up();
  for (Progress& progress : progress_) progress.wake();
  feeder_.wake();
}

void Executor::work(Worker worker) {
  for (int64_t update = 0;; ++update) {
    if (worker.number == 0) begin_update(worker);
    // Variables change between updates only if there is an optimizer.
    if ((update == 0 && !skips_prologue_) || updater_) {
      const int64_t begin = worker.trace.now();
      if (!run_prologue(worker, update)) return;
      worker.trace.add(profile::EventKind::prologue, begin);
    }
    if (!meet(worker, everybody_)) return;
    if (shared_.end) return;
    if (!run_visits(worker) || !finish_update(worker)) return;
  }
}

bool Executor::run_prologue(Worker& worker, int64_t update) {
  const kernels::StepArgs step{.seed = worker.execution->seed,
                               .first_sample = worker.execution->iteration + update};
  const std::vector<compiler::Segment>& segments = bound_.program().prologue();
  for (size_t i = 0; i < segments.size(); ++i) {
    if (i > 0 && !meet(worker, everybody_)) return false;
    bound_.run_prologue(segments[i], worker.number, step);
  }
  return true;
}

bool Executor::run_visits(Worker& worker) {
  if (worker.replica >= bound_.placement().replicas) return true;  // a device without work
  const int local = worker.device % devices_per_replica_;
  const int steps = division_.steps_of(plan(worker));
  for (const StageVisit& visit : orders_.at(steps)[static_cast<size_t>(local)]) {
    if (!run_visit(worker, visit)) return false;
  }
  return true;
}

int64_t Executor::steps_done() const {
  if (!running_ || failed_) return 0;
  const auto lanes = static_cast<size_t>(bound_.lanes());
  const size_t row = static_cast<size_t>(2 * (stages_ - 1)) * lanes;
  int32_t least = progress_[row].value();
  for (size_t lane = 1; lane < lanes; ++lane) {
    least = std::min(least, progress_[row + lane].value());
  }
  return failed_ ? 0 : least;
}

}  // namespace pando::runtime
