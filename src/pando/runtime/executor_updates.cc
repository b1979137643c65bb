// What workers do around a weight update: plan it, agree on it with the other instances, make it.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/runtime/executor.h"

namespace pando::runtime {

// Worker 0 decides whether there is another update, and its learning rate. Instances agree on the
// end of an execution after each update.
bool Executor::begin_update(const Worker& worker) {
  const Execution& execution = *worker.execution;
  const bool stop = exchange_ ? shared_.flags.stop : execution.stop && execution.stop();
  shared_.end = stop || shared_.update >= static_cast<int64_t>(execution.updates.size());
  if (shared_.end) return false;
  bound_.begin_update();
  if (updater_) {
    const int64_t iteration = execution.iteration + shared_.update;
    shared_.step = {.learning_rate = execution.learning_rate.at(iteration),
                    .iteration = iteration,
                    .seed = execution.seed};
    begin_scaling(execution);
  }
  weigh_lanes(plan(worker));
  if (exchange_) exchange_->begin_update(shared_.lane_weights);
  return true;
}

// Sets the factor of this update, and whether its gradients are counted.
void Executor::begin_scaling(const Execution& execution) {
  const LossScaler* scaling = execution.scaling;
  if (scaling == nullptr) return;
  shared_.loss_scaling = scaling->factor();
  shared_.step.unscale = 1 / scaling->factor();
  shared_.counter = nullptr;
  if (!scaling->counts()) return;
  counter_->begin_update(scaling->edge());
  shared_.counter = &*counter_;
}

GradientCounts Executor::own_counts() const {
  return shared_.counter == nullptr ? GradientCounts{} : shared_.counter->total();
}

// In a running mean over replicas, a replica with fewer real samples has a smaller weight.
void Executor::weigh_lanes(const UpdatePlan& now) {
  if (bound_.placement().reduction != GradientReduction::running_mean) return;
  shared_.lane_weights.assign(static_cast<size_t>(bound_.lanes()), 0);
  for (int lane = 0; lane < bound_.lanes(); ++lane) {
    int64_t samples = 0;
    for (int step = 0; step < division_.steps_of(now); ++step) {
      samples += division_.valid_of(now, division_.element_of(step, bound_.replica_of(lane)));
    }
    shared_.lane_weights[static_cast<size_t>(lane)] =
        static_cast<float>(samples) / static_cast<float>(std::max<int64_t>(now.samples, 1));
  }
}

bool Executor::finish_update(Worker& worker) {
  if (!meet(worker, everybody_)) return false;
  if (updater_) {
    if (!agree(worker)) return false;
    const int64_t begin = worker.trace.now();
    if (!update_weights(worker)) return false;
    worker.trace.add(profile::EventKind::update, begin);
  }
  if (!meet(worker, everybody_)) return false;
  if (worker.number == 0) {
    shared_.elements += plan(worker).elements;
    shared_.fed += division_.own_elements(plan(worker));
    shared_.steps += division_.steps_of(plan(worker));
    ++shared_.update;
    LossScaler* scaling = worker.execution->scaling;
    if (updater_ && scaling != nullptr) {
      scaling->update(exchange_ ? shared_.flags.counts : own_counts());
    }
  }
  return true;
}

// Whether to make the update: every worker of every instance sees the same flags.
bool Executor::agree(Worker& worker) {
  if (!exchange_) return !outfeed_.not_finite();
  if (worker.number == 0) {
    worker.trace.begin_wait();
    const Execution& execution = *worker.execution;
    statistics_->join_lanes({0, 1}, exchange_->own_moments());
    shared_.flags = exchange_->finish({.not_finite = outfeed_.not_finite(),
                                       .stop = execution.stop && execution.stop(),
                                       .counts = own_counts()});
    worker.trace.end_wait(profile::EventKind::exchange_wait);
  }
  return meet(worker, everybody_) && !shared_.flags.not_finite;
}

bool Executor::update_weights(Worker& worker) {
  static const std::vector<float> kSummed;
  const kernels::Part part{worker.number, team_.size()};
  if (exchange_) {
    statistics_->move(part, exchange_->moments());
    return updater_->update(worker.number, shared_.step, kSummed, everybody_);
  }
  statistics_->join_lanes(part, moments_);
  statistics_->move(part, moments_);
  return updater_->update(worker.number, shared_.step, shared_.lane_weights, everybody_);
}

}  // namespace pando::runtime
