// Trains, evaluates and uses a network that a function describes, with everything that is kept in
// one folder: TensorFlow's Estimator.
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

// What an input function is called with.
struct InputContext {
  RunMode mode = RunMode::train;
  Params params;
  RunConfig config;
  // The job this process is an instance of. Every instance gives the whole data; they share the
  // batches themselves.
  int num_instances = 1;
  int instance_index = 0;
};

// What an input function gives. Data that are repeated without end feed any number of steps: step s
// takes the samples that follow those of step s - 1, also when training is resumed. Others end a
// run, and the next one begins with them anew.
struct InputData {
  InputData(Dataset samples, int64_t batch = 0)  // NOLINT(google-explicit-constructor)
      : dataset(std::move(samples)), batch_size(batch) {}
  Dataset dataset;     // fields x, y and so on, as Model::fit wants them
  int64_t batch_size;  // samples of a micro-batch, on each replica; 0: as the estimator says
};
using InputFn = std::function<InputData(const InputContext&)>;

// Where weights come from before the first training.
struct WarmStart {
  WarmStart(std::string from) : path(std::move(from)) {}  // NOLINT(google-explicit-constructor)
  WarmStart(const char* from) : path(from) {}             // NOLINT(google-explicit-constructor)
  std::string path;  // a checkpoint, a file of Keras weights, or a model_dir: its newest
  std::string variables = ".*";  // a regular expression: the weights to take
  std::map<std::string, std::string> previous_names = {};  // of weights that were called otherwise
};

struct EstimatorOptions {
  // Checkpoints, summaries and reports. May also stand in the configuration; both must agree. Of
  // neither: a temporary folder.
  std::string model_dir = {};
  RunConfig config = {};
  Params params = {};  // must not contain "input_fn", nor "batch_size" beside one of these:
  // Of all replicas of all instances together; each has its part as params["batch_size"].
  std::optional<int64_t> train_batch_size = {};
  std::optional<int64_t> eval_batch_size = {};
  std::optional<int64_t> predict_batch_size = {};
  std::optional<WarmStart> warm_start_from = {};
};

// Told when a checkpoint is written.
struct CheckpointListener {
  std::function<void(int64_t global_step)> before_save = {};
  std::function<void(int64_t global_step, const std::string& path)> after_save = {};
};

struct EstimatorTrainOptions {
  // Steps of this call, or the global step to stop at; not both. Steps are whole executions.
  // Without either, training takes all samples once.
  std::optional<int64_t> steps = {};
  std::optional<int64_t> max_steps = {};
  std::vector<std::shared_ptr<Hook>> hooks = {};
  std::vector<CheckpointListener> saving_listeners = {};
  // Set by another thread or a signal handler: training ends after the weight update in progress,
  // with a checkpoint.
  const std::atomic<bool>* stop = nullptr;
};

struct EstimatorEvaluateOptions {
  std::optional<int64_t> steps = {};  // whole executions; none: all samples once
  std::vector<std::shared_ptr<Hook>> hooks = {};
  std::string checkpoint_path = {};  // empty: the newest of model_dir
  std::string name = {};             // summaries go to eval_<name>, without a name to eval
};

struct EstimatorPredictOptions {
  std::vector<std::string> predict_keys = {};  // empty: all
  std::vector<std::shared_ptr<Hook>> hooks = {};
  std::string checkpoint_path = {};
  bool yield_single_examples = true;            // false: one element per execution, with rows
  std::optional<int64_t> num_predictions = {};  // samples; none: as many as there are
};

using Prediction = std::map<std::string, Tensor>;

// Predictions as they are asked for, an execution at a time. Ends with the data. Moves; one thread.
// Requires: the estimator lives as long.
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

// Used by one thread at a time. The instances of a job call the same methods alike; the first one
// alone writes. Throws InvalidArgument for what contradicts a rule, IoError for files.
class Estimator {
 public:
  explicit Estimator(ModelFn model_fn, EstimatorOptions options = {});
  virtual ~Estimator();
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  // Goes on from the newest checkpoint of model_dir.
  Estimator& train(const InputFn& input_fn, const EstimatorTrainOptions& options = {});
  // Metrics by their names, "loss" and "global_step". Without a checkpoint: of initial weights.
  std::map<std::string, double> evaluate(const InputFn& input_fn,
                                         const EstimatorEvaluateOptions& options = {});
  PredictionStream predict(const InputFn& input_fn, const EstimatorPredictOptions& options = {});

  const std::string& model_dir() const;
  const RunConfig& config() const;
  const Params& params() const;
  std::optional<std::string> latest_checkpoint() const;  // its path
  // In a job only the first instance knows these; on the others there is no checkpoint.
  int64_t global_step() const;                           // of the newest checkpoint; 0: none
  std::vector<std::string> variable_names() const;       // of the newest checkpoint
  Tensor variable_value(const std::string& name) const;  // throws with the known names

  struct Impl;  // private to estimator/

 protected:
  explicit Estimator(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// For networks in stages, which work on several micro-batches at once.
class PipelineEstimator : public Estimator {
 public:
  explicit PipelineEstimator(PipelineModelFn model_fn, EstimatorOptions options = {});
};

// The newest checkpoint of a model_dir that can be read, by its path.
std::optional<std::string> latest_checkpoint(const std::string& model_dir);

struct TrainSpec {
  InputFn input_fn;
  int64_t max_steps = 0;
  std::vector<std::shared_ptr<Hook>> hooks = {};
};
struct EvalSpec {
  InputFn input_fn;
  std::optional<int64_t> steps = {};
  int64_t every_n_steps = 0;  // of training, whose data must then have no end; 0: at the end alone
  std::string name = {};
};
// Trains up to max_steps with evaluations in between; gives the results of the last one. Data that
// end, or a hook, may end it before.
std::map<std::string, double> train_and_evaluate(Estimator& estimator, const TrainSpec& train,
                                                 const EvalSpec& eval);

}  // namespace pando
