#include "pando/train/stagnation.h"

#include "tests/train/train_support.h"

namespace pando {
namespace {

// What the watch tells about 11 epochs of 50 updates.
std::vector<std::string> told_by(CompileOptions options) {
  Model model = compiled(small_cnn(), std::move(options));
  std::vector<std::string> told;
  FitOptions fit{.epochs = 11, .batch_size = 2, .shuffle = false, .verbose = 0};
  fit.callbacks = {
      std::make_shared<StagnationWatch>([&](const std::string& line) { told.push_back(line); })};
  model.fit(image_data(100), fit);
  return told;
}

CompileOptions half_with(double scaling) {
  CompileOptions options = classifier(SGD({.learning_rate = 0.01}));
  options.precision = parse_precision("16.32");
  options.loss_scaling.factor = scaling;
  return options;
}

TEST(Stagnation, TrainingThatMovesIsNotMentioned) {
  EXPECT_EQ(told_by(classifier(SGD({.learning_rate = 0.01}))), std::vector<std::string>{});
  EXPECT_EQ(told_by(half_with(128)), std::vector<std::string>{});
}

TEST(Stagnation, GradientsThatVanishOrAreCutOffAreToldOnce) {
  for (const double scaling : {1e20, 1e-20}) {
    const std::vector<std::string> told = told_by(half_with(scaling));
    ASSERT_EQ(told.size(), 1u) << scaling;
    EXPECT_SAYS(told[0], "have not changed", "dense/kernel", "--loss-scaling");
  }
}

TEST(Stagnation, ALossThatDoesNotMoveIsTold) {
  const std::vector<std::string> told = told_by(classifier(SGD({.learning_rate = 1e-7})));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_SAYS(told[0], "the loss does not move", "learning rate (1e-07");
}

}  // namespace
}  // namespace pando
