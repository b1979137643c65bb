// Runs `pando train` on a small temporary data set.
// SPDX-License-Identifier: MIT
#pragma once

#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "pando/app/run/training_run.h"
#include "tests/app/mnist_folder.h"

namespace pando::app {

class TrainingRunTest : public testing::Test {
 protected:
  TrainingRunTest() { write_mnist(folder_); }

  // The output of the run is appended to out_.
  int run_training(const TrainOptions& options) { return app::run_training(options, out_); }

  // Two epochs of three steps; the eight samples left over begin the second epoch.
  TrainOptions options(const std::string& run) const {
    TrainOptions options;
    options.data.dataset_path = folder_.path.string();
    options.num_epochs = 2;
    options.seed = 1;
    options.slices = 2;
    options.schedule.learning_rate = 0.05;
    options.run_dir = (folder_.path / run).string();
    options.config_text = "model: mnist_cnn\n";
    options.quiet = true;
    return options;
  }

  TestFolder folder_;
  std::ostringstream out_;
};

}  // namespace pando::app
