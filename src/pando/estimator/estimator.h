// Trains, evaluates and uses a network that a function describes, and keeps all files in one
// folder. Modelled on TensorFlow's Estimator.
//
//   Estimator estimator(model_fn, {.model_dir = "out"});
//   estimator.train(input_fn, {.steps = 1000});
//   const double accuracy = estimator.evaluate(test_input_fn).at("accuracy");
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pando/data/dataset.h"
#include "pando/estimator/estimator_spec.h"

namespace pando {

// The argument of an input function.
struct InputContext {
  RunMode mode = RunMode::train;
  Params params;
  RunConfig config;
  // The job that this process belongs to. Every instance has to return the whole data; the
  // estimator divides the batches among instances.
  int num_instances = 1;
  int instance_index = 0;
};

// The result of an input function. Data that repeat without end feed any number of steps: step s
// takes the samples after those of step s - 1, also when training is resumed. Finite data end a
// run, and the next run starts with their first sample again.
struct InputData {
  InputData(Dataset samples, int64_t batch = 0)  // NOLINT(google-explicit-constructor)
      : dataset(std::move(samples)), batch_size(batch) {}
  Dataset dataset;     // fields x, y and so on, as for Model::fit
  int64_t batch_size;  // samples of a micro-batch, on each replica; 0: the estimator's own
};
using InputFn = std::function<InputData(const InputContext&)>;

// The source of the weights before the first training.
struct WarmStart {
  WarmStart(std::string from) : path(std::move(from)) {}  // NOLINT(google-explicit-constructor)
  WarmStart(const char* from) : path(from) {}             // NOLINT(google-explicit-constructor)
  std::string path;              // a checkpoint, a file of Keras weights, or a model_dir (newest)
  std::string variables = ".*";  // a regular expression: names of the weights to take
  std::map<std::string, std::string> previous_names = {};  // renamed weights: new to old name
};

struct EstimatorOptions {
  // Folder for checkpoints, summaries and reports. It may also be given in `config`; if both are
  // given they must agree. Neither: a temporary folder.
  std::string model_dir = {};
  RunConfig config = {};
  Params params = {};  // must not contain "input_fn", nor "batch_size" with one of the sizes below
  // Batch sizes over all replicas of all instances. Each replica gets its share as
  // params["batch_size"].
  std::optional<int64_t> train_batch_size = {};
  std::optional<int64_t> eval_batch_size = {};
  std::optional<int64_t> predict_batch_size = {};
  std::optional<WarmStart> warm_start_from = {};
};

// Called when a checkpoint is written.
struct CheckpointListener {
  std::function<void(int64_t global_step)> before_save = {};
  std::function<void(int64_t global_step, const std::string& path)> after_save = {};
};

struct EstimatorTrainOptions {
  // Steps of this call, or the global step to stop at; not both. Steps must be whole executions.
  // Without either, training takes all samples once.
  std::optional<int64_t> steps = {};
  std::optional<int64_t> max_steps = {};
  std::vector<std::shared_ptr<Hook>> hooks = {};
  std::vector<CheckpointListener> saving_listeners = {};
  // Set by another thread or a signal handler. Training then ends after the weight update in
  // progress, with a checkpoint.
  const std::atomic<bool>* stop = nullptr;
};

struct EstimatorEvaluateOptions {
  std::optional<int64_t> steps = {};  // whole executions; not given: all samples once
  std::vector<std::shared_ptr<Hook>> hooks = {};
  std::string checkpoint_path = {};  // empty: the newest of model_dir
  std::string name = {};             // summaries go to eval_<name>; empty: to eval
};

struct EstimatorPredictOptions {
  std::vector<std::string> predict_keys = {};  // empty: all
  std::vector<std::shared_ptr<Hook>> hooks = {};
  std::string checkpoint_path = {};
  bool yield_single_examples = true;  // false: one element per execution, with all its rows
  std::optional<int64_t> num_predictions = {};  // samples; not given: all
};

using Prediction = std::map<std::string, Tensor>;

// Predictions, computed one execution at a time when they are requested. Ends with the data.
// Movable; used by one thread. Requires: the estimator outlives the stream.
class PredictionStream {
 public:
  struct Impl;
  explicit PredictionStream(std::unique_ptr<Impl> impl);
  ~PredictionStream();
  PredictionStream(PredictionStream&&) noexcept;
  PredictionStream& operator=(PredictionStream&&) noexcept;

  std::optional<Prediction> next();

  class Iterator {
   public:
    explicit Iterator(PredictionStream* stream) : stream_(stream) { ++*this; }
    Iterator() = default;
    const Prediction& operator*() const { return *value_; }
    Iterator& operator++() {
      value_ = stream_->next();
      return *this;
    }
    bool operator!=(const Iterator&) const { return value_.has_value(); }

   private:
    PredictionStream* stream_ = nullptr;
    std::optional<Prediction> value_;
  };
  Iterator begin() { return Iterator(this); }
  static Iterator end() { return {}; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Used by one thread at a time. All instances of a job have to call the same methods in the same
// order; only the first instance writes files. Throws InvalidArgument if a rule is broken, IoError
// for files.
class Estimator {
 public:
  explicit Estimator(ModelFn model_fn, EstimatorOptions options = {});
  virtual ~Estimator();
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  // Continues from the newest checkpoint of model_dir.
  Estimator& train(const InputFn& input_fn, const EstimatorTrainOptions& options = {});
  // Returns the metrics by name, "loss" and "global_step". Without a checkpoint it evaluates the
  // initial weights.
  std::map<std::string, double> evaluate(const InputFn& input_fn,
                                         const EstimatorEvaluateOptions& options = {});
  PredictionStream predict(const InputFn& input_fn, const EstimatorPredictOptions& options = {});

  const std::string& model_dir() const;
  const RunConfig& config() const;
  const Params& params() const;
  std::optional<std::string> latest_checkpoint() const;  // its path
  // In a job, call these on the first instance; the others see no checkpoint.
  int64_t global_step() const;                           // that of the newest checkpoint; 0: none
  std::vector<std::string> variable_names() const;       // those of the newest checkpoint
  Tensor variable_value(const std::string& name) const;  // throws with the known names

  struct Impl;  // private to estimator/

 protected:
  explicit Estimator(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// An estimator for networks in stages, which work on several micro-batches at once.
class PipelineEstimator : public Estimator {
 public:
  explicit PipelineEstimator(PipelineModelFn model_fn, EstimatorOptions options = {});
};

// The path of the newest checkpoint of a model_dir that can be read.
std::optional<std::string> latest_checkpoint(const std::string& model_dir);

struct TrainSpec {
  InputFn input_fn;
  int64_t max_steps = 0;
  std::vector<std::shared_ptr<Hook>> hooks = {};
};
struct EvalSpec {
  InputFn input_fn;
  std::optional<int64_t> steps = {};
  int64_t every_n_steps = 0;  // training steps; needs endless data then. 0: only at the end
  std::string name = {};
};
// Trains up to max_steps with evaluations in between; returns the results of the last evaluation.
// Training may end earlier, because of finite data or a hook.
std::map<std::string, double> train_and_evaluate(Estimator& estimator, const TrainSpec& train,
                                                 const EvalSpec& eval);

}  // namespace pando
