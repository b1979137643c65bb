// Tests of the files, lines and calls of an estimator while it runs.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "tests/estimator/estimator_support.h"

namespace pando {
namespace {

using namespace estimator_tests;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

class Recorder : public Hook {
 public:
  explicit Recorder(bool all = false, int64_t stop_at = -1) : all_(all), stop_at_(stop_at) {}
  bool wants_all_values() const override { return all_; }
  void begin(HookContext& context) override {
    calls.push_back("begin " + std::to_string(context.global_step));
    names = context.names;
  }
  void before_execution(HookContext&) override { calls.emplace_back("before"); }
  void after_execution(HookContext& context) override {
    calls.push_back("after " + std::to_string(context.global_step));
    logs = context.logs;
    if (context.values != nullptr) values = *context.values;
    if (context.global_step == stop_at_) context.stop = true;
  }
  void end(HookContext& context) override {
    calls.push_back("end " + std::to_string(context.global_step));
  }

  std::vector<std::string> calls;
  std::vector<std::string> names;
  Logs logs;
  std::vector<StepValues> values;

 private:
  bool all_;
  int64_t stop_at_;
};

std::vector<std::string> checkpoints_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("model.ckpt-")) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

int event_files_in(const std::string& folder) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    count += entry.path().filename().string().starts_with("events.out.tfevents") ? 1 : 0;
  }
  return count;
}

// How often a tag occurs in the event files of a folder.
int64_t mentions(const std::string& folder, const std::string& tag) {
  int64_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("events.out.tfevents")) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    for (size_t at = bytes.find(tag); at != std::string::npos; at = bytes.find(tag, at + 1)) {
      ++count;
    }
  }
  return count;
}

TEST(EstimatorHooks, AreCalledAroundExecutions) {
  const TempFolder folder;
  Estimator estimator(
      classifier_fn, {.model_dir = folder.path(), .config = config_of({.iterations_per_loop = 2})});
  const auto hook = std::make_shared<Recorder>();
  estimator.train(endless(), {.steps = 4, .hooks = {hook}});
  EXPECT_EQ(hook->calls, (std::vector<std::string>{"begin 0", "before", "after 2", "before",
                                                   "after 4", "end 4"}));
  EXPECT_EQ(hook->names, (std::vector<std::string>{"loss", "accuracy"}));
  EXPECT_EQ(hook->values.size(), 1);
  EXPECT_EQ(hook->logs.at(0).first, "loss");
  const auto all = std::make_shared<Recorder>(true);
  estimator.train(endless(), {.steps = 2, .hooks = {all}});
  ASSERT_EQ(all->values.size(), 2);
  const double mean = (all->values[0].logs[0].second + all->values[1].logs[0].second) / 2;
  EXPECT_NEAR(all->logs[0].second, mean, 1e-6);  // of this execution only
}

TEST(EstimatorHooks, CanEndATraining) {
  const TempFolder folder;
  Estimator estimator(classifier_fn, {.model_dir = folder.path(), .config = config_of()});
  estimator.train(endless(), {.steps = 10, .hooks = {std::make_shared<Recorder>(false, 3)}});
  EXPECT_EQ(estimator.global_step(), 3);
}

TEST(EstimatorHooks, OfEvaluationAndOfTheSpecAreCalledToo) {
  const TempFolder folder;
  const auto own = std::make_shared<Recorder>();
  const auto model_fn = [&](const ModelInput& in) {
    EstimatorSpec spec = classifier_fn(in);
    spec.evaluation_hooks = {own};
    return spec;
  };
  Estimator estimator(
      model_fn, {.model_dir = folder.path(), .config = config_of({.iterations_per_loop = 3})});
  const auto given = std::make_shared<Recorder>();
  const auto results = estimator.evaluate(finite(24, 4), {.hooks = {given}});
  EXPECT_EQ(own->calls, given->calls);
  EXPECT_EQ(std::ranges::count(own->calls, "after 0"), 2);
  EXPECT_EQ(own->logs.at(0).second, results.at("loss"));
}

TEST(EstimatorHooks, LoggingHookWritesTheMeanOfALoop) {
  const TempFolder folder;
  const Lines lines = make_lines();
  const auto model_fn = [](const ModelInput& in) {
    EstimatorSpec spec = classifier_fn(in);
    const auto hook = make_logging_hook({.every_n_iter = 2, .mode = LoggingMode::all});
    hook->log({"loss", "accuracy"});
    spec.training_hooks = {hook};
    return spec;
  };
  RunConfig config = config_of({.iterations_per_loop = 2}, lines);
  config.log_step_count_steps = 0;
  Estimator(model_fn, {.model_dir = folder.path(), .config = config})
      .train(endless(), {.steps = 10});
  ASSERT_EQ(lines->size(), 3);  // executions 1, 3 and 5
  EXPECT_TRUE(lines->at(0).starts_with("loss = ")) << lines->at(0);
  EXPECT_SAYS(lines->at(0), ", accuracy = ");
}

TEST(EstimatorHooks, LoggingHookWritesWhatAnEvaluationHasSoFar) {
  const TempFolder folder;
  const Lines lines = make_lines();
  const auto hook = make_logging_hook({.every_n_iter = 1, .formatter = [](const Logs& values) {
                                         return concat(values.at(0).second);
                                       }});
  hook->log({"loss"});
  Estimator estimator(classifier_fn, {.model_dir = folder.path(),
                                      .config = config_of({.iterations_per_loop = 3}, lines)});
  const auto results = estimator.evaluate(finite(24, 4), {.hooks = {hook}});
  ASSERT_EQ(lines->size(), 2);
  EXPECT_NE(lines->at(0), lines->at(1));
  EXPECT_EQ(lines->at(1), concat(results.at("loss")));
}

