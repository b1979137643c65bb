// SPDX-License-Identifier: MIT
#include "pando/train/evaluation.h"

#include "pando/base/checked.h"
#include "pando/base/error.h"
#include "pando/runtime/program/averaged_weights.h"
#include "pando/train/batch_source.h"
#include "pando/train/epoch_plan.h"
#include "pando/train/metric_sums.h"
#include "pando/train/model_impl.h"
#include "pando/train/programs.h"

namespace pando::train {

namespace {

constexpr int kEvaluationPrefetch = 3;  // micro-batches per replica

EpochPlan evaluation_plan(const LoadedProgram& loaded, const Dataset& dataset,
                          const EvaluationRequest& request) {
  const int64_t replicas = loaded.placement().total_replicas();
  int64_t samples = dataset.size();
  if (request.drop_remainder) {
    samples -= samples %
               checked_product("evaluate: the batches of all replicas", {request.batch, replicas});
  }
  if (samples == 0) {
    throw InvalidArgument("evaluate: ", dataset.size(), " samples do not fill a batch of ",
                          request.batch, " on each of ", replicas,
                          " replicas; use a smaller batch_size or drop_remainder = false");
  }
  // Without weight updates a run of steps may be as long as the execution.
  return EpochPlan({.samples = samples,
                    .micro_batch = request.batch,
                    .replicas = replicas,
                    .steps_per_execution = request.steps_per_execution});
}

void check_evaluation(const Dataset& dataset, const EvaluationRequest& request) {
  check_data("evaluate", dataset, request.batch);
  check_finite("evaluate", dataset);
  check_data_workers("evaluate", request.data_workers);
}

// If memory is short, drops programs for other batch sizes before it compiles this one.
void require_for_predict(Model::Impl& impl, const Dataset& dataset, const PredictOptions& options) {
  const auto require = [&] {
    impl.require({{.mode = RunMode::predict,
                   .batch_size = options.batch_size,
                   .fields = dataset.fields(),
                   .prefetch_depth = kEvaluationPrefetch,
                   .data_workers = options.data_workers}},
                 "predict");
  };
  try {
    require();
  } catch (const OverMemoryLimit&) {
    if (!impl.drop_other_sizes(dataset.fields())) throw;
    require();
  }
}

}  // namespace

BatchShare share_of(const runtime::Placement& placement) {
  return {.total = placement.total_replicas(),
          .first = placement.first_replica(),
          .count = placement.replicas};
}

int64_t batches_of(const Dataset& dataset, int64_t batch) {
  return dataset.size() == 0 ? 0 : (dataset.size() - 1) / batch + 1;
}

void check_data(const char* what, const Dataset& dataset, int64_t batch) {
  if (dataset.size() == 0) throw InvalidArgument(what, ": the data set is empty");
  if (batch < 1 || batch > kMostBatch) {
    throw InvalidArgument(what, ": batch_size: expected 1 to ", kMostBatch, ", got ", batch);
  }
}

void check_data_workers(const char* what, int workers) {
  if (workers >= 0 && workers <= kMostPrefetchWorkers) return;
  throw InvalidArgument(what, ": data_workers: expected 0 to ", kMostPrefetchWorkers, ", got ",
                        workers);
}

void check_finite(const char* what, const Dataset& dataset) {
  if (dataset.size() < kEndless) return;
  throw InvalidArgument(
      what, ": expected a data set with an end, got one that repeats for ever; call take(N) on it");
}

Logs evaluate_with(Model::Impl& impl, const Dataset& dataset, const EvaluationRequest& request) {
  check_evaluation(dataset, request);
  impl.require({{.mode = RunMode::evaluate,
                 .batch_size = request.batch,
                 .fields = dataset.fields(),
                 .prefetch_depth = kEvaluationPrefetch,
                 .data_workers = request.data_workers}},
               "evaluate");
  LoadedProgram& loaded = impl.program(RunMode::evaluate, request.batch, dataset.fields());
  const EpochPlan plan = evaluation_plan(loaded, dataset, request);
  const int ahead = kEvaluationPrefetch * loaded.placement().replicas;
  BatchStream stream = dataset.batch(request.batch)
                           .share(share_of(loaded.placement()))
                           .prefetch(ahead, impl.data_workers(request.data_workers, ahead));
  runtime::InfeedQueue infeed(
      numbered(stream, dataset.size(), class_check("evaluate", impl, dataset)), ahead);
  MetricSums sums = loaded.metric_sums(impl.replication.metrics);
  const runtime::AveragedWeights averaged(impl.variables);
  int64_t done = 0;
  for (int64_t update = 0; update < plan.updates();) {
    const auto execution = plan.execution(update);
    // Runs all steps as one execution, so that a pipeline fills only once.
    runtime::UpdatePlan whole{.elements = 0, .samples = 0};
    for (const runtime::UpdatePlan& step : execution) {
      whole.elements += step.elements;
      whole.samples += step.samples;
    }
    sums.add(loaded.executor().run({.updates = {&whole, 1},
                                    .micro_batch_size = request.batch,
                                    .seed = impl.options.seed,
                                    .trace = request.trace},
                                   infeed));
    update += static_cast<int64_t>(execution.size());
    done += whole.elements;
    if (request.progress != nullptr) request.progress->update(done, sums.logs(request.prefix));
    if (request.on_execution_end) request.on_execution_end(done, sums.logs(request.prefix));
  }
  return sums.logs(request.prefix);
}

Logs run_evaluate(Model::Impl& impl, const Dataset& dataset, const EvaluateOptions& options) {
  EvaluationRequest request{.batch = options.batch_size,
                            .steps_per_execution = options.steps_per_execution,
                            .drop_remainder = options.drop_remainder,
                            .data_workers = options.data_workers,
                            .trace = options.trace,
                            .on_execution_end = options.on_execution_end};
  if (request.steps_per_execution < 0) {
    throw InvalidArgument("evaluate: steps_per_execution: expected 0 or more, got ",
                          request.steps_per_execution);
  }
  if (request.steps_per_execution == 0) {
    request.steps_per_execution = impl.compiled().steps_per_execution;
  }
  if (options.verbose == 0 || !impl.job.is_first()) return evaluate_with(impl, dataset, request);
  check_evaluation(dataset, request);
  Progress progress(standard_progress(options.verbose));
  LoadedProgram& loaded = impl.program(RunMode::evaluate, options.batch_size, dataset.fields());
  progress.begin_evaluation(evaluation_plan(loaded, dataset, request).elements());
  request.progress = &progress;
  Logs logs = evaluate_with(impl, dataset, request);
  progress.end_epoch(logs);
  return logs;
}

std::vector<Tensor> run_predict(Model::Impl& impl, const Dataset& dataset,
                                const PredictOptions& options) {
  check_data("predict", dataset, options.batch_size);
  check_finite("predict", dataset);
  check_data_workers("predict", options.data_workers);
  require_for_predict(impl, dataset, options);
  LoadedProgram& loaded = impl.program(RunMode::predict, options.batch_size, dataset.fields());
  std::vector<Tensor> results;
  std::vector<std::byte*> rows;
  for (const NetworkOutput& output : impl.running(RunMode::predict, dataset.fields()).outputs()) {
    std::vector<int64_t> dims = {dataset.size()};
    dims.insert(dims.end(), output.shape.begin(), output.shape.end());
    results.emplace_back(DType::f32, Shape(dims));
    rows.push_back(results.back().data());
  }
  const int ahead = kEvaluationPrefetch * loaded.placement().replicas;
  BatchStream stream = dataset.batch(options.batch_size)
                           .prefetch(ahead, impl.data_workers(options.data_workers, ahead));
  runtime::BatchSource source = numbered(stream, dataset.size());
  if (options.observe) {
    source = [&options, inner = std::move(source)](Batch& batch) {
      if (!inner(batch)) return false;
      options.observe(batch);
      return true;
    };
  }
  runtime::InfeedQueue infeed(std::move(source), ahead);
  const runtime::UpdatePlan all{.elements = batches_of(dataset, options.batch_size),
                                .samples = dataset.size()};
  const runtime::AveragedWeights averaged(impl.variables);
  loaded.executor().run({.updates = {&all, 1},
                         .micro_batch_size = options.batch_size,
                         .seed = impl.options.seed,
                         .results = rows},
                        infeed);
  return results;
}

}  // namespace pando::train
