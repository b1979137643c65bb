// A C++ program trains by the body of `pando train` with a network, data and callbacks of its own.
// SPDX-License-Identifier: MIT
#include <csignal>

#include "pando/app/job/exit_code.h"
#include "pando/nn/layers.h"
#include "tests/app/training_run_fixture.h"

namespace pando::app {
namespace {

class WatchedFit : public Callback {
 public:
  void on_train_begin(FitContext& context) override {
    layer = context.model->network().layers().back().name;
  }
  void on_epoch_begin(FitContext&) override {
    if (raises) std::raise(SIGTERM);
  }
  void on_execution_end(FitContext& context, const Logs&) override {
    samples += context.sums.samples;
  }

  std::string layer;
  int64_t samples = 0;
  bool raises = false;
};

TEST_F(TrainingRunTest, APartOfTheProgramReplacesThatOfTheOptions) {
  const auto watch = std::make_shared<WatchedFit>();
  const Dataset own =
      Dataset::from_tensors(Tensor(DType::f32, {10, 2, 2, 1}), Tensor(DType::i32, {10}));
  TrainingParts parts;
  parts.model = zoo_entry("mnist_cnn");
  parts.model->make = [](const Shape& shape, int64_t classes, const ZooOptions&) {
    return Sequential(
        shape,
        {Flatten(), Dense({.units = classes, .activation = "softmax", .name = "of_the_program"})});
  };
  parts.data = TrainingData{.sets = {.train = own, .test = own, .classes = 3}};
  parts.callbacks = {watch};
  TrainOptions given = options("run");
  given.micro_batch_size = 5;
  EXPECT_EQ(app::run_training(given, out_, parts), kDone);
  EXPECT_EQ(watch->layer, "of_the_program");
  EXPECT_EQ(watch->samples, 20);  // two epochs
  EXPECT_TRUE(std::filesystem::exists(folder_.path / "run/checkpoints/epoch_2.0.h5"));
}

TEST_F(TrainingRunTest, AWarmUpIsUndone) {
  EXPECT_EQ(run_training(options("cold")), kDone);
  TrainingParts parts;
  parts.warm_up_updates = 2;
  EXPECT_EQ(app::run_training(options("warm"), out_, parts), kDone);
  EXPECT_NE(folder_.read("warm/log.txt").find("a warm-up of 2 weight updates"), std::string::npos);
  const std::string file = "/checkpoints/epoch_2.0.h5";
  EXPECT_EQ(folder_.read("warm" + file), folder_.read("cold" + file));
}

TEST_F(TrainingRunTest, AProgramLearnsWhichSignalStoppedIt) {
  const auto watch = std::make_shared<WatchedFit>();
  watch->raises = true;
  std::string cause;
  TrainingParts parts;
  parts.callbacks = {watch};
  parts.stopped = [&](const std::string& signal) { cause = signal; };
  EXPECT_EQ(app::run_training(options("run"), out_, parts), kStopped);
  EXPECT_EQ(cause, "SIGTERM");
}

}  // namespace
}  // namespace pando::app
