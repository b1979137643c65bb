// Tests of errors that name the broken rule and have no other test, and of stages set by the user.
#include <cstdlib>

#include "pando/comm/job.h"
#include "pando/nn/pipeline_stage.h"
#include "tests/estimator/pipeline_support.h"

namespace pando::estimator_tests {
namespace {

// The network of in_one_piece(), with a stage for each of its two halves.
EstimatorSpec in_own_stages(const ModelInput& input) {
  EstimatorSpec spec = in_one_piece(input);
  SymbolicTensor x = input.features;
  {
    const PipelineStage stage(0);
    x = Flatten({.name = "flat"})(MaxPooling2D({.name = "pool"})(conv()(x)));
  }
  const PipelineStage stage(1);
  spec.output = classes()(hidden()(x));
  return spec;
}

Weights learnt_by(const ModelFn& model_fn, const DeviceRunConfig& device) {
  const TempFolder folder;
  Estimator estimator(model_fn, options_with(device, folder.path()));
  estimator.train(endless(), {.steps = 4});
  return weights_of(estimator);
}

TEST(EstimatorRules, StagesOfTheUserAreShards) {
  const Weights expected = learnt_by(in_one_piece, device_with(1, 1));
  EXPECT_LT(largest_difference(learnt_by(in_own_stages, device_with(1, 2)), expected), kRounding);
  EXPECT_LT(largest_difference(learnt_by(in_own_stages, device_with(1, 3)), expected), kRounding);
  EXPECT_SAYS(error_of([] { learnt_by(in_own_stages, device_with(1, 1)); }), "got 1 for 2 stages");
}

TEST(EstimatorRules, HooksOfACallAreNotNull) {
  const TempFolder folder;
  Estimator estimator(in_one_piece, options_with({}, folder.path()));
  EXPECT_SAYS(error_of([&] { estimator.train(endless(), {.steps = 1, .hooks = {nullptr}}); }),
              "a hook of mode train is null");
  EXPECT_SAYS(error_of([&] { estimator.evaluate(finite(), {.hooks = {nullptr}}); }),
              "a hook of mode evaluate is null");
  EXPECT_SAYS(error_of([&] { estimator.predict(finite(), {.hooks = {nullptr}}); }),
              "a hook of mode predict is null");
}

TEST(EstimatorRules, ReplicasAreThoseTheLauncherSays) {
  const comm::JobScope scope({.total_replicas = 4});
  const std::string message = error_of([] { learnt_by(in_one_piece, device_with(2, 1)); });
  EXPECT_SAYS(message, "num_replicas: ");
  EXPECT_SAYS(message, "4 replicas in all, got 2 on each of 1");
}

TEST(EstimatorRules, ACheckpointHasTheWeightsOfTheNetwork) {
  const TempFolder folder;
  Estimator(in_one_piece, options_with({}, folder.path())).train(endless(), {.steps = 1});
  Estimator other(
      [](const ModelInput& input) {
        EstimatorSpec spec = in_one_piece(input);
        spec.output = Dense({.units = 3, .name = "other"})(Flatten()(input.features));
        return spec;
      },
      options_with({}, folder.path()));
  EXPECT_SAYS(error_of([&] { other.evaluate(finite()); }), "has no weight 'other/kernel'");
}

TEST(EstimatorRules, TrainAndEvaluateCountsForwards) {
  const TempFolder folder;
  Estimator estimator(in_one_piece, options_with({}, folder.path()));
  EXPECT_SAYS(error_of([&] {
                train_and_evaluate(estimator, {.input_fn = endless(), .max_steps = 4},
                                   {.input_fn = finite(), .every_n_steps = -1});
              }),
              "got 4 and -1");
}

// Sets TMPDIR until the end of the scope.
class TemporaryFolders {
 public:
  explicit TemporaryFolders(const char* path) : had_(std::getenv("TMPDIR") != nullptr) {
    if (had_) before_ = std::getenv("TMPDIR");
    setenv("TMPDIR", path, 1);
  }
  ~TemporaryFolders() { had_ ? setenv("TMPDIR", before_.c_str(), 1) : unsetenv("TMPDIR"); }
  TemporaryFolders(const TemporaryFolders&) = delete;
  TemporaryFolders& operator=(const TemporaryFolders&) = delete;

 private:
  bool had_;
  std::string before_;
};

TEST(EstimatorRules, SomeFolderMustBeThere) {
  for (const char* path : {"/proc", "/no/such/folder"}) {  // not writable, even for root
    const TemporaryFolders elsewhere(path);
    EXPECT_SAYS(error_of<IoError>([] { Estimator(in_one_piece, {}); }), "model_dir");
  }
}

}  // namespace
}  // namespace pando::estimator_tests
