// A network with its variables and random samples, to run executions on.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pando/base/random.h"
#include "pando/optim/optimizer.h"
#include "pando/runtime/executor.h"
#include "tests/support/training_graphs.h"

namespace pando::runtime {

// A run of samples, handed out in micro-batches; the last one may be short.
struct Feed {
  BatchSource source;
  int64_t samples = 0;
};

class Samples {
 public:
  Samples(const std::vector<Field>& fields, int64_t count, int64_t classes) : count_(count) {
    RandomStream random(11);
    for (const Field& field : fields) {
      std::vector<int64_t> dims = {count};
      dims.insert(dims.end(), field.shape.begin(), field.shape.end());
      Tensor& tensor = tensors_.emplace_back(field.dtype, Shape(dims));
      if (field.dtype == DType::i32) {
        for (int32_t& x : tensor.i32())
          x = static_cast<int32_t>(random.next_below(static_cast<uint64_t>(classes)));
      } else {
        for (float& x : tensor.f32()) x = random.next_normal();
      }
    }
  }

  int64_t count() const { return count_; }
  Tensor& field(size_t index) { return tensors_[index]; }

  // Samples [begin, end), whose owner must outlive the feed.
  Feed feed(int64_t batch, int64_t begin, int64_t end) {
    BatchSource source = [this, batch, end, at = begin](Batch& into) mutable {
      if (at >= end) return false;
      into.valid = std::min(batch, end - at);
      into.first_sample = at;
      into.fields.resize(tensors_.size());
      for (size_t i = 0; i < tensors_.size(); ++i) copy_rows(i, at, batch, into);
      at += batch;
      return true;
    };
    return {std::move(source), end - begin};
  }
  Feed feed(int64_t batch) { return feed(batch, 0, count_); }

 private:
  // The rows of one field, in the buffer of an earlier batch where there is one.
  void copy_rows(size_t index, int64_t at, int64_t batch, Batch& into) const {
    const Tensor& from = tensors_[index];
    Tensor& to = into.fields[index];
    const size_t row = from.bytes() / static_cast<size_t>(count_);
    if (to.bytes() != static_cast<size_t>(batch) * row) {
      std::vector<int64_t> dims(from.shape().begin(), from.shape().end());
      dims[0] = batch;
      to = Tensor(from.dtype(), Shape(dims));
    }
    const auto valid = static_cast<size_t>(into.valid);
    std::memcpy(to.data(), from.data() + static_cast<size_t>(at) * row, valid * row);
    std::memset(to.data() + valid * row, 0, to.bytes() - valid * row);
  }

