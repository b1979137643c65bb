// SPDX-License-Identifier: MIT
#include "pando/estimator/estimator.h"

#include <sched.h>

#include "tests/estimator/estimator_support.h"

namespace pando {
namespace {

using namespace estimator_tests;  // NOLINT(google-build-using-namespace)

TEST(Estimator, TrainsEvaluatesAndCountsSteps) {
  const TempFolder folder;
  Estimator estimator(classifier_fn, {.model_dir = folder.path(),
                                      .config = config_of({.iterations_per_loop = 20})});
  const auto before = estimator.evaluate(finite());
  EXPECT_EQ(before.at("global_step"), 0);
  estimator.train(endless(), {.steps = 60});
  const auto after = estimator.evaluate(finite());
  EXPECT_EQ(after.at("global_step"), 60);
  EXPECT_EQ(estimator.global_step(), 60);
  EXPECT_LT(after.at("loss"), 0.5 * before.at("loss"));
  EXPECT_GT(after.at("accuracy"), 0.9);
}

TEST(Estimator, GoesOnFromACheckpointAsIfThereHadBeenNoBreak) {
  const TempFolder whole, broken;
  const RunConfig config = config_of({.iterations_per_loop = 5});
  Estimator at_once(classifier_fn, {.model_dir = whole.path(), .config = config});
  at_once.train(endless(22), {.steps = 20});
  Estimator(classifier_fn, {.model_dir = broken.path(), .config = config})
      .train(endless(22), {.steps = 5});
  Estimator resumed(classifier_fn, {.model_dir = broken.path(), .config = config});
  resumed.train(endless(22), {.steps = 5}).train(endless(22), {.max_steps = 20});
  EXPECT_EQ(resumed.global_step(), 20);
  EXPECT_TRUE(same_bits(values_of(at_once), values_of(resumed)));
}

TEST(Estimator, LoopsDoNotChangeTheResult) {
  const TempFolder one, many;
  Estimator single(classifier_fn, {.model_dir = one.path(), .config = config_of()});
  Estimator looped(classifier_fn,
                   {.model_dir = many.path(), .config = config_of({.iterations_per_loop = 6})});
  single.train(endless(), {.steps = 12});
  looped.train(endless(), {.steps = 12});
  EXPECT_TRUE(same_bits(values_of(single), values_of(looped)));
}

TEST(Estimator, FiniteDataEndATrainingWithTheirLastSample) {
  const TempFolder folder;
  Estimator estimator(
      classifier_fn, {.model_dir = folder.path(), .config = config_of({.iterations_per_loop = 4})});
  estimator.train(finite(22, 4));
  EXPECT_EQ(estimator.global_step(), 6);  // five whole batches and one of two samples
  estimator.train(finite(22, 4));
  EXPECT_EQ(estimator.global_step(), 12);
  estimator.train(finite(22, 4), {.steps = 4});
  EXPECT_EQ(estimator.global_step(), 16);
  estimator.train(finite(22, 4), {.steps = 400});
  EXPECT_EQ(estimator.global_step(), 22);
}

TEST(Estimator, MaxStepsIsExactAndDoneOnce) {
  const TempFolder folder;
  const Lines lines = make_lines();
  Estimator estimator(classifier_fn, {.model_dir = folder.path(),
                                      .config = config_of({.iterations_per_loop = 4}, lines)});
  estimator.train(endless(), {.max_steps = 10});
  EXPECT_EQ(estimator.global_step(), 10);
  estimator.train(endless(), {.max_steps = 10});
  EXPECT_SAYS(lines->back(), "no training", "step 10", "max_steps is 10");
}

TEST(Estimator, StepsMustBeWholeLoops) {
  const TempFolder folder;
  Estimator estimator(
      classifier_fn, {.model_dir = folder.path(), .config = config_of({.iterations_per_loop = 4})});
  const auto train = [&](const EstimatorTrainOptions& options) {
    return error_of<InvalidArgument>([&] { estimator.train(endless(), options); });
  };
  EXPECT_SAYS(train({.steps = 6}), "train: steps: ");
  EXPECT_SAYS(train({.steps = 6}), "iterations_per_loop 4", "got 6");
  EXPECT_SAYS(train({.steps = 0}), "train: steps: ");
  EXPECT_SAYS(train({.steps = 0}), "got 0");
  EXPECT_SAYS(train({.max_steps = 0}), "train: max_steps: ");
  EXPECT_SAYS(train({.steps = 4, .max_steps = 4}), "steps and max_steps");
  EXPECT_SAYS(train({}), "steps or max_steps");
  const std::string odd =
      error_of<InvalidArgument>([&] { estimator.evaluate(finite(), {.steps = 3}); });
  EXPECT_SAYS(odd, "evaluate: steps: ");
  EXPECT_SAYS(odd, "iterations_per_loop 4", "got 3");
  EXPECT_SAYS(error_of<InvalidArgument>([&] { estimator.evaluate(endless()); }),
              "evaluate: the data repeat without end");
}

TEST(Estimator, ReplicasWantACrossReplicaOptimizer) {
  const TempFolder folder;
  const DeviceRunConfig two{.num_replicas = 2, .devices = {{.devices = 2}}};
  Estimator estimator(classifier_fn, {.model_dir = folder.path(), .config = config_of(two)});
  EXPECT_SAYS(error_of<InvalidArgument>([&] { estimator.train(endless(), {.steps = 1}); }),
              "CrossReplicaOptimizer");
}

TEST(Estimator, TwoReplicasTrainAsOneWithTwiceTheBatch) {
  const TempFolder one, two;
  Estimator single(replicated_fn, {.model_dir = one.path(), .config = config_of()});
  Estimator pair(replicated_fn,
                 {.model_dir = two.path(),
                  .config = config_of({.num_replicas = 2, .devices = {{.devices = 2}}})});
  single.train(endless(24, 8), {.steps = 10});
  pair.train(endless(24, 4), {.steps = 10});
  EXPECT_EQ(pair.global_step(), 10);
  const std::vector<Tensor> left = values_of(single), right = values_of(pair);
  for (size_t i = 0; i < left.size(); ++i) {
    EXPECT_LT(difference(left[i], right[i]).absolute, 1e-5);
  }
}

int first_core() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof(set), &set);
  int core = 0;
  while (!CPU_ISSET(core, &set)) ++core;
  return core;
}

