// The result of a model function: the network for one mode, and how it is trained, measured and
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

// The argument of a model function.
struct ModelInput {
  SymbolicTensor features;      // the input of the network
  std::optional<Field> labels;  // none in prediction, or if the data have no labels
  RunMode mode = RunMode::train;
  Params params;  // with "batch_size" of one replica if the estimator was given one
  RunConfig config;
  int64_t global_step = 0;  // at the start of the run
};

// An optimizer whose gradients are averaged over all replicas before the weight update. With
// several replicas it is required: otherwise each replica would train its own model.
struct CrossReplicaOptimizer {
  explicit CrossReplicaOptimizer(Optimizer inner) : optimizer(std::move(inner)) {}
  Optimizer optimizer;
};

// How a training step uses gradients.
struct TrainOp {
  TrainOp(Optimizer plain) : optimizer(std::move(plain)) {}  // NOLINT(google-explicit-constructor)
  TrainOp(CrossReplicaOptimizer wrapped)                     // NOLINT(google-explicit-constructor)
      : optimizer(std::move(wrapped.optimizer)), cross_replica(true) {}
  Optimizer optimizer;
  bool cross_replica = false;
};

// One named result of predict(). The host makes it from the network's outputs [samples, ...]: a
// tensor with one row per sample.
struct PredictionOutput {
  std::string name;
  std::function<Tensor(const Tensor& outputs)> make = {};  // empty: the outputs themselves
};
PredictionOutput OutputValues(std::string name = "output");
PredictionOutput ClassNumbers(std::string name = "classes");  // index of the largest in a row, i32
PredictionOutput Probabilities(std::string name = "probabilities");  // softmax of each row

// Metrics that are not means over samples, computed on the host from all outputs and labels of an
// evaluation at once.
using HostMetrics = std::function<Logs(const Tensor& outputs, const Tensor& labels)>;

// Training needs output, loss and train_op; evaluation needs output, loss and one of
// eval_metric_ops and eval_metrics; prediction needs output and predictions. Fields that a mode
// does not need are ignored.
struct EstimatorSpec {
  std::optional<SymbolicTensor> output = {};  // of the network
  std::optional<Loss> loss = {};
  std::optional<TrainOp> train_op = {};
  std::vector<Metric> train_metrics = {};    // besides the loss, for hooks and summaries
  std::vector<Metric> eval_metric_ops = {};  // computed by the devices
  HostMetrics eval_metrics = {};             // computed by the host
  std::vector<PredictionOutput> predictions = {};
  // Receives the values of every training step; requires iterations_per_loop 1.
  std::function<void(int64_t global_step, const Logs& values)> host_call = {};
  std::vector<std::shared_ptr<Hook>> training_hooks = {};
  std::vector<std::shared_ptr<Hook>> evaluation_hooks = {};
  std::vector<std::shared_ptr<Hook>> prediction_hooks = {};
};
using ModelFn = std::function<EstimatorSpec(const ModelInput&)>;

// A stage of a network in stages. It takes the result of the stage before; the first stage takes
// the features.
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
  std::vector<int> device_mapping = {};  // empty: one device per stage
  PipelineSchedule schedule = PipelineSchedule::grouped;
  Recomputation recomputation = Recomputation::none;
  GradientReduction reduction = GradientReduction::mean;
  std::vector<std::shared_ptr<Hook>> training_hooks = {};
  std::vector<std::shared_ptr<Hook>> evaluation_hooks = {};
  std::vector<std::shared_ptr<Hook>> prediction_hooks = {};
};
using PipelineModelFn = std::function<PipelineEstimatorSpec(const PipelineModelInput&)>;

}  // namespace pando
