#include "pando/store/assign.h"

#include "tests/store/store_support.h"

namespace pando::store {
namespace {

const std::vector<ExpectedWeight> kModel = {
    {"conv2d", "kernel", {1, 2, 1, 2}}, {"conv2d", "bias", {2}}, {"block1/bn", "gamma", {2}}};

TEST(PlanAssignment, StrictGoesByOrderAndIgnoresNames) {
  const WeightsFile file = small_example();
  std::vector<ExpectedWeight> model = kModel;
  model[0].layer = model[1].layer = "other";
  model[1].name = "offset";
  const Assignment plan = plan_assignment(model, file);
  ASSERT_EQ(plan.sources.size(), 3u);
  EXPECT_EQ(plan.sources[0], &file.layers[1].weights[0].value);
  EXPECT_EQ(plan.sources[1], &file.layers[1].weights[1].value);
  EXPECT_EQ(plan.sources[2], &file.layers[2].weights[0].value);
  EXPECT_TRUE(plan.skipped.empty());
  EXPECT_TRUE(plan.unused.empty());
}

TEST(PlanAssignment, EqualNamesInAnotherOrderAreMatchedByName) {
  WeightsFile file = small_example();
  std::swap(file.layers[1].weights[0], file.layers[1].weights[1]);
  const Assignment plan = plan_assignment(kModel, file);
  EXPECT_EQ(plan.sources[0]->shape(), (Shape{1, 2, 1, 2}));
}

TEST(PlanAssignment, StrictWantsEqualCounts) {
  WeightsFile file = small_example();
  file.path = "some.h5";
  const auto two = std::span(kModel).first(2);
  std::string message = message_of<InvalidArgument>([&] { plan_assignment(two, file); });
  expect_contains(message, "'some.h5'");
  expect_contains(message, "expected 1");
  expect_contains(message, "got 2");
  std::vector<ExpectedWeight> model = kModel;
  model.erase(model.begin() + 1);
  message = message_of<InvalidArgument>([&] { plan_assignment(model, file); });
  expect_contains(message, "'conv2d'");
  expect_contains(message, "(kernel)");
  expect_contains(message, "(kernel, bias)");
}

TEST(PlanAssignment, NamesLayerAndBothShapes) {
  std::vector<ExpectedWeight> model = kModel;
  model[2].shape = {3};
  for (const MatchMode mode : {MatchMode::strict, MatchMode::by_name}) {
    const std::string message = message_of<InvalidArgument>(
        [&] { plan_assignment(model, small_example(), {.mode = mode}); });
    expect_contains(message, "layer 'block1/bn'");
    expect_contains(message, "[3]");
    expect_contains(message, "[2]");
  }
}

TEST(PlanAssignment, ByNameLeavesOthersAlone) {
  const WeightsFile file = small_example();
  std::vector<ExpectedWeight> model = kModel;
  model[0].layer = model[1].layer = "new_layer";
  const Assignment plan = plan_assignment(model, file, {.mode = MatchMode::by_name});
  EXPECT_EQ(plan.sources[0], nullptr);
  EXPECT_EQ(plan.sources[1], nullptr);
  EXPECT_EQ(plan.sources[2], &file.layers[2].weights[0].value);
  ASSERT_EQ(plan.skipped.size(), 1u);
  expect_contains(plan.skipped[0], "'new_layer'");
  EXPECT_EQ(plan.unused, std::vector<std::string>{"conv2d"});
}

TEST(PlanAssignment, SkipMismatchLeavesTheWholeLayerAlone) {
  const WeightsFile file = small_example();
  std::vector<ExpectedWeight> model = kModel;
  model[1].shape = {5};
  const AssignOptions options = {.mode = MatchMode::by_name, .skip_mismatch = true};
  const Assignment plan = plan_assignment(model, file, options);
  EXPECT_EQ(plan.sources[0], nullptr);
  EXPECT_EQ(plan.sources[1], nullptr);
  EXPECT_NE(plan.sources[2], nullptr);
  ASSERT_EQ(plan.skipped.size(), 1u);
  expect_contains(plan.skipped[0], "[5]");
  EXPECT_EQ(plan.unused, std::vector<std::string>{"conv2d"});
}

TEST(PlanAssignment, SkipMismatchNeedsByName) {
  EXPECT_THROW(plan_assignment(kModel, small_example(), {.skip_mismatch = true}), InvalidArgument);
}

}  // namespace
}  // namespace pando::store
