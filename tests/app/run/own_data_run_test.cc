// Runs on a user's own files: the labels decide about the task, the loss, the metric and the
// report.
// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/record/history_writer.h"
#include "pando/app/run/training_run.h"
#include "pando/base/random.h"
#include "pando/data/image/png.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/make_shapes.h"
#include "pando/data/sources/numpy/npy.h"
#include "pando/data/sources/zip.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using testing_support::error_of;

class OwnDataRun : public testing::Test {
 protected:
  TrainOptions options(const std::string& dataset, const std::string& model) const {
    TrainOptions options;
    options.model = model;
    options.data.dataset = dataset;
    options.data.dataset_path = (folder_.path / "data").string();
    options.num_epochs = 2;
    options.micro_batch_size = 4;
    options.slices = 2;
    options.schedule.learning_rate = 0.02;
    options.run_dir = (folder_.path / "run").string();
    options.config_text = "model: " + model + "\n";
    options.quiet = true;
    return options;
  }
  std::string text_of(const std::string& file) const {
    std::ifstream stream(folder_.path / file);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }
  std::vector<HistoryRow> history() const {
    return read_history(folder_.path / "run/history.json", 1 << 20);
  }
  void save(const std::string& name, const Tensor& tensor) const {
    std::filesystem::create_directories(folder_.path / "data");
    save_npy((folder_.path / "data" / (name + ".npy")).string(), tensor);
  }

  TestFolder folder_;
  std::ostringstream out_;
};

// Pictures of 28x28 bytes: the upper half is brighter for label 1, by more for higher values.
Tensor half_bright(int64_t count) {
  Tensor x(DType::u8, {count, 28, 28});
  RandomStream random(7);
  for (size_t i = 0; i < x.u8().size(); ++i) {
    const size_t picture = i / 784;
    const bool bright = picture % 2 == 1 && i % 784 < 392;
    x.u8()[i] = static_cast<uint8_t>(random.next_below(60) + (bright ? 150 : 40));
  }
  return x;
}

TEST_F(OwnDataRun, ArraysWithClasses) {
  for (const auto& [part, count] : {std::pair("train", 48), std::pair("test", 12)}) {
    Tensor y(DType::i32, {count});
    for (size_t i = 0; i < y.i32().size(); ++i) y.i32()[i] = static_cast<int32_t>(i % 2);
    save(concat("x_", part), half_bright(count));
    save(concat("y_", part), y);
  }
  TrainOptions run = options("numpy", "mnist_cnn");
  run.num_epochs = 4;
  ASSERT_EQ(run_training(run, out_), kDone) << out_.str();
  EXPECT_EQ(history().back().metric_name, "accuracy");
  EXPECT_GT(history().back().val_metric.value_or(0), 0.9);
  EXPECT_SAYS(text_of("run/class_report.txt"), "precision", "12");
}

TEST_F(OwnDataRun, ArraysWithValues) {
  for (const auto& [part, count] : {std::pair("train", 48), std::pair("test", 12)}) {
    Tensor y(DType::f32, {count, 2});
    for (size_t i = 0; i < y.f32().size(); ++i) y.f32()[i] = i / 2 % 2 == 1 ? 0.7f : -0.2f;
    save(concat("x_", part), half_bright(count));
    save(concat("y_", part), y);
  }
  ASSERT_EQ(run_training(options("numpy", "mnist_cnn"), out_), kDone) << out_.str();
  EXPECT_EQ(history().back().metric_name, "mae");
  EXPECT_LT(history().back().val_metric.value_or(9), 0.4);
  EXPECT_SAYS(text_of("run/target_report.txt"), "12 samples");
}

// Volumes of bytes in one .npz file; what is bright is of class 1.
TEST_F(OwnDataRun, VolumesWithMasks) {
  std::vector<std::pair<std::string, std::vector<uint8_t>>> arrays;
  RandomStream random(5);
  for (const auto& [part, count] : {std::pair("train", 8), std::pair("test", 4)}) {
    Tensor x(DType::u8, {count, 8, 8, 8, 1}), y(DType::u8, {count, 8, 8, 8});
    for (size_t i = 0; i < y.u8().size(); ++i) {
      const bool bright = (i / 256 + i / 32) % 2 == 1;  // halves of each half
      y.u8()[i] = bright ? 1 : 0;
      x.u8()[i] = static_cast<uint8_t>(random.next_below(60) + (bright ? 180 : 0));
    }
    for (const auto& [name, array] : {std::pair("x_", &x), std::pair("y_", &y)}) {
      const std::string member = concat(name, part, ".npy");
      save_npy((folder_.path / member).string(), *array);
      arrays.emplace_back(member, data::read_file((folder_.path / member).string()));
    }
  }
  std::vector<data::ZipContent> members;
  for (const auto& [name, bytes] : arrays) members.push_back({name, bytes});
  const std::vector<uint8_t> archive = data::make_zip(members);
  const std::string file = folder_.write("volumes.npz", {archive.begin(), archive.end()});
  TrainOptions run = options("numpy", "unet3d");
  run.data.dataset_path = file;
  run.num_epochs = 8;
  ASSERT_EQ(run_training(run, out_), kDone) << out_.str();
  EXPECT_EQ(history().back().metric_name, "mean_iou");
  EXPECT_GT(history().back().val_metric.value_or(0), 0.5);  // one class everywhere has 0.25
  EXPECT_SAYS(text_of("run/segmentation_report.txt"), "4 samples", "2048 labelled pixels");
  EXPECT_TRUE(text_of("run/segmentation.png").starts_with("\x89PNG"));
}

