// The state of an estimator, and functions that its runs share.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/estimator/checkpoint_folder.h"
#include "pando/estimator/description.h"
#include "pando/estimator/estimator.h"
#include "pando/train/model.h"

namespace pando {

struct Estimator::Impl {
  Impl(estimator::Describe describe_in, EstimatorOptions options_in);

  // The data of a run and the size of its micro-batches.
  InputData input(const InputFn& input_fn, RunMode mode) const;
  // The parameters, with the batch size of a replica in this mode if the estimator was given one.
  Params params_for(RunMode mode) const;
  estimator::Description describe(RunMode mode, const InputData& data, int64_t global_step,
                                  const std::vector<std::shared_ptr<Hook>>& hooks) const;
  // The checkpoint at `path`; or, if `path` is empty, the state of the last training without
  // checkpoints, or else the newest checkpoint. Only on the first instance of a job.
  std::optional<estimator::Checkpoint> start(const std::string& path) const;
  // A model for inference with the weights of start(), on all instances.
  Model inference_model(const estimator::Description& description, RunMode mode,
                        const InputData& data,
                        const std::optional<estimator::Checkpoint>& from) const;
  void tell(std::string_view line) const { teller()(line); }
  // A function that writes lines. It may outlive the estimator; it is silent on instances other
  // than the first.
  estimator::Tell teller() const;

  estimator::Describe describe_with;
  EstimatorOptions options;
  std::string model_dir;
  std::optional<estimator::Checkpoint> unsaved;  // state of the last training without checkpoints
};

}  // namespace pando

namespace pando::estimator {

bool is_first_instance();
// Returns the number of the first instance, on all instances.
int64_t shared(int64_t number);
std::vector<std::string> value_names(const Description& description);

void run_train(Estimator::Impl& impl, const InputFn& input_fn,
               const EstimatorTrainOptions& options);
std::map<std::string, double> run_evaluate(Estimator::Impl& impl, const InputFn& input_fn,
                                           const EstimatorEvaluateOptions& options);
PredictionStream run_predict(Estimator::Impl& impl, const InputFn& input_fn,
                             const EstimatorPredictOptions& options);

// Throws InvalidArgument unless `steps` are whole executions.
void check_steps(const char* method, std::optional<int64_t> steps, const DeviceRunConfig& device);

// Loads weights of another model and reports how many through `tell`. Throws InvalidArgument,
// IoError.
void warm_start(Model& model, const WarmStart& from, const Tell& tell);

}  // namespace pando::estimator
