// Checks that networks in stages learn the same weights as in one piece.
#include "tests/estimator/pipeline_support.h"

namespace pando::estimator_tests {
namespace {

// The weights of a pipeline after some steps.
Weights learnt(const Change& change = {}, const DeviceRunConfig& device = device_with(1, 2),
               int64_t batch = 4) {
  const TempFolder folder;
  PipelineEstimator estimator(stages_with(change), options_with(device, folder.path()));
  estimator.train(endless(22, batch), {.steps = 8});
  return weights_of(estimator);
}

// A plain fit with the same updates, by gradient accumulation on one device.
Weights learnt_by_model(double rate = 0.05) {
  const SymbolicTensor input = Input({6, 6, 1});
  SymbolicTensor x = MaxPooling2D({.name = "pool"})(conv()(input));
  x = classes()(hidden()(Flatten({.name = "flat"})(x)));
  Model model(Network(input, x), {.seed = 5});
  model.set_gradient_accumulation_options({.steps_per_replica = 2});
  model.compile(classifier(momentum(rate)));
  model.fit(image_data(22).shuffle({.seed = 3}).repeat().take(8 * 4),
            {.batch_size = 4, .shuffle = false, .verbose = 0});
  Weights weights;
  for (const std::string& name : model.weight_names()) {
    weights.emplace(name, model.get_weight(name));
  }
  return weights;
}

TEST(PipelineEstimator, LearnsWhatGradientAccumulationLearns) {
  const Weights expected = learnt_by_model();
  EXPECT_LT(largest_difference(learnt(), expected), kRounding);
  EXPECT_GT(largest_difference(learnt_by_model(0.04), expected), 1e-4);
}

TEST(PipelineEstimator, SchedulesAndRecomputationGiveTheSameBits) {
  const Weights expected = learnt();
  for (const PipelineSchedule schedule :
       {PipelineSchedule::grouped, PipelineSchedule::interleaved, PipelineSchedule::sequential}) {
    for (const Recomputation recomputation : {Recomputation::none, Recomputation::interleaved}) {
      const Weights found = learnt([&](Spec& spec) {
        spec.schedule = schedule;
        spec.recomputation = recomputation;
      });
      EXPECT_EQ(largest_difference(found, expected), 0) << to_string(schedule);
    }
  }
}

TEST(PipelineEstimator, StagesMayShareDevices) {
  const Weights expected = learnt();
  const Weights found = learnt([](Spec& spec) { spec.device_mapping = {0, 0}; }, device_with(1, 1));
  EXPECT_LT(largest_difference(found, expected), kRounding);
  EXPECT_EQ(largest_difference(learnt([](Spec& spec) {
                                 spec.device_mapping = {1, 0};
                               }),
                               expected),
            0);
}

TEST(PipelineEstimator, ReplicasOfPipelinesDivideTheGlobalBatch) {
  EXPECT_LT(largest_difference(learnt({}, device_with(2, 2), 2), learnt()), kRounding);
}

TEST(PipelineEstimator, SumsOfGradientsActAsAHigherRate) {
  const Weights summed = learnt([](Spec& spec) {
    spec.reduction = GradientReduction::sum;
    spec.train_op = momentum(0.025);
  });
  EXPECT_LT(largest_difference(summed, learnt()), kRounding);
}

TEST(PipelineEstimator, OneExecutionOrManyDoNotMatter) {
  const Weights expected = learnt();
  for (const int64_t iterations : {2, 8}) {
    EXPECT_EQ(largest_difference(learnt({}, device_with(1, 2, iterations)), expected), 0);
  }
}

TEST(PipelineEstimator, GoesOnFromItsCheckpointWithTheSameBits) {
  const TempFolder folder;
  Weights found;
  for (const int64_t done : {0, 4}) {
    PipelineEstimator estimator(stages_with(), options_with(device_with(1, 2), folder.path()));
    EXPECT_EQ(estimator.global_step(), done);
    estimator.train(endless(22), {.steps = 4});
    found = weights_of(estimator);
  }
  EXPECT_EQ(largest_difference(found, learnt()), 0);
}

// Counts executions and steps.
class Counter : public Hook {
 public:
  void after_execution(HookContext& context) override {
    global_steps.push_back(context.global_step);
    steps.push_back(context.steps);
    loss = context.logs.at(0).second;
  }
  std::vector<int64_t> global_steps, steps;
  double loss = 0;
};

TEST(PipelineEstimator, AStepIsAMicroBatchOnEachReplica) {
  const TempFolder folder;
  const auto counter = std::make_shared<Counter>();
  PipelineEstimator estimator(stages_with(), options_with(device_with(2, 2), folder.path()));
  estimator.train(endless(), {.steps = 12, .hooks = {counter}});
  EXPECT_EQ(counter->global_steps, (std::vector<int64_t>{4, 8, 12}));
  EXPECT_EQ(counter->steps, (std::vector<int64_t>{4, 4, 4}));
  EXPECT_GT(counter->loss, 0);
  EXPECT_EQ(estimator.global_step(), 12);
}

// 48 samples are 12 micro-batches; the 13th has 2 samples and gets its own update.
TEST(PipelineEstimator, FiniteDataEndATraining) {
  const TempFolder folder;
  PipelineEstimator estimator(stages_with(), options_with(device_with(1, 2), folder.path()));
  estimator.train(finite(50));
  EXPECT_EQ(estimator.global_step(), 13);
}

TEST(PipelineEstimator, TrainsToTheWeightUpdateThatMaxStepsFallsInto) {
  const TempFolder folder;
  PipelineEstimator estimator(stages_with(), options_with(device_with(1, 2), folder.path()));
  estimator.train(endless(22), {.max_steps = 5});
  EXPECT_EQ(estimator.global_step(), 6);
  estimator.train(endless(22), {.max_steps = 6});
  EXPECT_EQ(estimator.global_step(), 6);
  estimator.train(endless(22), {.max_steps = 8});
  EXPECT_EQ(largest_difference(weights_of(estimator), learnt()), 0);
}

// An estimator of the network in one piece reads the same checkpoint.
TEST(PipelineEstimator, EvaluatesAndPredictsAsWithoutStages) {
  const TempFolder folder;
  PipelineEstimator pipeline(stages_with(), options_with(device_with(1, 2), folder.path()));
  pipeline.train(endless(), {.steps = 40});
  Estimator whole(in_one_piece, options_with({}, folder.path()));

  const auto found = pipeline.evaluate(finite(23));
  const auto expected = whole.evaluate(finite(23));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found.at("global_step"), 40);
  EXPECT_NEAR(found.at("loss"), expected.at("loss"), kRounding);
  EXPECT_DOUBLE_EQ(found.at("accuracy"), expected.at("accuracy"));
  EXPECT_GT(found.at("accuracy"), 0.8);

