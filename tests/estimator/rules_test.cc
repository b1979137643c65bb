// Errors that name the rule which a run breaks, where no other test has them, and stages of the
// user.
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
  EXPECT_SAYS(error_of([] { learnt_by(in_own_stages, device_with(1, 1)); }),
              "the network has 2 stages, num_shards is 1; wanted at most one stage per shard");
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
  EXPECT_SAYS(error_of([] { learnt_by(in_one_piece, device_with(2, 1)); }),
              "num_replicas is 2 on each of 1 instances, but the launcher says 4 replicas in all");
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
  EXPECT_SAYS(error_of([&] { other.evaluate(finite()); }),
              "has no weight 'other/kernel', which the network has");
}

TEST(EstimatorRules, TrainAndEvaluateCountsForwards) {
  const TempFolder folder;
  Estimator estimator(in_one_piece, options_with({}, folder.path()));
  EXPECT_SAYS(error_of([&] {
                train_and_evaluate(estimator, {.input_fn = endless(), .max_steps = 4},
                                   {.input_fn = finite(), .every_n_steps = -1});
              }),
              "max_steps is 4 and every_n_steps -1; wanted at least 1 and at least 0");
}

// Sets TMPDIR until it ends.
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
  for (const char* path : {"/proc", "/no/such/folder"}) {  // nobody can write there
    const TemporaryFolders elsewhere(path);
    EXPECT_SAYS(error_of<IoError>([] { Estimator(in_one_piece, {}); }),
                "can be made; give a model_dir");
  }
}

}  // namespace
}  // namespace pando::estimator_tests
