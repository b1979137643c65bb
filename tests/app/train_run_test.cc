#include "pando/app/train_run.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/app/exit_code.h"
#include "pando/base/random.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

// Noise with a bright bar in the row that the label names.
void write_images(const TestFolder& folder, const std::string& stem, uint32_t count) {
  RandomStream random(count);
  std::string images = big_endian(0x803) + big_endian(count) + big_endian(28) + big_endian(28);
  std::string labels = big_endian(0x801) + big_endian(count);
  for (uint32_t i = 0; i < count; ++i) {
    const auto label = static_cast<int>(random.next_below(10));
    labels.push_back(static_cast<char>(label));
    for (int pixel = 0; pixel < 28 * 28; ++pixel) {
      const bool bar = pixel / 28 / 2 == label;
      images.push_back(static_cast<char>(bar ? 200 : random.next_below(64)));
    }
  }
  folder.write(stem + "-images-idx3-ubyte", images);
  folder.write(stem + "-labels-idx1-ubyte", labels);
}

class TrainRun : public testing::Test {
 protected:
  TrainRun() {
    write_images(folder_, "train", 200);
    write_images(folder_, "t10k", 50);
  }

  // Two epochs of three steps; eight samples are left over and open the second.
  TrainOptions options(const std::string& run) const {
    TrainOptions options;
    options.dataset_path = folder_.path.string();
    options.num_epochs = 2;
    options.seed = 1;
    options.slices = 2;
    options.learning_rate = 0.05;
    options.run_dir = (folder_.path / run).string();
    options.config_text = "model: mnist_cnn\n";
    options.quiet = true;
    return options;
  }

  TestFolder folder_;
};

TEST_F(TrainRun, WritesTheRunDirectory) {
  EXPECT_EQ(run_training(options("run")), kDone);
  EXPECT_EQ(folder_.read("run/config.yml"), "model: mnist_cnn\n");
  const auto rows = nlohmann::json::parse(folder_.read("run/history.json"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1]["epoch"], 2.0);
  EXPECT_EQ(rows[1]["step"], 6);
  EXPECT_EQ(rows[1]["learning_rate"], 0.05);
  for (const char* key :
       {"loss", "accuracy", "throughput", "seconds", "val_loss", "val_accuracy"}) {
    EXPECT_TRUE(rows[1][key].is_number()) << key;
  }
  EXPECT_LT(rows[1]["loss"], rows[0]["loss"]);
  const std::string log = folder_.read("run/log.txt");
  EXPECT_NE(log.find("test accuracy: "), std::string::npos);
  EXPECT_NE(log.find("8 samples"), std::string::npos) << log;
  EXPECT_TRUE(std::filesystem::exists(folder_.path / "run/checkpoints/epoch_1.0.h5"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path / "run/checkpoints/epoch_2.0.h5"));
}

TEST_F(TrainRun, CheckpointsAreBitIdenticalOnAnyNumberOfThreads) {
  const std::string file = "/checkpoints/epoch_2.0.h5";
  TrainOptions one = options("one");
  one.threads = 1;
  run_training(one);
  const std::string weights = folder_.read("one" + file);
  ASSERT_FALSE(weights.empty());
  for (const int threads : {2, 3}) {
    TrainOptions more = options("more");
    more.threads = threads;
    run_training(more);
    EXPECT_EQ(folder_.read("more" + file), weights) << threads << " threads";
  }
  TrainOptions other_seed = options("seed");
  other_seed.seed = 2;
  run_training(other_seed);
  EXPECT_NE(folder_.read("seed" + file), weights);
}

TEST_F(TrainRun, ASignalStopsWithACheckpoint) {
  TrainOptions endless = options("run");
  endless.num_epochs = 1000000;
  endless.validation = false;
  std::thread sender([&] {
    while (!std::filesystem::exists(folder_.path / "run/checkpoints/epoch_1.0.h5")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    kill(getpid(), SIGTERM);
  });
  EXPECT_EQ(run_training(endless), kStopped);
  sender.join();
  EXPECT_NE(folder_.read("run/log.txt").find("stopped by signal 15"), std::string::npos);
}

TEST_F(TrainRun, DryRunLeavesNothingBehind) {
  TrainOptions dry = options("dry");
  dry.dry_run = true;
  EXPECT_EQ(run_training(dry), kDone);
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "dry"));
}

TEST_F(TrainRun, DumpsTheGraphAfterEachPass) {
  TrainOptions dumping = options("run");
  dumping.dry_run = true;
  dumping.dump_ir = (folder_.path / "ir").string();
  run_training(dumping);
  EXPECT_NE(folder_.read("ir/train.fuse-conv-pool.ir").find("conv_pool"), std::string::npos);
  EXPECT_EQ(folder_.read("ir/train.fuse-post-ops.ir").find(" relu("), std::string::npos);
}

TEST_F(TrainRun, WrongOptionsLeaveNothingBehind) {
  TrainOptions unknown = options("run");
  unknown.model = "mnist_cn";
  EXPECT_NE(message_of<InvalidArgument>([&] { run_training(unknown); }).find("'mnist_cnn'"),
            std::string::npos);
  TrainOptions pass = options("run");
  pass.disable_pass = {"fuse-everything"};
  EXPECT_NE(message_of<InvalidArgument>([&] { run_training(pass); }).find("unknown pass"),
            std::string::npos);
  TrainOptions wrong_shape = options("run");
  wrong_shape.model = "cosmoflow";
  EXPECT_NE(message_of<InvalidArgument>([&] { run_training(wrong_shape); }).find("Conv3D"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "run"));
}

TEST_F(TrainRun, DivergenceEndsWithItsOwnExitCode) {
  TrainOptions wild = options("run");
  wild.learning_rate = 1e9;
  try {
    run_training(wild);
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_EQ(exit_code_of(error), kNonFiniteLoss) << error.what();
  }
}

}  // namespace
}  // namespace pando::app