TEST(Estimator, TheSameReplicasOnOneCoreOrManyGiveTheSameBits) {
  const TempFolder one, many;
  const DeviceStrategyOptions crowded{.devices = 2, .core_sets = {{first_core()}, {first_core()}}};
  Estimator on_one(replicated_fn, {.model_dir = one.path(),
                                   .config = config_of({.num_replicas = 2, .devices = {crowded}})});
  Estimator on_many(replicated_fn,
                    {.model_dir = many.path(),
                     .config = config_of(
                         {.num_replicas = 2, .devices = {{.devices = 2, .cores_per_device = 1}}})});
  on_one.train(endless(), {.steps = 6});
  on_many.train(endless(), {.steps = 6});
  EXPECT_TRUE(same_bits(values_of(on_one), values_of(on_many)));
}

TEST(Estimator, BatchSizesOfTheEstimatorAreThoseOfAllReplicas) {
  const TempFolder folder;
  int64_t model_batch = 0;
  const auto model_fn = [&](const ModelInput& in) {
    model_batch = in.params.get_int("batch_size");
    return replicated_fn(in);
  };
  Estimator estimator(model_fn,
                      {.model_dir = folder.path(),
                       .config = config_of({.num_replicas = 2, .devices = {{.devices = 2}}}),
                       .train_batch_size = 8});
  int64_t input_batch = 0;
  estimator.train(
      [&](const InputContext& context) -> InputData {
        input_batch = context.params.get_int("batch_size");
        return image_data(24).repeat();
      },
      {.steps = 2});
  EXPECT_EQ(model_batch, 4);
  EXPECT_EQ(input_batch, 4);
}

TEST(Estimator, NamesTheRuleThatItsOptionsBreak) {
  const auto says = [](const EstimatorOptions& options) {
    return error_of<InvalidArgument>([&] { Estimator(classifier_fn, options); });
  };
  EXPECT_SAYS(says({.params = {{"input_fn", int64_t{1}}}}), "'input_fn'");
  EXPECT_SAYS(says({.params = {{"batch_size", int64_t{1}}}, .eval_batch_size = 2}),
              "'batch_size' and eval_batch_size");
  EXPECT_SAYS(says({.train_batch_size = 0}), "train_batch_size", "positive multiple");
  const std::string uneven =
      says({.config = config_of({.num_replicas = 2, .devices = {{.devices = 2}}}),
            .predict_batch_size = 3});
  EXPECT_SAYS(uneven, "predict_batch_size: ");
  EXPECT_SAYS(uneven, "1 x 2, got 3");
  RunConfig elsewhere = config_of();
  elsewhere.model_dir = "b";
  EXPECT_SAYS(says({.model_dir = "a", .config = elsewhere}), "model_dir is 'a'");
  EXPECT_SAYS(says({.model_dir = "a", .config = elsewhere}), "'b'");
  EXPECT_SAYS(error_of<InvalidArgument>([] { Estimator(ModelFn{}); }), "model function is empty");
  EXPECT_SAYS(error_of<InvalidArgument>([] { PipelineEstimator(PipelineModelFn{}); }),
              "model function is empty");
}

