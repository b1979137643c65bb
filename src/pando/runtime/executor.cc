// SPDX-License-Identifier: MIT
#include "pando/runtime/executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace pando::runtime {

namespace {

constexpr size_t kCacheLine = 64;  // apart, so that workers do not disturb each other

}  // namespace

Executor::Executor(const compiler::Program& program, VariableStore& variables, WorkerTeam& team,
                   const UpdateRule* rule)
    : instance_(program, variables, team),
      team_(team),
      totals_(static_cast<size_t>(program.slices())),
      worker_not_finite_(static_cast<size_t>(team.size()) * kCacheLine) {
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
    if (output.role == ir::OutputRole::result && result_row_bytes_ == 0) {
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
    run_step(worker, execution, feed);
    barrier.arrive_and_wait();
    // Every worker sees the same flags, so either all update or none.
    const bool not_finite = std::any_of(worker_not_finite_.begin(), worker_not_finite_.end(),
                                        [](char bad) { return bad != 0; });
    if (updater_ && !not_finite) {
      updater_->update(worker, {execution.learning_rate, execution.iteration + step});
    }
    if (worker == 0) {
      ++shared_.steps;
      shared_.samples += feed.valid;
      shared_.not_finite = not_finite;
    }
    barrier.arrive_and_wait();
  }
}

void Executor::run_step(int worker, const Execution& execution, const StepFeed& feed) {
  const compiler::Program& program = instance_.program();
  const auto for_own_slices = [&](auto&& function) {
    for (int slice = worker; slice < instance_.slices(); slice += instance_.workers())
      function(slice);
  };
  // What a slice leaves behind is read before the worker's next slice overwrites it.
  if (program.depth_first()) {
    for_own_slices([&](int slice) {
      begin_slice(slice, execution, feed);
      instance_.run_segment(program.segments()[0], slice);
      end_slice(slice, execution, feed);
    });
    return;
  }
  for_own_slices([&](int slice) { begin_slice(slice, execution, feed); });
  // With parts, every worker reads what slice 0 was fed.
  bool wait = program.in_parts();
  for (const compiler::Segment& segment : program.segments()) {
    if (wait) team_.barrier().arrive_and_wait();
    wait = true;
    for_own_slices([&](int slice) { instance_.run_segment(segment, slice); });
  }
  if (program.in_parts()) team_.barrier().arrive_and_wait();
  for_own_slices([&](int slice) { end_slice(slice, execution, feed); });
}

void Executor::begin_slice(int slice, const Execution& execution, const StepFeed& feed) {
  instance_.begin_step(slice, feed.valid,
                       {.loss_scale = 1.0f / static_cast<float>(std::max<int64_t>(feed.valid, 1)),
                        .seed = execution.seed,
                        .first_sample = feed.first_sample});
  instance_.feed(slice, feed.fields, feed.valid);
}

// Adds the slice's losses and metrics to its totals and hands out its results.
void Executor::end_slice(int slice, const Execution& execution, const StepFeed& feed) {
  const auto index = static_cast<size_t>(slice);
  const int64_t real = instance_.slice_valid(slice, feed.valid);
  const auto sum_of = [&](const float* values) {
    double sum = 0;
    for (int64_t i = 0; i < real; ++i) sum += static_cast<double>(values[i]);
    return sum;
  };
  SliceTotals& totals = totals_[index];
  if (!losses_.empty()) {
    const double loss = sum_of(losses_[index]);
    totals.loss += loss;
    if (!std::isfinite(loss)) {
      worker_not_finite_[static_cast<size_t>(slice % instance_.workers()) * kCacheLine] = 1;
    }
  }
  for (size_t metric = 0; metric < metrics_.size(); ++metric) {
    totals.metrics[metric] += sum_of(metrics_[metric][index]);
  }
  if (execution.results == nullptr || results_.empty()) return;
  const auto row = static_cast<size_t>(shared_.samples + instance_.slice_first(slice));
  std::memcpy(execution.results + row * result_row_bytes_, results_[index],
              static_cast<size_t>(real) * result_row_bytes_);
}

}  // namespace pando::runtime
