// SPDX-License-Identifier: MIT
#include "pando/runtime/executor.h"

#include <algorithm>
#include <cstring>

#include "pando/base/error.h"
#include "pando/comm/collectives.h"

namespace pando::runtime {

void Totals::add(const Totals& more) {
  samples += more.samples;
  loss += more.loss;
  metrics.resize(more.metrics.size());
  for (size_t i = 0; i < metrics.size(); ++i) metrics[i] += more.metrics[i];
}

Executor::Executor(const compiler::Program& program, VariableStore& variables, WorkerTeam& team,
                   const Optimizer* optimizer, Placement placement)
    : bound_(program, variables, team, std::move(placement)),
      team_(team),
      stages_(program.pipelined() ? program.stages() : 1),
      devices_per_replica_(bound_.placement().devices_per_replica(program.stages())),
      everybody_(team.size(), team.spins()),
      progress_(static_cast<size_t>(2 * stages_ * bound_.lanes())),
      ports_(static_cast<size_t>(bound_.placement().replicas)),
      micro_batches_(static_cast<size_t>(bound_.placement().replicas)),
      totals_(static_cast<size_t>(bound_.lanes())) {
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
  for (const ir::Output& output : program.graph().outputs()) {
    const compiler::Operand operand = program.operand(output.value);
    if (output.role == ir::OutputRole::loss) losses_.push_back(operand);
    if (output.role == ir::OutputRole::result) results_.push_back(operand);
    if (output.role != ir::OutputRole::metric) continue;
    metric_names_.push_back(output.name);
    metrics_.push_back(operand);
  }
  if (!results_.empty()) {
    result_row_bytes_ = results_[0].value->bytes() / static_cast<size_t>(bound_.slice_batch());
  }
  // A group is one device, or those of the replicas that take statistics together.
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
  return progress_[static_cast<size_t>(row) * totals_.size() + static_cast<size_t>(lane)];
}

const UpdatePlan& Executor::plan(const Worker& worker) const {
  return worker.execution->updates[static_cast<size_t>(shared_.update)];
}

int Executor::steps_of(const UpdatePlan& plan) const {
  const int64_t replicas = bound_.placement().total_replicas();
  return static_cast<int>((plan.elements + replicas - 1) / replicas);
}

// The number within its update of what a replica of this instance takes in a step.
int64_t Executor::element_of(int step, int replica) const {
  const Placement& placement = bound_.placement();
  return int64_t{step} * placement.total_replicas() + placement.first_replica() + replica;
}

int64_t Executor::own_elements(const UpdatePlan& plan) const {
  const Placement& placement = bound_.placement();
  const int64_t whole = plan.elements / placement.total_replicas();
  const int64_t rest = plan.elements % placement.total_replicas() - placement.first_replica();
  return whole * placement.replicas + std::clamp<int64_t>(rest, 0, placement.replicas);
}

int64_t Executor::valid_of(const UpdatePlan& plan, int64_t element) const {
  return std::clamp<int64_t>(plan.samples - element * micro_batch_, 0, micro_batch_);
}

const std::vector<StageVisit>& Executor::order(int steps, int local) const {
  return orders_.at(steps)[static_cast<size_t>(local)];
}

// Whether slices read from each other within a section.
bool Executor::waits_together() const { return !bound_.program().depth_first(); }

// The order of visits for every number of steps that an update of the execution has.
void Executor::plan_orders(const Execution& execution) {
  const compiler::Program& program = bound_.program();
  if (!updater_) orders_.clear();  // evaluations of any length would pile up
  for (const UpdatePlan& plan : execution.updates) {
    const int steps = steps_of(plan);
    PANDO_CHECK(!updater_ || steps <= bound_.placement().micro_batches, "an update of ", steps,
                " steps, planned for ", bound_.placement().micro_batches);
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
  const size_t most = orders_.empty() ? 1 : static_cast<size_t>(orders_.rbegin()->first);
  for (std::vector<MicroBatch>& of_replica : micro_batches_) of_replica.resize(most);
}

void Executor::reset(const Execution& execution) {
  micro_batch_ = execution.micro_batch_size;
  if (micro_batch_ == 0) {
    const bool parts = bound_.program().in_parts();
    micro_batch_ = bound_.slice_batch() * (parts ? 1 : bound_.slices());
  }
  plan_orders(execution);
  for (LaneTotals& lane : totals_) {
    lane = {};
    lane.sums.metrics.assign(metrics_.size(), 0);
  }
  for (Progress& progress : progress_) progress.reset();
  for (FeedPort& port : ports_) {
    port.batch = nullptr;
    port.number = -1;
    port.published.reset();
    port.copied.reset();
  }
  everybody_.reset();
  for (const auto& group : groups_) group->reset();
  kept_ = execution.keep_last_step ? 1 : 0;
  for (const UpdatePlan& plan : execution.updates) {
    if (execution.keep_steps) kept_ += static_cast<size_t>(steps_of(plan));
  }
  steps_.assign(kept_ * totals_.size() * (2 + metrics_.size()), 0);
  shared_ = {};
  error_ = nullptr;
  failed_ = false;
}

void Executor::trace_names(const Execution& execution) {
  bound_.name_calls(*execution.trace);
  for (size_t kind = 0; kind < event_names_.size(); ++kind) {
    event_names_[kind] =
        execution.trace->name_id(profile::to_string(static_cast<profile::EventKind>(kind)));
  }
  stage_names_.clear();
  for (int stage = 0; stage < stages_; ++stage) {
    for (const char* pass : {"forward", "backward"}) {
      const bool whole = !bound_.program().pipelined();
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
  if (exchange_) exchange_->record(execution.trace);
  running_ = true;
  team_.run([&](int number) {
    const int device = team_.device_of(number);
    const int group = device / bound_.placement().statistics_group;
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
  ExecutionTotals totals = collect();
  if (exchange_) {
    totals.exchange = exchange_->take_figures();
    totals.exchange.add(bound_.take_gather_figures());
  }
  return totals;
}

ExecutionTotals Executor::collect() const {
  ExecutionTotals result{.updates = shared_.update, .elements = shared_.elements};
  result.replicas.resize(ports_.size());
  for (int lane = 0; lane < bound_.lanes(); ++lane) {
    const LaneTotals& totals = totals_[static_cast<size_t>(lane)];
    result.replicas[static_cast<size_t>(bound_.replica_of(lane))].add(totals.sums);
    result.finite = result.finite && !totals.not_finite;
  }
  if (bound_.placement().instances() > 1) share_totals(result);
  result.all.metrics.resize(metrics_.size());
  for (const Totals& replica : result.replicas) result.all.add(replica);
  return result;
}

// Puts those of the other instances beside them.
void Executor::share_totals(ExecutionTotals& totals) const {
  std::vector<double> own = {totals.finite ? 1.0 : 0.0};
  for (const Totals& replica : totals.replicas) {
    own.insert(own.end(), {static_cast<double>(replica.samples), replica.loss});
    own.insert(own.end(), replica.metrics.begin(), replica.metrics.end());
  }
  const std::string_view bytes(reinterpret_cast<const char*>(own.data()),
                               own.size() * sizeof(double));
  const size_t replicas = totals.replicas.size();
  const size_t numbers = 2 + metrics_.size();
  totals.replicas.clear();
  for (const std::string& text : comm::all_gather(*bound_.placement().communicator, bytes)) {
    PANDO_CHECK(text.size() == bytes.size(), "another instance gives ", text.size(), " bytes");
    std::memcpy(own.data(), text.data(), text.size());
    totals.finite = totals.finite && own[0] != 0;
    for (size_t i = 0; i < replicas; ++i) {
      const double* from = &own[1 + i * numbers];
      totals.replicas.push_back({.samples = static_cast<int64_t>(from[0]),
                                 .loss = from[1],
                                 .metrics = std::vector<double>(from + 2, from + numbers)});
    }
  }
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

void Executor::work(Worker worker) {
  for (int64_t update = 0;; ++update) {
    if (worker.number == 0) begin_update(worker);
    // Variables change between updates only when there is a rule for it.
    if (update == 0 || updater_) {
      const int64_t begin = worker.track == nullptr ? 0 : worker.track->now();
      bound_.run_prologue(worker.number, {.seed = worker.execution->seed,
                                          .first_sample = worker.execution->iteration + update});
      trace_event(worker, profile::EventKind::prologue, begin);
    }
    if (!meet(worker, everybody_)) return;
    if (shared_.end) return;
    if (!run_visits(worker) || !finish_update(worker)) return;
  }
}

bool Executor::run_visits(Worker& worker) {
  if (worker.replica >= bound_.placement().replicas) return true;  // a device without work
  const int local = worker.device % devices_per_replica_;
  for (const StageVisit& visit : order(steps_of(plan(worker)), local)) {
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

// Where the values of a lane in a step are kept.
size_t Executor::kept_at(int64_t step, int lane) const {
  const size_t row = static_cast<size_t>(step) % kept_ * totals_.size() + static_cast<size_t>(lane);
  return row * (2 + metrics_.size());
}

Totals Executor::step_values(int64_t step, int replica) const {
  Totals totals;
  totals.metrics.resize(metrics_.size());
  for (int slice = 0; slice < bound_.slices(); ++slice) {
    const int lane = replica * bound_.slices() + slice;
    const double* kept = &steps_[kept_at(step, lane)];
    totals.samples += static_cast<int64_t>(kept[0]);
    totals.loss += kept[1];
    for (size_t i = 0; i < metrics_.size(); ++i) totals.metrics[i] += kept[2 + i];
  }
  return totals;
}

}  // namespace pando::runtime
