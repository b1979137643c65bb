// A model whose layers have pipeline stages.
// SPDX-License-Identifier: MIT
#include <sstream>

#include "tests/train/train_support.h"

namespace pando {
namespace {

std::vector<int> stages_of(const Model& model) {
  std::vector<int> stages;
  for (const StageAssignment& entry : model.get_pipeline_stage_assignment()) {
    stages.push_back(entry.pipeline_stage);
  }
  return stages;
}

using Stages = std::vector<int>;

TEST(ModelStages, AreReadAndSet) {
  Model model(small_cnn());
  EXPECT_EQ(stages_of(model), (Stages{-1, -1, -1, -1}));
  model.set_pipeline_stage_assignment({0, 0, 1, 1});
  EXPECT_EQ(stages_of(model), (Stages{0, 0, 1, 1}));
  std::vector<StageAssignment> assignment = model.get_pipeline_stage_assignment();
  assignment[1].pipeline_stage = 1;
  model.set_pipeline_stage_assignment(assignment);
  EXPECT_EQ(stages_of(model), (Stages{0, 1, 1, 1}));
  model.set_pipeline_splits({"flatten", "dense"});
  EXPECT_EQ(stages_of(model), (Stages{0, 0, 1, 2}));
  EXPECT_EQ(model.network().stages(), 3);
  model.reset_pipeline_stage_assignment();
  EXPECT_EQ(stages_of(model), (Stages{-1, -1, -1, -1}));
}

TEST(ModelStages, AnErrorChangesNothing) {
  Model model(small_cnn());
  model.set_pipeline_splits({"flatten"});
  EXPECT_SAYS(error_of([&] { model.set_pipeline_splits({"flaten"}); }), "did you mean 'flatten'");
  EXPECT_SAYS(error_of([&] { model.set_pipeline_stage_assignment({0, 1}); }), "got 2");
  EXPECT_EQ(stages_of(model), (Stages{0, 0, 1, 1}));
}

TEST(ModelStages, ArePrinted) {
  Model model(small_cnn(), {.name = "small"});
  model.set_pipeline_splits({"dense"});
  std::ostringstream out;
  model.print_pipeline_stage_assignment_summary(out, 60);
  EXPECT_SAYS(out.str(), "Model: \"small\"\n");
  EXPECT_SAYS(out.str(), model.network().stage_summary(60));
}

// The IR of every program that is compiled from now on.
struct Dumps {
  std::map<std::string, std::string> first;
  ExecutionOptions options() {
    return {.dump_ir = [this](const std::string& program, std::string_view,
                              const std::string& text) { first.emplace(program, text); }};
  }
};

TEST(ModelStages, ProgramsAreCompiledAnew) {
  Dumps dumps;
  Model model = compiled(small_cnn(), classifier(SGD(), dumps.options()));
  const auto run = [&] {
    dumps.first.clear();
    model.fit(image_data(8), {.batch_size = 4, .verbose = 0});
    model.evaluate(image_data(8));
    model.predict(images(2).x);
    return dumps.first;
  };
  EXPECT_EQ(run()["train"].find(" ^"), std::string::npos);
  EXPECT_TRUE(run().empty());
  model.set_pipeline_splits({"flatten"});
  for (const char* program : {"train", "evaluate", "predict"}) {
    EXPECT_SAYS(run()[program], " ^1");
    model.set_pipeline_splits({"flatten"});
  }
  model.reset_pipeline_stage_assignment();
  EXPECT_EQ(run()["train"].find(" ^"), std::string::npos);
}

TEST(ModelStages, TheLossBelongsToTheLastStage) {
  Dumps dumps;
  Model model = compiled(small_cnn(), classifier(SGD(), dumps.options()));
  model.set_pipeline_splits({"max_pooling2d", "dense"});
  model.fit(image_data(8), {.batch_size = 4, .verbose = 0});
  std::istringstream lines(dumps.first["train"]);
  int found = 0;
  for (std::string line; std::getline(lines, line);) {
    for (const char* op : {" cross_entropy(", " cross_entropy_grad(", " top_k_accuracy("}) {
      if (line.find(op) == std::string::npos) continue;
      EXPECT_SAYS(line, " ^2");
      ++found;
    }
  }
  EXPECT_EQ(found, 3) << dumps.first["train"];
}

// Stages and checkpoints decide where and when to compute, not what.
TEST(ModelStages, WeightsLearnAsWithout) {
  const auto trained = [](const Network& network, const std::vector<std::string>& splits) {
    // The same slices, however many cores a stage has.
    Model model = compiled(network, classifier(SGD(), {.slices = 2}));
    model.set_pipeline_splits(splits);
    model.fit(image_data(12), {.epochs = 2, .batch_size = 4, .verbose = 0});
    return model;
  };
  const Network marked =
      Sequential({6, 6, 1}, {Conv2D({.filters = 4, .kernel = {3, 3}, .activation = "relu"}),
                             RecomputationCheckpoint(), MaxPooling2D(), RecomputationCheckpoint(),
                             Flatten(), Dense({.units = 3, .activation = "softmax"})});
  const Model plain = trained(small_cnn(), {});
  EXPECT_TRUE(same_weights(plain, trained(small_cnn(), {"max_pooling2d", "dense"})));
  EXPECT_TRUE(same_weights(plain, trained(marked, {})));
}

}  // namespace
}  // namespace pando