  PredictionStream rows = pipeline.predict(finite(23));
  PredictionStream expected_rows = whole.predict(finite(23));
  int count = 0;
  for (const Prediction& row : rows) {
    const auto other = expected_rows.next();
    ASSERT_TRUE(other.has_value());
    EXPECT_LT(difference(row.at("probabilities"), other->at("probabilities")).absolute, kRounding);
    EXPECT_TRUE(same_bits(row.at("classes"), other->at("classes")));
    ++count;
  }
  EXPECT_EQ(count, 23);
}

TEST(PipelineEstimator, HostMetricsSeeAllOutputsAndLabels) {
  const TempFolder folder;
  const auto host = [](Spec& spec) {
    spec.eval_metric_ops.clear();
    spec.eval_metrics = [](const Tensor& outputs, const Tensor& labels) {
      return Logs{{"rows", static_cast<double>(outputs.shape()[0])},
                  {"labels", static_cast<double>(labels.shape()[0])}};
    };
  };
  PipelineEstimator estimator(stages_with(host), options_with(device_with(1, 2), folder.path()));
  const auto found = estimator.evaluate(finite(11));
  EXPECT_EQ(found.at("rows"), 11);
  EXPECT_EQ(found.at("labels"), 11);
  EXPECT_GT(found.at("loss"), 0);
}

}  // namespace
}  // namespace pando::estimator_tests
