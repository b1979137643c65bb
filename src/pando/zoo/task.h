// The task of a network: the figure that measures its quality, and whether higher or lower is
// better. Logs, early stopping, the best checkpoint and reports follow it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace pando {

// The meaning of the numbers of an output; reports and predictions follow it.
enum class AnswerKind {
  classes,  // one class is right
  labels,   // any number of classes, each with a probability of its own
  numbers,  // values
  pixels,   // a class for every pixel
};

struct Task {
  std::string name;    // "classification"
  std::string metric;  // measured beside the loss: "accuracy"
  bool larger_is_better = true;
  bool is_fraction = true;  // shown in percent
  // The loss, and the activation of the last layer, with which a classifier of the zoo is trained
  // for the task (head.h). Empty: it cannot be trained for the task, or is made for it.
  std::string loss = {};
  std::string activation = {};
  AnswerKind answers = AnswerKind::classes;

  // False for numbers that are not finite.
  bool is_better(double value, double than) const;
  bool reaches(double value, double target) const;
};

const std::vector<Task>& all_tasks();
// Throw InvalidArgument for an unknown name.
const Task& task_named(const std::string& name);
const Task& task_of_metric(const std::string& metric);

// The value of a task's metric for people: "82.81 %", "0.1417".
std::string figure_text(const Task& task, double value);

}  // namespace pando
