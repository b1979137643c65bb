// Runs whose training pictures are changed and mixed.
// SPDX-License-Identifier: MIT
#include "pando/app/job/exit_code.h"
#include "pando/store/weights_file.h"
#include "tests/app/training_run_fixture.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

class AugmentedRun : public TrainingRunTest {
 protected:
  TrainOptions all(const std::string& run) const {
    TrainOptions given = options(run);
    AugmentationFlags& flags = given.data.augmentation;
    flags.random_flip = RandomFlip::both;
    flags.random_crop = 2;
    flags.random_rotation = 10;
    flags.color_jitter = {0.4, 0.4, 0.4, 0.1};
    flags.randaugment = {2, 9};
    flags.random_erasing = 0.5;
    flags.mixup = 0.2;
    flags.cutmix = 1;
    return given;
  }
  std::string checkpoint(const std::string& run) const {
    return folder_.read(run + "/checkpoints/epoch_2.0.h5");
  }
  // Without the options, which a checkpoint records too.
  std::string weights(const std::string& run) const {
    const std::string path = folder_.path / run / "checkpoints/epoch_2.0.h5";
    std::string bytes;
    for (const store::LayerWeights& layer : store::read_weights_file(path).layers) {
      for (const store::NamedWeight& weight : layer.weights) {
        bytes.append(reinterpret_cast<const char*>(weight.value.data()), weight.value.bytes());
      }
    }
    return bytes;
  }
};

TEST_F(AugmentedRun, TrainsAndValidatesOnPlainPictures) {
  TrainOptions given = all("run");
  given.loss.label_smoothing = 0.1;
  ASSERT_EQ(run_training(given), kDone) << out_.str();
  EXPECT_SAYS(out_.str(), "test accuracy");
  EXPECT_SAYS(folder_.read("run/class_report.txt"), "50 samples");
}

TEST_F(AugmentedRun, IsTheSameForAnyNumberOfDataThreadsAndAfterAResume) {
  const auto unvalidated = [&](const std::string& run) {
    TrainOptions given = all(run);
    given.phases.validation = ValidationTime::off;
    return given;
  };
  ASSERT_EQ(run_training(unvalidated("one")), kDone) << out_.str();
  TrainOptions threads = unvalidated("three");
  threads.data.pipeline_num_parallel = 3;
  ASSERT_EQ(run_training(threads), kDone);
  EXPECT_TRUE(checkpoint("one") == checkpoint("three"));
  TrainOptions part = unvalidated("resumed");
  part.num_epochs = 1;
  ASSERT_EQ(run_training(part), kDone);
  TrainOptions rest = unvalidated("resumed");
  rest.checkpoints.resume = "auto";
  ASSERT_EQ(run_training(rest), kDone);
  EXPECT_TRUE(checkpoint("one") == checkpoint("resumed"));
}

TEST_F(AugmentedRun, EveryFlagChangesTheResult) {
  ASSERT_EQ(run_training(options("plain")), kDone);
  const auto differs = [&](const char* run, const auto& change) {
    TrainOptions given = options(run);
    change(given.data.augmentation);
    EXPECT_EQ(run_training(given), kDone) << run;
    EXPECT_FALSE(weights(run) == weights("plain")) << run;
  };
  differs("flip", [](AugmentationFlags& flags) { flags.random_flip = RandomFlip::horizontal; });
  differs("crop", [](AugmentationFlags& flags) { flags.random_crop = 2; });
  differs("rotation", [](AugmentationFlags& flags) { flags.random_rotation = 10; });
  differs("jitter", [](AugmentationFlags& flags) { flags.color_jitter = {0.4}; });
  differs("randaugment", [](AugmentationFlags& flags) { flags.randaugment = {2}; });
  differs("erasing", [](AugmentationFlags& flags) { flags.random_erasing = 0.5; });
  differs("noise", [](AugmentationFlags& flags) {
    flags.random_erasing = 0.5;
    flags.random_erasing_fill = ErasingFill::noise;
  });
  EXPECT_FALSE(weights("noise") == weights("erasing"));
  differs("mixup", [](AugmentationFlags& flags) { flags.mixup = 0.2; });
  differs("cutmix", [](AugmentationFlags& flags) { flags.cutmix = 1; });
}

// Flags that switch off what the data set does not do change no bit.
TEST_F(AugmentedRun, SwitchedOffIsAsBefore) {
  ASSERT_EQ(run_training(options("plain")), kDone);
  TrainOptions off = options("off");
  off.data.augmentation.random_flip = RandomFlip::none;
  off.data.augmentation.random_crop = 0;
  ASSERT_EQ(run_training(off), kDone);
  EXPECT_GT(weights("off").size(), 1000u);
  EXPECT_TRUE(weights("off") == weights("plain"));
}

TEST_F(AugmentedRun, DevicesPrepareMixedBytes) {
  TrainOptions given = all("run");
  given.data.accelerator_side_preprocess = true;
  given.data.eight_bit_transfer = true;
  EXPECT_EQ(run_training(given), kDone) << out_.str();
}

}  // namespace
}  // namespace pando::app
