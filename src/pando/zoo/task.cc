// SPDX-License-Identifier: MIT
#include "pando/zoo/task.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "pando/base/error.h"

namespace pando {

namespace {

const Task& find_task(const std::string& kind, const std::string& name, std::string Task::*key) {
  std::vector<std::string> known;
  for (const Task& task : all_tasks()) {
    if (task.*key == name) return task;
    known.push_back(task.*key);
  }
  throw InvalidArgument(unknown_name_message(kind, name, known));
}

}  // namespace

bool Task::is_better(double value, double than) const {
  return larger_is_better ? value > than : value < than;
}

bool Task::reaches(double value, double target) const {
  return larger_is_better ? value >= target : value <= target;
}

const std::vector<Task>& all_tasks() {
  static const std::vector<Task> tasks = {
      {.name = "classification", .metric = "accuracy"},
      {.name = "multilabel",
       .metric = "f1_score",
       .loss = "binary_crossentropy",
       .activation = "sigmoid",
       .answers = AnswerKind::labels},
      {.name = "regression",
       .metric = "mae",
       .larger_is_better = false,
       .is_fraction = false,
       .loss = "mean_squared_error",
       .activation = "",
       .answers = AnswerKind::numbers},
      {.name = "segmentation", .metric = "mean_iou", .answers = AnswerKind::pixels}};
  return tasks;
}

const Task& task_named(const std::string& name) { return find_task("task", name, &Task::name); }

const Task& task_of_metric(const std::string& metric) {
  return find_task("metric of a task", metric, &Task::metric);
}

std::string figure_text(const Task& task, double value) {
  std::string text(64, '\0');
  const char* format = task.is_fraction ? "%.2f %%" : "%.4f";
  const int length =
      std::snprintf(text.data(), text.size(), format, task.is_fraction ? 100 * value : value);
  text.resize(static_cast<size_t>(std::clamp(length, 0, 63)));
  return text;
}

}  // namespace pando