TEST(Estimator, WithoutAModelDirTakesATemporaryFolderAndSaysSo) {
  const Lines lines = make_lines();
  Estimator estimator(classifier_fn, {.config = config_of({}, lines)});
  EXPECT_SAYS(lines->at(0), "model_dir");
  EXPECT_SAYS(lines->at(0), estimator.model_dir());
  EXPECT_TRUE(std::filesystem::is_directory(estimator.model_dir()));
  std::filesystem::remove_all(estimator.model_dir());
}

TEST(Estimator, ALossThatIsNoNumberIsToldByTheGlobalStep) {
  const TempFolder folder;
  const auto model_fn = [](const ModelInput& in) {
    return classifier_spec(in, SGD({.learning_rate = in.global_step == 0 ? 0.01 : 1e30}));
  };
  Estimator estimator(
      model_fn, {.model_dir = folder.path(), .config = config_of({.iterations_per_loop = 4})});
  estimator.train(endless(), {.steps = 8});
  EXPECT_SAYS(error_of<NonFiniteLoss>([&] { estimator.train(endless(), {.steps = 8}); }),
              "4 steps after global step ");
  EXPECT_EQ(estimator.global_step(), 8);
}

TEST(Estimator, DevicesThatTheNetworkDoesNotUseAreToldOf) {
  const TempFolder folder;
  const Lines lines = make_lines();
  Estimator estimator(classifier_fn,
                      {.model_dir = folder.path(),
                       .config = config_of({.num_shards = 2, .devices = {{.devices = 2}}}, lines)});
  estimator.train(endless(), {.steps = 1});
  EXPECT_SAYS(lines->at(0), "num_shards is 2");
  EXPECT_SAYS(lines->at(0), "1 device;");
}

TEST(Estimator, InputsMustMakeSense) {
  const TempFolder folder;
  Estimator estimator(classifier_fn, {.model_dir = folder.path(), .config = config_of()});
  const auto train = [&](const InputFn& input) {
    return error_of<InvalidArgument>([&] { estimator.train(input, {.steps = 1}); });
  };
  EXPECT_SAYS(train({}), "train: the input function");
  Estimator sized(classifier_fn,
                  {.model_dir = folder.path(), .config = config_of(), .train_batch_size = 8});
  const std::string other = error_of<InvalidArgument>([&] { sized.train(finite(24, 4)); });
  EXPECT_SAYS(other, "batch size of 4");
  EXPECT_SAYS(other, "8 for each replica");
  EXPECT_SAYS(train(finite(24, 0)), "got 0; return {dataset, batch_size}");
  EXPECT_SAYS(train([](const InputContext&) { return InputData(image_data(4).take(0), 2); }),
              "no samples");
}

TEST(Estimator, SpecsMustHaveWhatTheirModeNeeds) {
  const TempFolder folder;
  EstimatorSpec spec;
  const auto model_fn = [&](const ModelInput& in) {
    EstimatorSpec made = spec;
    if (spec.output) made.output = small_network(in.features);
    return made;
  };
  Estimator estimator(model_fn, {.model_dir = folder.path(), .config = config_of()});
  const auto train = [&] { return error_of<InvalidArgument>([&] { estimator.train(finite()); }); };
  const auto evaluate = [&] {
    return error_of<InvalidArgument>([&] { estimator.evaluate(finite()); });
  };
  EXPECT_SAYS(train(), "EstimatorSpec", "mode train", "output");
  spec.output = Input({1});
  EXPECT_SAYS(train(), "mode train needs loss");
  EXPECT_SAYS(error_of<InvalidArgument>([&] { estimator.predict(finite()); }),
              "mode predict needs predictions");
  spec.loss = "sparse_categorical_crossentropy";
  EXPECT_SAYS(train(), "mode train needs train_op");
  EXPECT_SAYS(evaluate(), "eval_metric_ops", "eval_metrics", "got none");
  spec.eval_metric_ops = {"accuracy"};
  spec.eval_metrics = [](const Tensor&, const Tensor&) { return Logs(); };
  EXPECT_SAYS(evaluate(), "eval_metric_ops", "eval_metrics", "got both");
  spec.predictions = {OutputValues("a"), ClassNumbers("a")};
  EXPECT_SAYS(error_of<InvalidArgument>([&] { estimator.predict(finite()); }), "'a'");
  spec.train_op = SGD();
  spec.training_hooks = {nullptr};
  EXPECT_SAYS(train(), "a hook of mode train is null");
}

