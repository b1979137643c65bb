// Code shared by the three programs of this folder: flags, steps, training and the final check.
// SPDX-License-Identifier: MIT
#pragma once

#include "cifar10.h"

namespace cifar10 {

// The learning rate of plain stochastic gradient descent. Gradients of replicas are averaged, those
// of the pipeline's micro-batches are summed.
inline constexpr double kLearningRate = 0.01;

struct TrainingOptions {
  Options common;
  int64_t epochs = 150;
};
void add_training_flags(pando::OptionTable& table, TrainingOptions& options);

struct Steps {
  int64_t per_loop = 0;  // per execution: the number of whole batches of test images
  int64_t per_epoch = 0;
};

// The steps of an execution are a multiple of `multiple`. An epoch has as many executions as the
// training set has test sets (5 for CIFAR-10), whatever the number of replicas. Throws UsageError
// if the test images do not fill an execution.
Steps count_steps(const pando::TrainTest& data, int64_t batch_size, int64_t multiple = 1);

// The configuration for one device; programs change the device part.
pando::RunConfig run_config(const Steps& steps);

// Prints what is about to be trained.
void describe(std::span<const pando::Layer> layers, const Steps& steps);

// Trains for all epochs and prints accuracy and loss on the test images. Returns the exit code.
int train_and_check(pando::Estimator& estimator, const pando::TrainTest& data,
                    const TrainingOptions& options, const Steps& steps);

}  // namespace cifar10
