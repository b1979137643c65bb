// What workers do around a weight update: plan it, agree on it with the other instances, make it.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <numeric>

#include "pando/base/error.h"
#include "pando/comm/collectives.h"
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
  count_samples(plan(worker));
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

// If samples vary, every divisor of the update depends on the data of all replicas. Real samples
// are counted before the first micro-batch begins, so that rows of weight 0 change no result.
// Evaluation has no divisors.
void Executor::count_samples(const UpdatePlan& now) {
  shared_.samples = now.samples;
  if (!updater_ || !bound_.placement().samples_vary) return;
  const Placement& placement = bound_.placement();
  const std::vector<int64_t> own = feeder_.samples_ahead(shared_.fed, division_.own_elements(now));
  std::vector<std::string> of_instances = {
      std::string(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(int64_t))};
  if (exchange_) of_instances = comm::all_gather(*placement.communicator, of_instances[0]);
  shared_.element_samples.assign(static_cast<size_t>(now.elements), 0);
  for (size_t instance = 0; instance < of_instances.size(); ++instance) {
    const std::string& text = of_instances[instance];
    for (size_t place = 0; place < text.size() / sizeof(int64_t); ++place) {
      const size_t replicas = static_cast<size_t>(placement.replicas);
      const size_t element = place / replicas * static_cast<size_t>(placement.total_replicas()) +
                             instance * replicas + place % replicas;
      PANDO_CHECK(element < shared_.element_samples.size(), "element ", element,
                  " of an update of ", now.elements);
      std::memcpy(&shared_.element_samples[element], text.data() + place * sizeof(int64_t),
                  sizeof(int64_t));
    }
  }
  shared_.samples =
      std::accumulate(shared_.element_samples.begin(), shared_.element_samples.end(), int64_t{0});
}

// The real samples of an element of this update; 0 after the last one.
int64_t Executor::samples_of(const UpdatePlan& now, int64_t element) const {
  const std::vector<int64_t>& counted = shared_.element_samples;
  if (counted.empty()) return division_.valid_of(now, element);
  return element < std::ssize(counted) ? counted[static_cast<size_t>(element)] : 0;
}

// The real samples of a replica in the micro-batches of this update before one with real samples.
int64_t Executor::samples_before(const UpdatePlan& now, int micro_batch, int replica) const {
  if (shared_.element_samples.empty()) return micro_batch * division_.micro_batch();
  int64_t samples = 0;
  for (int step = 0; step < micro_batch; ++step) {
    samples += samples_of(now, division_.element_of(step, replica));
  }
  return samples;
}

// In a running mean over replicas, a replica with fewer real samples has a smaller weight.
void Executor::weigh_lanes(const UpdatePlan& now) {
  if (bound_.placement().reduction != GradientReduction::running_mean) return;
  shared_.lane_weights.assign(static_cast<size_t>(bound_.lanes()), 0);
  for (int lane = 0; lane < bound_.lanes(); ++lane) {
    int64_t samples = 0;
    for (int step = 0; step < division_.steps_of(now); ++step) {
      samples += samples_of(now, division_.element_of(step, bound_.replica_of(lane)));
    }
    shared_.lane_weights[static_cast<size_t>(lane)] =
        static_cast<float>(samples) / static_cast<float>(std::max<int64_t>(shared_.samples, 1));
  }
}

bool Executor::finish_update(Worker& worker) {
  if (!meet(worker, everybody_)) return false;
  if (updater_) {
    if (!agree(worker)) return false;
    const int64_t begin = worker.trace.now();
    // An update without real samples changes nothing: momentum is not applied either.
    if (shared_.samples > 0 && !update_weights(worker)) return false;
    worker.trace.add(profile::EventKind::update, begin);
  }
  if (!meet(worker, everybody_)) return false;
  if (worker.number == 0) {
    shared_.elements += plan(worker).elements;
    shared_.fed += division_.own_elements(plan(worker));
    shared_.steps += division_.steps_of(plan(worker));
    ++shared_.update;
    LossScaler* scaling = worker.execution->scaling;
    if (updater_ && scaling != nullptr && shared_.samples > 0) {
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
