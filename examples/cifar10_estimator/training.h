// What the three programs of this folder do alike around their estimators.
// SPDX-License-Identifier: MIT
#pragma once

#include "cifar10.h"

namespace cifar10 {

// Plain stochastic gradient descent; the replicas' gradients are averaged, those of the pipeline's
// micro-batches added up.
inline constexpr double kLearningRate = 0.01;

struct TrainingOptions {
  Options common;
  int64_t epochs = 150;
};
void add_training_flags(pando::OptionTable& table, TrainingOptions& options);

struct Steps {
  int64_t per_loop = 0;  // of one execution: as many as the whole batches of test images
  int64_t per_epoch = 0;
};

// An execution is a whole multiple of `multiple` steps; an epoch as many executions as there are
// test sets in the training set (5 for CIFAR-10), whatever the number of replicas. Throws
// UsageError when the test images do not fill an execution.
Steps count_steps(const pando::TrainTest& data, int64_t batch_size, int64_t multiple = 1);

// One device; programs change the device part.
pando::RunConfig run_config(const Steps& steps);

// Says what is about to be trained.
void describe(std::span<const pando::Layer> layers, const Steps& steps);

// Trains for all epochs and prints accuracy and loss on the test images; gives the exit code.
int train_and_check(pando::Estimator& estimator, const pando::TrainTest& data,
                    const TrainingOptions& options, const Steps& steps);

}  // namespace cifar10
