// SPDX-License-Identifier: MIT
#include "pando/zoo/task.h"

#include <cmath>

#include <gtest/gtest.h>

#include "pando/nn/losses.h"
#include "pando/zoo/zoo.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

TEST(Task, EveryModelHasOne) {
  for (const ZooEntry& entry : model_zoo()) EXPECT_NO_THROW(task_named(entry.task)) << entry.name;
  for (const Task& task : all_tasks()) {
    EXPECT_NO_THROW(Metric(task.metric)) << task.name;
    EXPECT_EQ(task_of_metric(task.metric).name, task.name);
  }
  EXPECT_SAYS(error_of([] { task_named("regresion"); }), "did you mean 'regression'");
}

TEST(Task, KnowsWhichWayIsBetter) {
  const Task& classes = task_named("classification");
  EXPECT_TRUE(classes.is_better(0.6, 0.5));
  EXPECT_TRUE(classes.reaches(0.5, 0.5));
  const Task& numbers = task_named("regression");
  EXPECT_TRUE(numbers.is_better(0.4, 0.5));
  EXPECT_FALSE(numbers.is_better(0.6, 0.5));
  EXPECT_TRUE(numbers.reaches(0.5, 0.5));
  EXPECT_FALSE(numbers.is_better(std::nan(""), 0.5));
}

TEST(Task, FiguresAreFractionsOrNumbers) {
  EXPECT_EQ(figure_text(task_named("classification"), 0.8281), "82.81 %");
  EXPECT_EQ(figure_text(task_named("regression"), 0.14166), "0.1417");
}

}  // namespace
}  // namespace pando