  int64_t count_;
  std::vector<Tensor> tensors_;
};

inline VariableStore initial_variables(const Network& network) {
  VariableStore variables;
  for (const LayerInfo& layer : network.layers()) {
    for (const nn::WeightSpec& weight : layer.weights) {
      const std::string name = layer.name + "/" + weight.name;
      variables.add(name, weight.initializer.make(weight.shape, hash_name(name)),
                    weight.moving_momentum, weight.follows_variance);
    }
  }
  return variables;
}

// The weight updates of a number of samples, each of `elements` micro-batches; the last one may
// have fewer.
inline std::vector<UpdatePlan> plans_of(int64_t samples, int64_t batch, int64_t elements) {
  std::vector<UpdatePlan> plans;
  plans.reserve(static_cast<size_t>(samples / (batch * elements) + 1));
  for (int64_t at = 0; at < samples; at += batch * elements) {
    const int64_t some = std::min(samples - at, batch * elements);
    plans.push_back({.elements = (some + batch - 1) / batch, .samples = some});
  }
  return plans;
}

struct TraineeOptions {
  int workers = 1;  // of each device
  int slices = 1;
  int64_t batch = 4;  // of a micro-batch
  RunMode mode = RunMode::train;
  compiler::ProgramOptions compiling = {};
  Placement placement = {};
  int devices = 0;              // 0: as many as the placement needs
  std::vector<int> cores = {};  // to pin the workers to; empty: not pinned
  bool shares_cores = false;
  int prefetch = 2;  // capacity of the infeed
};

struct RunOptions {
  int64_t most_updates = 1000;
  std::byte* results = nullptr;
  std::function<bool()> stop = {};
  bool keep_steps = false;
  LossScaler* scaling = nullptr;
};

// Owns everything that an execution needs. Without RunMode::train it makes no weight updates.
class Trainee {
 public:
  Trainee(const TestNetwork& network, TraineeOptions options, const Optimizer& optimizer = Adam())
      : batch(options.batch),
        variables(initial_variables(network.network)),
        optimizer_(optimizer),
        prefetch_(options.prefetch),
        program_(compile_for(network, options)) {
    variables.convert(options.compiling.precision.update);
    const int needed =
        options.placement.replicas * options.placement.devices_per_replica(program_->stages());
    const auto devices = static_cast<size_t>(std::max(options.devices, needed));
    team_.emplace(TeamOptions{.device_workers = std::vector<int>(devices, options.workers),
                              .cores = options.cores,
                              .shares_cores = options.shares_cores});
    const bool trains = options.mode == RunMode::train;
    executor_ = std::make_unique<Executor>(*program_, variables, *team_,
                                           trains ? &optimizer_ : nullptr, options.placement);
  }

  // The weight updates that this many samples make.
  std::vector<UpdatePlan> plans(int64_t samples) const {
    const Placement& placement = executor_->bound().placement();
    return plans_of(samples, batch, int64_t{placement.replicas} * placement.micro_batches);
  }

  ExecutionTotals run(const Feed& feed, const RunOptions& options = {}) {
    InfeedQueue infeed(feed.source, prefetch_);
    return run(plans(feed.samples), infeed, options);
  }

  ExecutionTotals run(std::vector<UpdatePlan> plans, InfeedQueue& infeed,
                      const RunOptions& options = {}) {
    plans.resize(std::min(plans.size(), static_cast<size_t>(options.most_updates)));
    ExecutionTotals totals =
        executor_->run({.updates = plans,
                        .micro_batch_size = batch,
                        .seed = 1,
                        .learning_rate = optimizer_.learning_rate,
                        .iteration = iteration_,
                        .scaling = options.scaling,
                        .results = options.results == nullptr ? std::vector<std::byte*>()
                                                              : std::vector{options.results},
                        .stop = options.stop,
                        .keep_steps = options.keep_steps},
                       infeed);
    iteration_ += totals.updates;
    return totals;
  }

  const compiler::Program& program() const { return *program_; }
  Executor& executor() { return *executor_; }

  // The bytes of all variables and slots.
  std::string state() const {
    std::string bytes;
    const auto append = [&](const Tensor& tensor) {
      bytes.append(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
    };
    for (const Variable& variable : variables.all()) {
      append(variable.value);
      for (const Tensor& slot : variable.slots) append(slot);
    }
    return bytes;
  }

  const int64_t batch;
  VariableStore variables;

 private:
  static std::unique_ptr<const compiler::Program> compile_for(const TestNetwork& network,
                                                              const TraineeOptions& options) {
    const train::SliceDivision division = train::divide(options.batch, options.slices);
    compiler::ProgramOptions compiling = options.compiling;
    compiling.slices = division.slices;
    compiling.division = division.division;
    compiling.gathered_slices = division.slices * options.placement.statistics_group;
    return compiler::compile(graph_of(network, options.mode, division.slice_batch),
                             std::move(compiling));
  }

  Optimizer optimizer_;
  int prefetch_;
  std::unique_ptr<const compiler::Program> program_;
  std::optional<WorkerTeam> team_;
  std::unique_ptr<Executor> executor_;
  int64_t iteration_ = 0;
};

}  // namespace pando::runtime
