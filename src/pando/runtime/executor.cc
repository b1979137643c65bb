// SPDX-License-Identifier: MIT
#include "pando/runtime/executor.h"

#include <cmath>
#include <cstring>

#include "pando/base/error.h"

namespace pando::runtime {

Executor::Executor(const compiler::Program& program, VariableStore& variables, WorkerTeam& team,
                   const UpdateRule* rule)
    : instance_(program, variables, team),
      team_(team),
      totals_(static_cast<size_t>(program.slices())),
      worker_not_finite_(static_cast<size_t>(team.size()) * 64) {
  if (rule != nullptr) updater_.emplace(instance_, variables, *rule);
  for (const ir::Output& output : program.graph().outputs()) {
    if (output.role == ir::OutputRole::metric) {
      metric_names_.push_back(output.name);
      metrics_.emplace_back();
    }
    for (int slice = 0; slice < program.slices(); ++slice) {
      const std::byte* at = instance_.address(output.value, slice);
      const auto* numbers = reinterpret_cast<const float*>(at);
      if (output.role == ir::OutputRole::loss) losses_.push_back(numbers);
      if (output.role == ir::OutputRole::metric) metrics_.back().push_back(numbers);
      if (output.role == ir::OutputRole::result) results_.push_back(at);
    }
    if (output.role == ir::OutputRole::result) {
      result_row_bytes_ = output.value->bytes() / static_cast<size_t>(instance_.slice_batch());
    }
  }
  for (SliceTotals& totals : totals_) totals.metrics.resize(metrics_.size());
}

ExecutionTotals Executor::run(const Execution& execution, const Infeed& infeed) {
  for (SliceTotals& totals : totals_) {
    totals.loss = 0;
    std::fill(totals.metrics.begin(), totals.metrics.end(), 0.0);
  }
  shared_ = {};
  std::fill(worker_not_finite_.begin(), worker_not_finite_.end(), char{0});
  team_.run([&](int worker) { work(worker, execution, infeed); });
  if (shared_.error != nullptr) std::rethrow_exception(shared_.error);
  ExecutionTotals result{
      .steps = shared_.steps, .samples = shared_.samples, .finite = !shared_.not_finite};
  result.metrics.resize(metrics_.size());
  for (const SliceTotals& totals : totals_) {
    result.loss += totals.loss;
    for (size_t i = 0; i < totals.metrics.size(); ++i) result.metrics[i] += totals.metrics[i];
  }
  return result;
}

// Worker 0 asks for the next micro-batch while the others wait at the barrier that follows.
void Executor::fetch(const Infeed& infeed, int64_t step, int64_t steps) {
  shared_.end = true;
  if (step >= steps || (updater_ && shared_.not_finite)) return;
  try {
    shared_.end = !infeed(shared_.feed);
  } catch (...) {
    shared_.error = std::current_exception();
  }
}

void Executor::work(int worker, const Execution& execution, const Infeed& infeed) {
  Barrier& barrier = team_.barrier();
  for (int64_t step = 0;; ++step) {
    if (worker == 0) fetch(infeed, step, execution.steps);
    // Variables change between steps only when there are updates.
    if (step == 0 || updater_) instance_.run_prologue(worker);
    barrier.arrive_and_wait();
    if (shared_.end) return;
    const StepFeed feed = shared_.feed;
    instance_.begin_step(worker, feed.valid,
                         {.loss_scale = 1.0f / static_cast<float>(std::max<int64_t>(feed.valid, 1)),
                          .seed = execution.seed,
                          .first_sample = feed.first_sample});
    instance_.feed(worker, feed.fields, feed.valid);
    if (instance_.program().in_parts()) barrier.arrive_and_wait();
    instance_.run_segments(worker);
    if (instance_.program().in_parts()) barrier.arrive_and_wait();
    add_totals(worker, feed.valid);
    if (execution.results != nullptr) {
      copy_results(worker, execution.results, shared_.samples, feed.valid);
    }
    barrier.arrive_and_wait();
    if (worker == 0) {
      ++shared_.steps;
      shared_.samples += feed.valid;
      for (const char bad : worker_not_finite_) shared_.not_finite = shared_.not_finite || bad != 0;
    }
    if (updater_) {
      // Every worker sees the same flags, so either all update or none.
      bool not_finite = false;
      for (const char bad : worker_not_finite_) not_finite = not_finite || bad != 0;
      if (!not_finite) {
        updater_->update(worker, {execution.learning_rate, execution.iteration + step});
      }
    }
    barrier.arrive_and_wait();
  }
}

void Executor::add_totals(int worker, int64_t valid) {
  for (int slice = worker; slice < instance_.slices(); slice += instance_.workers()) {
    const auto index = static_cast<size_t>(slice);
    SliceTotals& totals = totals_[index];
    const int64_t real = instance_.slice_valid(slice, valid);
    if (!losses_.empty()) {
      double loss = 0;
      for (int64_t i = 0; i < real; ++i) loss += static_cast<double>(losses_[index][i]);
      totals.loss += loss;
      if (!std::isfinite(loss)) worker_not_finite_[static_cast<size_t>(worker) * 64] = 1;
    }
    for (size_t metric = 0; metric < metrics_.size(); ++metric) {
      double sum = 0;
      for (int64_t i = 0; i < real; ++i) sum += static_cast<double>(metrics_[metric][index][i]);
      totals.metrics[metric] += sum;
    }
  }
}

void Executor::copy_results(int worker, std::byte* results, int64_t first_row,
                            int64_t valid) const {
  if (results_.empty()) return;
  for (int slice = worker; slice < instance_.slices(); slice += instance_.workers()) {
    const auto real = static_cast<size_t>(instance_.slice_valid(slice, valid));
    const auto row = static_cast<size_t>(first_row + instance_.slice_first(slice));
    std::memcpy(results + row * result_row_bytes_, results_[static_cast<size_t>(slice)],
                real * result_row_bytes_);
  }
}

}  // namespace pando::runtime
