// Tests of the rules for a spec of stages.
#include "tests/estimator/pipeline_support.h"

namespace pando::estimator_tests {
namespace {

// The error of a run with a changed spec.
std::string error_with(const Change& change, RunMode mode = RunMode::train,
                       const DeviceRunConfig& device = device_with(1, 2)) {
  const TempFolder folder;
  PipelineEstimator estimator(stages_with(change), options_with(device, folder.path()));
  return error_of([&] {
    switch (mode) {
      case RunMode::train: estimator.train(endless(), {.steps = device.iterations_per_loop}); break;
      case RunMode::evaluate: estimator.evaluate(finite(8)); break;
      case RunMode::predict: estimator.predict(finite(8)).next(); break;
    }
  });
}

TEST(PipelineEstimatorSpec, WantsTwoStages) {
  EXPECT_SAYS(error_with([](Spec& spec) { spec.computational_stages.pop_back(); }),
              "computational_stages: expected at least 2, got 1");
  EXPECT_SAYS(error_with([](Spec& spec) { spec.computational_stages.clear(); }),
              "computational_stages: expected at least 2, got 0");
  EXPECT_SAYS(error_with([](Spec& spec) { spec.computational_stages[1] = {}; }), "stage 1");
}

TEST(PipelineEstimatorSpec, WantsAnAccumulationCountThatDividesTheLoop) {
  EXPECT_SAYS(error_with([](Spec& spec) { spec.gradient_accumulation_count = 0; }),
              "gradient_accumulation_count: expected at least 1, got 0");
  EXPECT_SAYS(
      error_with([](Spec& spec) { spec.gradient_accumulation_count = -2; }, RunMode::predict),
      "gradient_accumulation_count: expected at least 1, got -2");
  for (const int count : {3, 8}) {
    EXPECT_SAYS(error_with([&](Spec& spec) { spec.gradient_accumulation_count = count; }),
                concat("gradient_accumulation_count ", count, ", got 4"));
  }
  // Other modes accumulate nothing, so any loop is valid.
  const TempFolder folder;
  PipelineEstimator estimator(stages_with(), options_with(device_with(1, 2, 3), folder.path()));
  EXPECT_NO_THROW(estimator.evaluate(finite(8)));
}

TEST(PipelineEstimatorSpec, UsesMoreThanHalfOfTheShards) {
  const std::string too_many = error_with({}, RunMode::train, device_with(1, 1));
  EXPECT_SAYS(too_many, "num_shards 1", "1 to 1 devices", "got 2");
  const std::string too_few = error_with({}, RunMode::train, device_with(1, 4));
  EXPECT_SAYS(too_few, "num_shards 4", "3 to 4 devices", "got 2");
  EXPECT_SAYS(error_with([](Spec& spec) {
                spec.device_mapping = {1, 1};
              }),
              "num_shards 2 expected a pipeline on 2 to 2 devices, got 1");
}

TEST(PipelineEstimatorSpec, MapsStagesToDevicesOfTheReplica) {
  EXPECT_SAYS(error_with([](Spec& spec) { spec.device_mapping = {0, 2}; }), "got 2 for stage 1");
  EXPECT_SAYS(error_with([](Spec& spec) { spec.device_mapping = {-1, 0}; }), "got -1 for stage 0");
  EXPECT_SAYS(error_with([](Spec& spec) { spec.device_mapping = {0, 1, 1}; }), "2 stages, got 3");
}

TEST(PipelineEstimatorSpec, SaysWhatAModeIsMissing) {
  for (const RunMode mode : {RunMode::train, RunMode::evaluate}) {
    EXPECT_SAYS(error_with([](Spec& spec) { spec.loss.reset(); }, mode),
                concat("PipelineEstimatorSpec: mode ", to_string(mode), " needs loss"));
  }
  EXPECT_SAYS(error_with([](Spec& spec) { spec.train_op.reset(); }), "mode train needs train_op");
  EXPECT_SAYS(error_with([](Spec& spec) { spec.eval_metric_ops.clear(); }, RunMode::evaluate),
              "needs exactly one of eval_metric_ops and eval_metrics, got none");
  const auto both = [](Spec& spec) {
    spec.eval_metrics = [](const Tensor&, const Tensor&) { return Logs{}; };
  };
  EXPECT_SAYS(error_with(both, RunMode::evaluate), "got both");
  EXPECT_SAYS(error_with([](Spec& spec) { spec.predictions.clear(); }, RunMode::predict),
              "mode predict needs predictions");
}

TEST(PipelineEstimatorSpec, ReplicasWantACrossReplicaOptimizer) {
  EXPECT_SAYS(
      error_with([](Spec& spec) { spec.train_op = momentum(); }, RunMode::train, device_with(2, 2)),
      "CrossReplicaOptimizer");
}

TEST(PipelineEstimatorSpec, AnEmptyModelFunctionIsAnError) {
  EXPECT_SAYS(error_of([] { PipelineEstimator(PipelineModelFn(), {}); }), "model function");
}

}  // namespace
}  // namespace pando::estimator_tests
