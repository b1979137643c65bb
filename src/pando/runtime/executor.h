// Runs executions: many steps of a program on all devices without a return to the host in between.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pando/optim/loss_scaling.h"
#include "pando/runtime/feeder.h"
#include "pando/runtime/infeed.h"
#include "pando/runtime/machine/progress.h"
#include "pando/runtime/outfeed.h"
#include "pando/runtime/program/bound_program.h"
#include "pando/runtime/program/gradient_counter.h"
#include "pando/runtime/update/exchange.h"
#include "pando/runtime/update/moving_statistics.h"
#include "pando/runtime/update/updater.h"
#include "pando/runtime/update_plan.h"
#include "pando/runtime/worker_trace.h"

namespace pando::runtime {

struct Execution {
  std::span<const UpdatePlan> updates;
  int64_t micro_batch_size = 0;  // samples of a full element; 0: as many as the slices hold
  uint64_t seed = 0;
  LearningRate learning_rate = 0.0;  // asked for every weight update, by one of the workers
  int64_t iteration = 0;             // weight updates before this execution
  // Scales the loss, and follows the gradients of every weight update; may be null.
  LossScaler* scaling = nullptr;
  // Where the real rows of each result go, one micro-batch after the other; may be empty.
  std::vector<std::byte*> results;
  // Asked between weight updates, by one of the workers; may be empty.
  std::function<bool()> stop;
  bool keep_last_step = false;      // keep the values of the last step, see step_values()
  bool keep_steps = false;          // keep the values of every step, see step_values()
  profile::Trace* trace = nullptr;  // records what the workers do; may be null
};

// Sums over all instances, added in slice and replica order, so they do not depend on which worker
// ran what.
struct ExecutionTotals {
  int64_t updates = 0;   // done
  int64_t elements = 0;  // micro-batches of these updates
  Totals all;
  std::vector<Totals> replicas;
  // false: a loss was not finite; with weight updates, the execution stopped before that update.
  bool finite = true;
  ExchangeFigures exchange;
};

// Makes weight updates if it gets an optimizer, whose rule and regularisation it keeps. In a job
// all instances run the same executions, and the infeed of each holds the micro-batches of that
// instance. Requires: program, variables and team outlive it; one run() at a time. An exception of
// the infeed or of a worker stops all devices and reaches the caller of run(); weights are then as
// after the last whole update, unless it is a floating-point exception of an update.
class Executor {
 public:
  Executor(const compiler::Program& program, VariableStore& variables, WorkerTeam& team,
           const Optimizer* optimizer = nullptr, Placement placement = {});

  ExecutionTotals run(const Execution& execution, InfeedQueue& infeed);

  // Weight updates of the last execution, also when it failed.
  int64_t updates_done() const { return shared_.update; }
  // Steps of every replica whose values are complete in the current execution; 0 between
  // executions. May be called by any thread at any time.
  int64_t steps_done() const;
  // The totals of one replica in a step below steps_done(), or in any step of the last execution;
  // needs Execution::keep_steps.
  Totals step_values(int64_t step, int replica) const {
    return outfeed_.step_values(step, replica);
  }

  BoundProgram& bound() { return bound_; }
  const BoundProgram& bound() const { return bound_; }
  // The numbers per sample of each metric of the program.
  const std::vector<size_t>& metric_widths() const { return outfeed_.metric_widths(); }

 private:
  // Worker 0 writes this before a barrier; all workers read it after the barrier.
  struct Shared {
    bool end = false;
    int64_t update = 0;
    int64_t elements = 0;  // before this update
    int64_t fed = 0;       // elements that this instance took from its infeed
    UpdateFlags flags;     // of all instances, after the last update
    int32_t steps = 0;     // per replica, before this update
    UpdateStep step;       // of this update
    float loss_scaling = 1;
    GradientCounter* counter = nullptr;  // null: nothing is counted in this update
    std::vector<float> lane_weights;
    // The real samples of each element of this update; empty: as the plan says.
    std::vector<int64_t> element_samples;
    int64_t samples = 0;  // real ones of this update, of all instances
  };
  // The inputs that the results of the prologue depend on.
  struct Prologue {
    uint64_t variables = 0;  // their version
    uint64_t seed = 0;
    int64_t iteration = 0;
    bool operator==(const Prologue&) const = default;
  };
  // The state of a worker during an execution.
  struct Worker {
    int number = 0;
    int device = 0;
    int replica = 0;  // of its device
    const Execution* execution = nullptr;
    Barrier* group = nullptr;  // the workers that gather statistics together
    WorkerTrace trace;
  };

  void reset(const Execution& execution, InfeedQueue& infeed);
  void plan_orders(const Execution& execution);
  Worker worker_for(int number, const Execution& execution);
  ExecutionTotals collect();
  void work(Worker worker);
  void fail(std::exception_ptr error);
  bool begin_update(const Worker& worker);
  void begin_scaling(const Execution& execution);
  void count_samples(const UpdatePlan& now);
  int64_t samples_of(const UpdatePlan& now, int64_t element) const;
  int64_t samples_before(const UpdatePlan& now, int micro_batch, int replica) const;
  void weigh_lanes(const UpdatePlan& now);
  bool run_prologue(Worker& worker, int64_t update);
  bool run_visits(Worker& worker);
  bool run_visit(Worker& worker, const StageVisit& visit);
  bool run_lanes(Worker& worker, const StageVisit& visit, int section);
  bool run_together(Worker& worker, const StageVisit& visit, int section);
  bool gather(Worker& worker, const compiler::Segment& segment, int micro_batch);
  bool wait_for_data(Worker& worker, const StageVisit& visit, int lane);
  bool fetch(Worker& worker, int micro_batch);
  bool finish_update(Worker& worker);
  bool agree(Worker& worker);
  bool update_weights(Worker& worker);
  GradientCounts own_counts() const;
  void share_totals(ExecutionTotals& totals) const;
  SliceVisit slice_visit(const Worker& worker, const StageVisit& visit, int section, int lane);
  template <typename Function>
  void for_own_lanes(const Worker& worker, int stage, Function function) const;
  void begin_lane(const SliceVisit& slice, bool feeds);
  void end_lane(const Worker& worker, const SliceVisit& slice, const StageVisit& visit);
  bool meet(Worker& worker, Barrier& barrier);
  const UpdatePlan& plan(const Worker& worker) const;
  Progress& done(int stage, bool backward, int lane);
  // Whether slices read from each other within a section.
  bool waits_together() const { return !bound_.program().depth_first(); }

  BoundProgram bound_;
  VariableStore& variables_;
  WorkerTeam& team_;
  std::optional<Prologue> prologue_;  // whose results are there
  bool skips_prologue_ = false;       // of the current execution
  std::optional<Updater> updater_;
  std::optional<MovingStatistics> statistics_;
  std::optional<GradientCounter> counter_;
  std::optional<Exchange> exchange_;  // with other instances and an optimizer
  std::vector<double> moments_;       // without exchange_: the block of all lanes
  int stages_ = 1;
  int devices_per_replica_ = 1;
  std::map<int, std::vector<std::vector<StageVisit>>> orders_;  // [steps][device of a replica]
  Barrier everybody_;
  std::vector<std::unique_ptr<Barrier>> groups_;
  std::vector<Progress> progress_;  // [stage][direction][lane]
  Shared shared_;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> running_{false};
  UpdateDivision division_;
  Feeder feeder_;
  Outfeed outfeed_;
  TraceNames trace_names_;
};

}  // namespace pando::runtime
