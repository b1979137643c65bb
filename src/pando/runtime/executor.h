// Runs executions: many steps of a program without a return to the host in between.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pando/runtime/instance.h"
#include "pando/runtime/updater.h"

namespace pando::runtime {

// One micro-batch as the host hands it over: one array per feed of the program, in its order.
struct StepFeed {
  const std::byte* const* fields = nullptr;
  int64_t valid = 0;         // real samples, at the front
  int64_t first_sample = 0;  // running number of the first sample over the whole run
};

// The next micro-batch, valid until the next call, or false at the end of the data. Called by one
// worker; an exception ends the execution and reaches the caller of run().
using Infeed = std::function<bool(StepFeed&)>;

struct Execution {
  int64_t steps = 1;  // at most; the end of the data ends it earlier
  uint64_t seed = 0;
  // Weight updates; without a rule the program only runs forward.
  double learning_rate = 0;
  int64_t iteration = 0;  // weight updates before this execution
  // Where the real rows of the first result go, one micro-batch after the other; may be null.
  std::byte* results = nullptr;
};

// Sums over the real samples of all steps, in slice order: they do not depend on who ran what.
struct ExecutionTotals {
  int64_t steps = 0;
  int64_t samples = 0;
  double loss = 0;
  std::vector<double> metrics;  // in the order of the program's metric outputs
  // false: a loss was not a number; with weight updates, the execution stopped there.
  bool finite = true;
};

// Requires: program, variables and team outlive it; one run() at a time.
class Executor {
 public:
  Executor(const compiler::Program& program, VariableStore& variables, WorkerTeam& team,
           const UpdateRule* rule = nullptr);

  ExecutionTotals run(const Execution& execution, const Infeed& infeed);
  const Instance& instance() const { return instance_; }
  const std::vector<std::string>& metric_names() const { return metric_names_; }

 private:
  struct alignas(64) SliceTotals {
    double loss = 0;
    std::vector<double> metrics;
  };
  // What worker 0 decides and all others read after a barrier.
  struct Shared {
    StepFeed feed;
    bool end = false;
    bool not_finite = false;
    std::exception_ptr error;
    int64_t steps = 0;
    int64_t samples = 0;
  };

  void fetch(const Infeed& infeed, int64_t step, int64_t steps);
  void work(int worker, const Execution& execution, const Infeed& infeed);
  void run_step(int worker, const Execution& execution, const StepFeed& feed);
  void begin_slice(int slice, const Execution& execution, const StepFeed& feed);
  void end_slice(int slice, const Execution& execution, const StepFeed& feed);

  Instance instance_;
  WorkerTeam& team_;
  std::optional<Updater> updater_;
  std::vector<const float*> losses_;                // [slice]
  std::vector<std::vector<const float*>> metrics_;  // [metric][slice]
  std::vector<const std::byte*> results_;           // [slice]
  size_t result_row_bytes_ = 0;
  std::vector<std::string> metric_names_;
  std::vector<SliceTotals> totals_;
  Shared shared_;
  std::vector<char> worker_not_finite_;
};

}  // namespace pando::runtime