TEST(EstimatorFiles, CheckpointsFollowTheirSteps) {
  const TempFolder folder;
  RunConfig config = config_of({.iterations_per_loop = 2});
  config.save_checkpoints_steps = 4;
  config.keep_checkpoint_max = 2;
  std::vector<int64_t> before;
  std::vector<std::string> after;
  const CheckpointListener listener{
      .before_save = [&](int64_t step) { before.push_back(step); },
      .after_save = [&](int64_t, const std::string& path) { after.push_back(path); }};
  Estimator estimator(classifier_fn, {.model_dir = folder.path(), .config = config});
  estimator.train(endless(), {.steps = 10, .saving_listeners = {listener}});
  EXPECT_EQ(before, (std::vector<int64_t>{0, 4, 8, 10}));
  EXPECT_EQ(after.back(), folder.path("model.ckpt-10.h5"));
  EXPECT_EQ(checkpoints_in(folder.path()),
            (std::vector<std::string>{"model.ckpt-10.h5", "model.ckpt-8.h5"}));
  EXPECT_EQ(estimator.latest_checkpoint(), folder.path("model.ckpt-10.h5"));
  EXPECT_EQ(estimator.evaluate(finite(), {.checkpoint_path = folder.path("model.ckpt-8.h5")})
                .at("global_step"),
            8);
}

// After a crash, training continues from a checkpoint within a run in the same way as from the
// last one.
TEST(EstimatorFiles, ARunGoesOnFromACheckpointWithinAnother) {
  const TempFolder folder;
  RunConfig config =
      config_of({.iterations_per_loop = 2, .num_replicas = 2, .devices = {{.devices = 2}}});
  config.save_checkpoints_steps = 4;
  Estimator estimator(replicated_fn, {.model_dir = folder.path(), .config = config});
  const auto train = [&] {
    estimator.train(endless(22, 3), {.max_steps = 12});
    return values_of(estimator);
  };
  const std::vector<Tensor> whole = train();
  for (const char* lost : {"checkpoint", "model.ckpt-8.h5", "model.ckpt-12.h5"}) {
    fs::remove(folder.path(lost));
  }
  EXPECT_EQ(estimator.global_step(), 4);
  EXPECT_TRUE(same_bits(train(), whole));
}

TEST(EstimatorFiles, EveryExecutionCanHaveACheckpoint) {
  const TempFolder folder;
  RunConfig config = config_of();
  config.save_checkpoints_secs = 0;
  config.keep_checkpoint_max = 0;
  Estimator(classifier_fn, {.model_dir = folder.path(), .config = config})
      .train(endless(), {.steps = 3});
  EXPECT_EQ(checkpoints_in(folder.path()).size(), 4);
}

TEST(EstimatorFiles, ThreeLoopsOfTwoGiveThreeSummaries) {
  const TempFolder folder;
  RunConfig config = config_of({.iterations_per_loop = 2, .compile_summary = true});
  config.save_summary_steps = 1;
  Estimator estimator(classifier_fn, {.model_dir = folder.path(), .config = config});
  estimator.train(endless(), {.steps = 6});
  EXPECT_EQ(event_files_in(folder.path()), 1);
  EXPECT_EQ(mentions(folder.path(), "learning_rate"), 3);
  EXPECT_EQ(mentions(folder.path(), "global_step/sec"), 3);
  EXPECT_EQ(mentions(folder.path(), "compile_report"), 1);
  estimator.evaluate(finite());
  estimator.evaluate(finite(), {.name = "other"});
  EXPECT_EQ(mentions(folder.path("eval"), "accuracy"), 1);
  EXPECT_EQ(mentions(folder.path("eval_other"), "accuracy"), 1);
}

TEST(EstimatorFiles, SummariesAndLinesFallDueByStepsAndCanBeOff) {
  const TempFolder folder, silent;
  const Lines lines = make_lines();
  RunConfig config = config_of({.iterations_per_loop = 2}, lines);
  config.save_summary_steps = 4;
  config.log_step_count_steps = 4;
  Estimator(classifier_fn, {.model_dir = folder.path(), .config = config})
      .train(endless(), {.steps = 8});
  EXPECT_EQ(mentions(folder.path(), "learning_rate"), 2);  // after steps 2 and 6
  ASSERT_EQ(lines->size(), 2);
  EXPECT_TRUE(lines->at(1).starts_with("step 6: loss = ")) << lines->at(1);
  EXPECT_SAYS(lines->at(1), " steps/s)");
  config.save_summary_steps = 0;
  config.log_step_count_steps = 0;
  Estimator(classifier_fn, {.model_dir = silent.path(), .config = config})
      .train(endless(), {.steps = 8});
  EXPECT_EQ(event_files_in(silent.path()), 0);
  EXPECT_EQ(lines->size(), 2);
}

// Another user's model may be evaluated in a folder without permission to write.
TEST(EstimatorFiles, AnEvaluationWithoutASummaryIsOneStill) {
  const TempFolder folder;
  const Lines lines = make_lines();
  folder.write_text("file", "");
  Estimator estimator(classifier_fn,
                      {.model_dir = folder.path("file/model"), .config = config_of({}, lines)});
  EXPECT_GT(estimator.evaluate(finite()).at("loss"), 0);
  EXPECT_SAYS(lines->back(), "warning: ");
}

TEST(EstimatorFiles, AFolderThatCannotBeWrittenIsAnErrorBeforeTraining) {
  const TempFolder folder;
  folder.write_text("file", "");
  Estimator estimator(classifier_fn,
                      {.model_dir = folder.path("file/model"), .config = config_of()});
  EXPECT_SAYS(error_of<IoError>([&] { estimator.train(endless(), {.steps = 1}); }), "file/model");
}

}  // namespace
}  // namespace pando
