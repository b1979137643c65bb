// Estimators on the instances of a job: they train one model together, and the first one writes.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <mutex>

#include "pando/comm/dist.h"
#include "tests/estimator/estimator_support.h"
#include "tests/support/thread_instances.h"

namespace pando {
namespace {

using namespace estimator_tests;  // NOLINT(google-build-using-namespace)
using testing_support::on_instances;

TEST(EstimatorInstances, TrainTogetherWhatOneTrainsWithTwiceTheBatch) {
  const TempFolder one, two;
  Estimator alone(replicated_fn, {.model_dir = one.path(), .config = config_of()});
  alone.train(endless(24, 8), {.steps = 6}).train(endless(24, 8), {.steps = 6});
  const auto wanted = alone.evaluate(finite(23, 4));
  on_instances(2, [&](comm::Communicator&) {
    Estimator estimator(replicated_fn, {.model_dir = two.path(), .config = config_of()});
    estimator.train(endless(24, 4), {.steps = 6});
    // Resumed by another estimator: only the first instance has the file.
    Estimator resumed(replicated_fn, {.model_dir = two.path(), .config = config_of()});
    resumed.train(endless(24, 4), {.max_steps = 12});
    const auto found = resumed.evaluate(finite(23, 4));
    EXPECT_EQ(found.at("global_step"), 12);
    EXPECT_NEAR(found.at("loss"), wanted.at("loss"), 1e-4);
    // Each predicts on its own, all with the same weights.
    auto predictions = resumed.predict(finite(4, 2));
    const Tensor first = predictions.next()->at("logits");
    std::vector<float> others(first.f32().begin(), first.f32().end());
    dist::broadcast(others);
    EXPECT_TRUE(std::ranges::equal(others, first.f32()));
  });
  Estimator written(replicated_fn, {.model_dir = two.path(), .config = config_of()});
  EXPECT_EQ(written.global_step(), 12);
  const std::vector<Tensor> left = values_of(alone), right = values_of(written);
  for (size_t i = 0; i < left.size(); ++i) {
    EXPECT_LT(difference(left[i], right[i]).absolute, 1e-5);
  }
}

// Ends a training, on the second instance only.
class StopOfOne : public Hook {
  void after_execution(HookContext& context) override {
    if (dist::instance_index() == 1 && context.global_step == 4) context.stop = true;
  }
};

TEST(EstimatorInstances, StopWhenAHookOfOneWantsIt) {
  const TempFolder folder;
  on_instances(2, [&](comm::Communicator&) {
    Estimator estimator(replicated_fn, {.model_dir = folder.path(),
                                        .config = config_of({.iterations_per_loop = 2})});
    estimator.train(endless(24, 4), {.steps = 20, .hooks = {std::make_shared<StopOfOne>()}});
    EXPECT_EQ(estimator.evaluate(finite(23, 4)).at("global_step"), 4);
    estimator.train(finite(23, 4));  // six batches, of which the last one is short
    EXPECT_EQ(estimator.evaluate(finite(23, 4)).at("global_step"), 7);
  });
}

TEST(EstimatorInstances, TheFirstWritesReports) {
  const TempFolder folder;
  on_instances(2, [&](comm::Communicator&) {
    Estimator estimator(replicated_fn,
                        {.model_dir = folder.path(),
                         .config = config_of({.profiling = true, .compile_summary = true})});
    estimator.train(endless(24, 4), {.steps = 4}).evaluate(finite(23, 4));
  });
  for (const char* name : {"train_report.txt", "eval_report.txt"}) {
    EXPECT_SAYS(folder.read(name), "2 replicas on 2 instances") << name;
  }
}

TEST(EstimatorInstances, AgreeOnATemporaryFolder) {
  std::mutex mutex;
  std::vector<std::string> folders;
  on_instances(2, [&](comm::Communicator&) {
    const Estimator estimator(replicated_fn, {.config = config_of()});
    const std::lock_guard lock(mutex);
    folders.push_back(estimator.model_dir());
  });
  EXPECT_EQ(folders[0], folders[1]);
  std::filesystem::remove_all(folders[0]);
}

TEST(EstimatorInstances, WantACrossReplicaOptimizerAndBatchesThatDivide) {
  const TempFolder folder;
  on_instances(2, [&](comm::Communicator&) {
    Estimator estimator(classifier_fn, {.model_dir = folder.path(), .config = config_of()});
    EXPECT_SAYS(error_of<InvalidArgument>([&] { estimator.train(endless(), {.steps = 1}); }),
                "2 replicas");
    const std::string uneven =
        error_of<InvalidArgument>([&] { Estimator(classifier_fn, {.train_batch_size = 5}); });
    EXPECT_SAYS(uneven, "train_batch_size: ");
    EXPECT_SAYS(uneven, "2 x 1, got 5");
  });
}

}  // namespace
}  // namespace pando
