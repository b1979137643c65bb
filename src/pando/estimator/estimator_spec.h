// What a model function gives back: the network for one mode, and how it is trained, measured and
// used.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pando/data/source.h"
#include "pando/estimator/hooks.h"
#include "pando/estimator/params.h"
#include "pando/estimator/run_config.h"
#include "pando/nn/layer.h"
#include "pando/nn/losses.h"
#include "pando/optim/optimizer.h"
#include "pando/train/parallel_options.h"

namespace pando {

// What a model function is called with.
struct ModelInput {
  SymbolicTensor features;      // the input of the network
  std::optional<Field> labels;  // none when predicting, and where the data have none
  RunMode mode = RunMode::train;
  Params params;  // with "batch_size", of one replica, where the estimator was given one
  RunConfig config;
  int64_t global_step = 0;  // where the run begins
};

// An optimizer whose gradients are averaged over all replicas before the weight update. With
// several replicas one without it is an error, as each replica would train a model of its own.
struct CrossReplicaOptimizer {
  explicit CrossReplicaOptimizer(Optimizer inner) : optimizer(std::move(inner)) {}
  Optimizer optimizer;
};

// What a training step does with gradients.
struct TrainOp {
  TrainOp(Optimizer plain) : optimizer(std::move(plain)) {}  // NOLINT(google-explicit-constructor)
  TrainOp(CrossReplicaOptimizer wrapped)                     // NOLINT(google-explicit-constructor)
      : optimizer(std::move(wrapped.optimizer)), cross_replica(true) {}
  Optimizer optimizer;
  bool cross_replica = false;
};

// One named result of predict(), made on the host from the network's outputs [samples, ...]: a
// tensor with a row for each sample.
struct PredictionOutput {
  std::string name;
  std::function<Tensor(const Tensor& outputs)> make = {};  // empty: the outputs as they are
};
PredictionOutput OutputValues(std::string name = "output");
PredictionOutput ClassNumbers(std::string name = "classes");         // the largest of a row, i32
PredictionOutput Probabilities(std::string name = "probabilities");  // softmax of each row

// Metrics that are no means over samples, computed on the host from all outputs and labels of an
// evaluation at once.
using HostMetrics = std::function<Logs(const Tensor& outputs, const Tensor& labels)>;

// Training needs output, loss and train_op; evaluation output, loss and one of eval_metric_ops and
// eval_metrics; prediction output and predictions. What a mode does not need is ignored.
struct EstimatorSpec {
  std::optional<SymbolicTensor> output = {};  // of the network
  std::optional<Loss> loss = {};
  std::optional<TrainOp> train_op = {};
  std::vector<Metric> train_metrics = {};    // beside the loss, for hooks and summaries
  std::vector<Metric> eval_metric_ops = {};  // computed by the devices
  HostMetrics eval_metrics = {};             // computed by the host
  std::vector<PredictionOutput> predictions = {};
  // Gets the values of every training step; wants iterations_per_loop 1.
  std::function<void(int64_t global_step, const Logs& values)> host_call = {};
  std::vector<std::shared_ptr<Hook>> training_hooks = {};
  std::vector<std::shared_ptr<Hook>> evaluation_hooks = {};
  std::vector<std::shared_ptr<Hook>> prediction_hooks = {};
};
using ModelFn = std::function<EstimatorSpec(const ModelInput&)>;

// The same for a network in stages. Each takes the result of the one before, the first the
// features.
using StageFn = std::function<SymbolicTensor(const SymbolicTensor&)>;

struct PipelineModelInput {
  std::optional<Field> labels;
  RunMode mode = RunMode::train;
  Params params;
  RunConfig config;
  int64_t global_step = 0;
};

struct PipelineEstimatorSpec {
  std::vector<StageFn> computational_stages = {};  // at least two
  // Micro-batches of a replica per weight update. iterations_per_loop must be a multiple of it.
  int gradient_accumulation_count = 0;
  std::optional<Loss> loss = {};
  std::optional<TrainOp> train_op = {};
  std::vector<Metric> train_metrics = {};
  std::vector<Metric> eval_metric_ops = {};
  HostMetrics eval_metrics = {};
  std::vector<PredictionOutput> predictions = {};
  std::vector<int> device_mapping = {};  // empty: a device for each stage
  PipelineSchedule schedule = PipelineSchedule::grouped;
  Recomputation recomputation = Recomputation::none;
  GradientReduction reduction = GradientReduction::mean;
  std::vector<std::shared_ptr<Hook>> training_hooks = {};
  std::vector<std::shared_ptr<Hook>> evaluation_hooks = {};
  std::vector<std::shared_ptr<Hook>> prediction_hooks = {};
};
using PipelineModelFn = std::function<PipelineEstimatorSpec(const PipelineModelInput&)>;

}  // namespace pando