TEST(Estimator, MetricsOfTheHostSeeAllOutputsAndLabels) {
  const TempFolder folder;
  const auto model_fn = [](const ModelInput& in) {
    EstimatorSpec spec = classifier_fn(in);
    spec.eval_metric_ops.clear();
    spec.eval_metrics = [](const Tensor& outputs, const Tensor& labels) -> Logs {
      const Tensor classes = ClassNumbers().make(outputs);
      int64_t right = 0;
      for (size_t i = 0; i < classes.i32().size(); ++i) {
        right += classes.i32()[i] == labels.i32()[i] ? 1 : 0;
      }
      return {{"right", static_cast<double>(right)},
              {"samples", static_cast<double>(labels.shape()[0])}};
    };
    return spec;
  };
  const RunConfig config = config_of({.iterations_per_loop = 2});
  Estimator host(model_fn, {.model_dir = folder.path(), .config = config});
  host.train(endless(), {.steps = 20});
  const auto found = host.evaluate(finite(23, 4));
  EXPECT_EQ(found.at("samples"), 23);
  Estimator devices(classifier_fn, {.model_dir = folder.path(), .config = config});
  const auto wanted = devices.evaluate(finite(23, 4));
  EXPECT_NEAR(found.at("right") / 23, wanted.at("accuracy"), 1e-6);
  EXPECT_NEAR(found.at("loss"), wanted.at("loss"), 1e-6);
  // Rows of weight 0 are padding for the host too.
  const Dataset weighted = image_data(23).add_field(
      {"sample_weight", DType::f32, {}},
      [](const SampleView& sample) { sample.f32(0)[0] = sample.index() % 2 == 0 ? 1.0f : 0.0f; });
  EXPECT_EQ(
      host.evaluate([=](const InputContext&) { return InputData(weighted, 4); }).at("samples"), 12);
}

TEST(Estimator, WithoutCheckpointsWhatWasTrainedIsEvaluated) {
  const TempFolder folder;
  RunConfig config = config_of();
  config.save_checkpoints = false;
  Estimator estimator(classifier_fn, {.model_dir = folder.path(), .config = config});
  estimator.train(endless(), {.steps = 3}).train(endless(), {.steps = 4});
  EXPECT_FALSE(estimator.latest_checkpoint());
  EXPECT_EQ(estimator.evaluate(finite()).at("global_step"), 7);
  // Also if training started from an earlier checkpoint.
  Estimator(classifier_fn, {.model_dir = folder.path(), .config = config_of()})
      .train(endless(), {.steps = 2});
  Estimator going_on(classifier_fn, {.model_dir = folder.path(), .config = config});
  going_on.train(endless(), {.steps = 3}).train(endless(), {.steps = 3});
  EXPECT_EQ(going_on.evaluate(finite()).at("global_step"), 8);
}

TEST(Estimator, AStopEndsTrainingWithACheckpoint) {
  const TempFolder folder;
  Estimator estimator(classifier_fn, {.model_dir = folder.path(),
                                      .config = config_of({.iterations_per_loop = 50})});
  const std::atomic<bool> stop = true;
  estimator.train(endless(), {.steps = 100, .stop = &stop});
  EXPECT_TRUE(estimator.latest_checkpoint());
  EXPECT_LT(estimator.global_step(), 100);
}

