// What a spec of stages must have.
#include "tests/estimator/pipeline_support.h"

namespace pando::estimator_tests {
namespace {

// What a run with a changed spec says.
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
              "1 computational_stages, wanted at least 2");
  EXPECT_SAYS(error_with([](Spec& spec) { spec.computational_stages.clear(); }),
              "0 computational_stages, wanted at least 2");
  EXPECT_SAYS(error_with([](Spec& spec) { spec.computational_stages[1] = {}; }),
              "stage 1 is an empty function");
}

TEST(PipelineEstimatorSpec, WantsAnAccumulationCountThatDividesTheLoop) {
  EXPECT_SAYS(error_with([](Spec& spec) { spec.gradient_accumulation_count = 0; }),
              "gradient_accumulation_count is 0, wanted at least 1");
  EXPECT_SAYS(
      error_with([](Spec& spec) { spec.gradient_accumulation_count = -2; }, RunMode::predict),
      "gradient_accumulation_count is -2, wanted at least 1");
  for (const int count : {3, 8}) {
    EXPECT_SAYS(error_with([&](Spec& spec) { spec.gradient_accumulation_count = count; }),
                concat("iterations_per_loop is 4, wanted a multiple of "
                       "gradient_accumulation_count, which is ",
                       count));
  }
  // Nothing is accumulated elsewhere.
  const TempFolder folder;
  PipelineEstimator estimator(stages_with(), options_with(device_with(1, 2, 3), folder.path()));
  EXPECT_NO_THROW(estimator.evaluate(finite(8)));
}

TEST(PipelineEstimatorSpec, UsesMoreThanHalfOfTheShards) {
  const std::string too_many = error_with({}, RunMode::train, device_with(1, 1));
  EXPECT_SAYS(too_many, "the pipeline uses 2 devices, num_shards is 1; wanted 1 to 1 devices");
  const std::string too_few = error_with({}, RunMode::train, device_with(1, 4));
  EXPECT_SAYS(too_few, "the pipeline uses 2 devices, num_shards is 4; wanted 3 to 4 devices");
  EXPECT_SAYS(error_with([](Spec& spec) {
                spec.device_mapping = {1, 1};
              }),
              "the pipeline uses 1 devices, num_shards is 2; wanted 2 to 2 devices");
}

TEST(PipelineEstimatorSpec, MapsStagesToDevicesOfTheReplica) {
  EXPECT_SAYS(error_with([](Spec& spec) {
                spec.device_mapping = {0, 2};
              }),
              "device_mapping puts stage 1 on device 2; wanted 0 to 1");
  EXPECT_SAYS(error_with([](Spec& spec) {
                spec.device_mapping = {-1, 0};
              }),
              "device_mapping puts stage 0 on device -1; wanted 0 to 1");
  EXPECT_SAYS(error_with([](Spec& spec) {
                spec.device_mapping = {0, 1, 1};
              }),
              "device_mapping has 3 entries for 2 stages");
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
      "wrap the optimizer in CrossReplicaOptimizer");
}

TEST(PipelineEstimatorSpec, AnEmptyModelFunctionIsAnError) {
  EXPECT_SAYS(error_of([] { PipelineEstimator(PipelineModelFn(), {}); }),
              "the model function is empty");
}

}  // namespace
}  // namespace pando::estimator_tests