class CsvRun : public OwnDataRun {
 protected:
  // Bright pictures are tagged "bright", red ones "red"; a third of them has no tag.
  CsvRun() {
    std::filesystem::create_directories(folder_.path / "data");
    std::ofstream table(folder_.path / "data/labels.csv");
    table << "file,tags\n";
    RandomStream random(3);
    for (int i = 0; i < 40; ++i) {
      const bool bright = i % 2 == 1;
      const bool red = i % 3 == 0;
      Image picture({36, 36});
      for (size_t k = 0; k < picture.pixels.size(); ++k) {
        const auto noise = static_cast<int>(random.next_below(30));
        picture.pixels[k] =
            static_cast<uint8_t>(noise + (bright ? 130 : 20) + (red && k % 3 == 0 ? 90 : 0));
      }
      const std::string name = concat("p", i, ".png");
      std::ofstream file(folder_.path / "data" / name, std::ios::binary);
      const std::vector<uint8_t> bytes = encode_png(picture.view());
      file.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
      table << name << "," << (bright ? "bright" : "") << (red ? " red" : "") << "\n";
    }
  }
  TrainOptions csv_options(const std::string& model) const {
    TrainOptions run = options("image_folder", model);
    run.data.validation_split = 0.25;
    run.data.image_size = 32;
    return run;
  }
};

TEST_F(CsvRun, SeveralClassesForEachPicture) {
  TrainOptions run = csv_options("cifar_resnet8");
  run.num_epochs = 6;
  ASSERT_EQ(run_training(run, out_), kDone) << out_.str();
  EXPECT_EQ(history().back().metric_name, "f1_score");
  EXPECT_GT(history().back().val_metric.value_or(0), 0.8) << out_.str();
  EXPECT_SAYS(text_of("run/history.csv"), "val_f1_score");
  EXPECT_EQ(text_of("run/class_names.txt"), "bright\nred\n");
  EXPECT_SAYS(text_of("run/class_report.txt"), "bright", "red", "of 10 samples are right");
}

TEST_F(CsvRun, ResumesWithTheSameBits) {
  ASSERT_EQ(run_training(csv_options("cifar_resnet8"), out_), kDone) << out_.str();
  const auto whole = history().back().val_metric;
  const auto loss = history().back().val_loss;
  TrainOptions first = csv_options("cifar_resnet8");
  first.run_dir = (folder_.path / "parts").string();
  first.num_epochs = 1;
  ASSERT_EQ(run_training(first, out_), kDone);
  TrainOptions second = first;
  second.num_epochs = 2;
  second.checkpoints.resume = first.run_dir;
  ASSERT_EQ(run_training(second, out_), kDone) << out_.str();
  const auto rows = read_history(folder_.path / "parts/history.json", 1 << 20);
  EXPECT_EQ(rows.back().val_metric, whole);
  EXPECT_EQ(rows.back().val_loss, loss);
}

TEST_F(CsvRun, TheLeastPartOfAPictureChangesTheResult) {
  TrainOptions usual = csv_options("cifar_resnet8");
  usual.num_epochs = 1;
  ASSERT_EQ(run_training(usual, out_), kDone) << out_.str();
  const auto loss = history().back().val_loss;
  TrainOptions large = usual;
  large.run_dir = (folder_.path / "large").string();
  large.data.augmentation.random_crop_area = 0.9;
  ASSERT_EQ(run_training(large, out_), kDone) << out_.str();
  EXPECT_NE(read_history(folder_.path / "large/history.json", 1 << 20).back().val_loss, loss);
}

TEST_F(CsvRun, LabelSmoothingNeedsOneClass) {
  TrainOptions run = csv_options("cifar_resnet8");
  run.loss.label_smoothing = 0.1;
  EXPECT_SAYS(error_of<UsageError>([&] { run_training(run, out_); }), "--label-smoothing",
              "binary_crossentropy");
}

TEST_F(OwnDataRun, PicturesWithMasks) {
  make_shapes((folder_.path / "data").string(), {.train = 8, .validation = 4, .size = 32});
  TrainOptions run = options("image_folder", "unet_small");
  run.data.image_size = 32;
  ASSERT_EQ(run_training(run, out_), kDone) << out_.str();
  EXPECT_EQ(history().back().metric_name, "mean_iou");
  EXPECT_SAYS(text_of("run/segmentation_report.txt"), "circle", "square", "4096 labelled pixels");
}

TEST_F(OwnDataRun, ModelsForOtherTasksAreRefused) {
  make_shapes((folder_.path / "data").string(), {.train = 2, .validation = 2, .size = 32});
  TrainOptions masks = options("image_folder", "resnet18");
  EXPECT_SAYS(error_of<UsageError>([&] { run_training(masks, out_); }), "--model resnet18",
              "segmentation", "unet");
  for (const char* part : {"train", "validation"}) {
    std::filesystem::rename(folder_.path / "data" / part / "masks",
                            folder_.path / "data" / part / "others");
  }
  EXPECT_SAYS(error_of<UsageError>([&] { run_training(options("image_folder", "unet"), out_); }),
              "--model unet", "segmentation", "classification");
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "run"));
}

}  // namespace
}  // namespace pando::app