TEST(Estimator, TrainAndEvaluateTakesTurns) {
  const TempFolder folder;
  Estimator estimator(classifier_fn, {.model_dir = folder.path(), .config = config_of()});
  int evaluations = 0;
  const InputFn counted = [&](const InputContext& context) {
    ++evaluations;
    return finite()(context);
  };
  const auto results = train_and_evaluate(estimator, {.input_fn = endless(), .max_steps = 10},
                                          {.input_fn = counted, .every_n_steps = 4});
  EXPECT_EQ(evaluations, 3);
  EXPECT_EQ(results.at("global_step"), 10);
  EXPECT_SAYS(error_of<InvalidArgument>([&] {
                train_and_evaluate(estimator, {.input_fn = endless()}, {.input_fn = counted});
              }),
              "max_steps");
}

TEST(Estimator, TrainAndEvaluateEndsWithTheDataOrAHook) {
  const TempFolder ended, stopped;
  Estimator short_of_data(classifier_fn, {.model_dir = ended.path(), .config = config_of()});
  auto results = train_and_evaluate(short_of_data, {.input_fn = finite(24, 4), .max_steps = 100},
                                    {.input_fn = finite()});
  EXPECT_EQ(results.at("global_step"), 6);
  class StopAtThree : public Hook {
    void after_execution(HookContext& context) override { context.stop = context.global_step == 3; }
  };
  Estimator hooked(classifier_fn, {.model_dir = stopped.path(), .config = config_of()});
  results = train_and_evaluate(
      hooked, {.input_fn = endless(), .max_steps = 10, .hooks = {std::make_shared<StopAtThree>()}},
      {.input_fn = finite(), .every_n_steps = 5});
  EXPECT_EQ(results.at("global_step"), 3);
}

TEST(Estimator, TurnsOfTrainAndEvaluateWantDataWithoutEnd) {
  const TempFolder folder;
  Estimator estimator(classifier_fn, {.model_dir = folder.path(), .config = config_of()});
  const auto turns = [&](const InputFn& input_fn) {
    return error_of<InvalidArgument>([&] {
      train_and_evaluate(estimator, {.input_fn = input_fn, .max_steps = 10},
                         {.input_fn = finite(), .every_n_steps = 4});
    });
  };
  EXPECT_SAYS(turns(finite()), "got 24 samples");
  EXPECT_SAYS(turns({}), "train: the input function");
}

TEST(Estimator, VariablesCanBeLookedAt) {
  const TempFolder folder;
  Estimator estimator(classifier_fn, {.model_dir = folder.path(), .config = config_of()});
  EXPECT_TRUE(estimator.variable_names().empty());
  EXPECT_SAYS(error_of<InvalidArgument>([&] { estimator.variable_value("dense/bias"); }),
              "train first");
  estimator.train(endless(), {.steps = 1});
  EXPECT_EQ(estimator.variable_value("dense/bias").shape(), Shape({3}));
  EXPECT_SAYS(error_of<InvalidArgument>([&] { estimator.variable_value("dense/bios"); }),
              "dense/bias");
}

TEST(Estimator, HostCallsWantLoopsOfOne) {
  const TempFolder folder;
  std::vector<int64_t> steps;
  const auto model_fn = [&](const ModelInput& in) {
    EstimatorSpec spec = classifier_fn(in);
    spec.host_call = [&](int64_t step, const Logs& values) {
      EXPECT_EQ(values.at(0).first, "loss");
      steps.push_back(step);
    };
    return spec;
  };
  Estimator(model_fn, {.model_dir = folder.path(), .config = config_of()})
      .train(endless(), {.steps = 3});
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3}));
  Estimator looped(model_fn,
                   {.model_dir = folder.path(), .config = config_of({.iterations_per_loop = 2})});
  EXPECT_SAYS(error_of<InvalidArgument>([&] { looped.train(endless(), {.steps = 2}); }),
              "host_call needs iterations_per_loop 1, got 2");
}

TEST(Estimator, ProfilingLeavesReportsInTheModelDir) {
  const TempFolder folder;
  const Lines lines = make_lines();
  Estimator estimator(classifier_fn,
                      {.model_dir = folder.path(),
                       .config = config_of({.iterations_per_loop = 2, .profiling = true}, lines)});
  estimator.train(endless(), {.steps = 4}).evaluate(finite());
  for (const char* name : {"train_report.txt", "train_report.json", "train_trace.json",
                           "eval_report.txt", "eval_report.json", "eval_trace.json"}) {
    EXPECT_TRUE(std::filesystem::exists(folder.path(name))) << name;
  }
  EXPECT_EQ(lines->back(), "Wrote profiling report to " + folder.path("eval_report.txt"));
}

}  // namespace
}  // namespace pando
