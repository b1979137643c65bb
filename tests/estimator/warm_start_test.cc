// SPDX-License-Identifier: MIT
#include "tests/estimator/estimator_support.h"

namespace pando {
namespace {

using namespace estimator_tests;  // NOLINT(google-build-using-namespace)

class WarmStarts : public testing::Test {
 protected:
  WarmStarts() {
    Estimator(classifier_fn, {.model_dir = from_.path(), .config = config_of()})
        .train(endless(), {.steps = 5});
  }
  // The value of a weight after a warm start and no training.
  Tensor started(const WarmStart& from, const std::string& name, const ModelFn& model_fn) {
    const TempFolder folder;
    Estimator estimator(
        model_fn, {.model_dir = folder.path(), .config = config_of(), .warm_start_from = from});
    const std::atomic<bool> stop = true;
    estimator.train(endless(), {.steps = 1, .stop = &stop});
    return estimator.variable_value(name);
  }
  std::string error(const WarmStart& from) {
    return error_of<Error>([&] { started(from, "dense/kernel", classifier_fn); });
  }
  Tensor saved(const std::string& name) {
    return Estimator(classifier_fn, {.model_dir = from_.path(), .config = config_of()})
        .variable_value(name);
  }

  TempFolder from_;
};

TEST_F(WarmStarts, TakesWeightsOfAFolderOrAFile) {
  for (const std::string& path : {from_.path(), from_.path("model.ckpt-5.h5")}) {
    EXPECT_TRUE(same_bits(started(path, "dense/kernel", classifier_fn), saved("dense/kernel")));
  }
}

TEST_F(WarmStarts, TakesThoseThatAreAskedFor) {
  WarmStart convolutions = from_.path();
  convolutions.variables = "^conv2d/";
  EXPECT_TRUE(
      same_bits(started(convolutions, "conv2d/kernel", classifier_fn), saved("conv2d/kernel")));
  EXPECT_FALSE(
      same_bits(started(convolutions, "dense/kernel", classifier_fn), saved("dense/kernel")));
}

TEST_F(WarmStarts, FollowsNames) {
  const auto renamed_fn = [](const ModelInput& in) {
    EstimatorSpec spec = classifier_fn(in);
    auto x =
        Conv2D({.filters = 4, .kernel = {3, 3}, .activation = "relu", .name = "stem"})(in.features);
    spec.output = Dense({.units = 3})(Flatten()(MaxPooling2D()(x)));
    return spec;
  };
  WarmStart from = from_.path();
  from.previous_names = {{"stem/kernel", "conv2d/kernel"}, {"stem/bias", "conv2d/bias"}};
  EXPECT_TRUE(same_bits(started(from, "stem/kernel", renamed_fn), saved("conv2d/kernel")));
}

TEST_F(WarmStarts, ACheckpointOfTheModelDirComesFirst) {
  const TempFolder folder;
  Estimator(classifier_fn, {.model_dir = folder.path(), .config = config_of()})
      .train(endless(), {.steps = 2});
  Estimator estimator(
      classifier_fn,
      {.model_dir = folder.path(), .config = config_of(), .warm_start_from = from_.path()});
  estimator.train(endless(), {.steps = 1});
  EXPECT_EQ(estimator.global_step(), 3);
}

TEST_F(WarmStarts, NamesWhatIsWrong) {
  WarmStart none = from_.path();
  none.variables = "^nothing$";
  EXPECT_SAYS(error(none), "'^nothing$'");
  WarmStart broken = from_.path();
  broken.variables = "(";
  EXPECT_SAYS(error(broken), "regular expression, got '('");
  WarmStart odd = from_.path();
  odd.previous_names = {{"dense/kernal", "x"}};
  EXPECT_SAYS(error(odd), "dense/kernel");
  odd.previous_names = {{"dense/kernel", "densa/kernel"}};
  EXPECT_SAYS(error(odd), "`previous_names`");
  const TempFolder empty;
  EXPECT_SAYS(error(empty.path()), "no readable checkpoint");
}

}  // namespace
}  // namespace pando
