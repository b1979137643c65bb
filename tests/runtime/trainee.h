// A network with its variables and random samples, to run executions on.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "pando/base/random.h"
#include "pando/optim/optimizer.h"
#include "pando/runtime/executor.h"
#include "tests/support/training_graphs.h"

namespace pando::runtime {

// Samples in memory, handed out in micro-batches; the last one may be short.
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
    rows_.resize(tensors_.size());
  }

  int64_t count() const { return count_; }
  Tensor& field(size_t index) { return tensors_[index]; }

  // An infeed over samples [begin, end); the samples must outlive it.
  Infeed infeed(int64_t batch, int64_t begin, int64_t end) {
    return [this, batch, end, at = begin](StepFeed& feed) mutable {
      if (at >= end) return false;
      for (size_t i = 0; i < tensors_.size(); ++i) {
        rows_[i] = tensors_[i].data() +
                   static_cast<size_t>(at) * (tensors_[i].bytes() / static_cast<size_t>(count_));
      }
      feed = {.fields = rows_.data(), .valid = std::min(batch, end - at), .first_sample = at};
      at += batch;
      return true;
    };
  }
  Infeed infeed(int64_t batch) { return infeed(batch, 0, count_); }

 private:
  int64_t count_;
  std::vector<Tensor> tensors_;
  std::vector<const std::byte*> rows_;
};

inline VariableStore initial_variables(const Network& network) {
  VariableStore variables;
  for (const LayerInfo& layer : network.layers()) {
    for (const nn::WeightSpec& weight : layer.weights) {
      const std::string name = layer.name + "/" + weight.name;
      variables.add(name, weight.initializer.make(weight.shape, hash_name(name)),
                    weight.moving_momentum);
    }
  }
  return variables;
}

struct TraineeOptions {
  int workers = 1;
  int slices = 1;
  int64_t batch = 4;
  train::Mode mode = train::Mode::train;
  compiler::CompileOptions compiling = {};
};

// Owns all that an execution needs. Without Mode::train it makes no weight updates.
class Trainee {
 public:
  Trainee(const TestNetwork& network, TraineeOptions options, const Optimizer& optimizer = Adam())
      : batch(options.batch),
        optimizer_(optimizer),
        variables(initial_variables(network.network)),
        team_({.workers = options.workers}) {
    const train::SliceDivision division = train::divide(options.batch, options.slices);
    options.compiling.slices = division.slices;
    options.compiling.division = division.division;
    program_ = compiler::compile(graph_of(network, options.mode, division.slice_batch),
                                 std::move(options.compiling));
    const bool trains = options.mode == train::Mode::train;
    executor_ = std::make_unique<Executor>(*program_, variables, team_,
                                           trains ? optimizer_.rule.get() : nullptr);
  }

  ExecutionTotals run(const Infeed& infeed, int64_t steps = 1000, std::byte* results = nullptr) {
    const ExecutionTotals totals = executor_->run({.steps = steps,
                                                   .seed = 1,
                                                   .learning_rate = optimizer_.learning_rate,
                                                   .iteration = iteration_,
                                                   .results = results},
                                                  infeed);
    iteration_ += totals.steps;
    return totals;
  }

  const compiler::Program& program() const { return *program_; }

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

 private:
  Optimizer optimizer_;

 public:
  VariableStore variables;

 private:
  WorkerTeam team_;
  std::unique_ptr<const compiler::Program> program_;
  std::unique_ptr<Executor> executor_;
  int64_t iteration_ = 0;
};

}  // namespace pando::runtime
