#include "pando/app/run/training_data.h"

#include <nlohmann/json.hpp>

#include "pando/app/flags/find_dataset.h"
#include "pando/app/flags/validate_options.h"
#include "pando/app/job/exit_code.h"
#include "pando/app/run/training_run.h"
#include "pando/data/image/jpeg.h"
#include "pando/data/sources/cifar/cifar.h"
#include "pando/data/sources/imagenet/make.h"
#include "pando/train/training_state.h"
#include "pando/zoo/zoo.h"
#include "tests/app/mnist_folder.h"
#include "tests/app/parse_options.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::app {
namespace {

using testing_support::error_of;

TEST(TrainingDataTest, EachModelHasItsOwn) {
  EXPECT_EQ(dataset_of_model("mnist_cnn"), "fashion_mnist");
  for (const char* model : {"cifar10_cnn", "cifar_resnet8", "cifar_resnet56", "toy_model"}) {
    EXPECT_EQ(dataset_of_model(model), "cifar10") << model;
  }
  EXPECT_EQ(dataset_of_model("cosmoflow"), "cosmoflow");
  EXPECT_EQ(dataset_of_model("no_such_model"), std::nullopt);
}

TEST(TrainingDataTest, FollowsTheModelUnlessGiven) {
  const TestFolder folder;
  const std::string path = folder.path.string();
  const TrainOptions chosen = parse({"--model=toy_model", "--dataset-path", path});
  EXPECT_EQ(chosen.data.dataset, "cifar10");
  EXPECT_NE(chosen.config_text.find("dataset: cifar10 "), std::string::npos);
  EXPECT_NE(chosen.config_text.find("chosen by the model"), std::string::npos);
  EXPECT_EQ(parse({"--model=toy_model", "--dataset=fashion_mnist"}).data.dataset, "fashion_mnist");
  EXPECT_EQ(parse({"--dataset=cifar100", "--dataset-path", path}).data.dataset, "cifar100");
  const std::string config = folder.write("c.yml", "dataset: fashion_mnist\n");
  EXPECT_EQ(parse({"--model=toy_model", "--config-path", config}).data.dataset, "fashion_mnist");
}

// A home without data sets.
class EmptyHome {
 public:
  EmptyHome() { setenv("PANDO_DATA", folder_.path().c_str(), 1); }
  ~EmptyHome() { unsetenv("PANDO_DATA"); }
  std::string path() const { return folder_.path(); }

 private:
  testing_support::TempFolder folder_;
};

TEST(TrainingDataTest, SaysHowToGetWhatIsMissing) {
  const EmptyHome home;
  const std::string message = error({"--model=cifar_resnet8", "--no-download"});
  EXPECT_SAYS(message, "--dataset cifar10: ", home.path() + "/cifar10");
  EXPECT_SAYS(message, "'pando data fetch cifar10'", "--dataset-path");
  EXPECT_EQ(find_dataset({.dataset = "mnist"}), std::nullopt);  // it would be fetched
  EXPECT_SAYS(error({"--dataset=imagenet"}), home.path() + "/imagenet,");
  EXPECT_SAYS(error({"--dataset=imagenet"}), "'pando data build-imagenet' makes them");
  EXPECT_SAYS(error({"--dataset=image_folder"}), "a folder of images per class");
}

TEST(TrainingDataTest, SaysWhatOnesOwnFilesLookLike) {
  const testing_support::TempFolder folder;
  const auto message = [&] {
    return error_of<UsageError>([&] { find_dataset({.dataset_path = folder.path()}); });
  };
  EXPECT_EQ(find_dataset({.dataset_path = folder.path()}), folder.path());  // loading tells more
  folder.write_text("x_train.npy", "");
  EXPECT_SAYS(message(), folder.path(), "fashion_mnist", "look like numpy", "--dataset numpy");
  std::filesystem::create_directories(folder.path("train/cat"));
  folder.write_text("train/cat/1.JPG", "");
  EXPECT_SAYS(message(), "image_folder or numpy", "--dataset image_folder");
  EXPECT_EQ(find_dataset({.dataset = "numpy", .dataset_path = folder.path()}), folder.path());
}

TEST(TrainingDataTest, LoadsCifar100) {
  const TestFolder folder;
  CifarFiles files = make_cifar10_images({.train = 20, .test = 10});
  files.train.coarse_labels = files.train.labels;
  files.test.coarse_labels = files.test.labels;
  write_cifar100_python((folder.path / "cifar-100-python").string(), files);
  const TrainTest sets =
      load_training_data({.flags = {.dataset = "cifar100", .dataset_path = folder.path.string()}})
          .sets;
  EXPECT_EQ(sets.classes, 100);
  EXPECT_EQ(sets.train.fields()[0], (Field{"x", DType::f32, {32, 32, 3}}));
  // The training images change from epoch to epoch, the test images never.
  const auto changes = [](const Dataset& set) {
    const Sample first = set.get(3, 0);
    const Sample second = set.get(3, 1);
    return !std::ranges::equal(first.x().f32(), second.x().f32());
  };
  EXPECT_TRUE(changes(sets.train));
  EXPECT_FALSE(changes(sets.test));
}

// The whole way: files in the official layout, the flags, the augmented images, the network.
TEST(TrainingDataTest, CifarResnet8LearnsMadeImages) {
  const TestFolder folder;
  make_cifar10(folder.path.string(), {.train = 1200, .test = 300, .seed = 1});
  std::ostringstream out;
  const TrainOptions options =
      parse({"--model=cifar_resnet8", "--dataset-path", folder.path.string(), "--run-dir",
             (folder.path / "run").string(), "--epochs=4", "--batch-size=32", "--slices=2",
             "--learning-rate=0.05", "--logs-per-epoch=1/4", "--seed=1", "--quiet"});
  ASSERT_EQ(run_training(options, out), kDone);
  const auto rows = nlohmann::json::parse(folder.read("run/history.json"));
  ASSERT_FALSE(rows.empty());
  // Chance is 0.1, and colours alone tell no more than half of the classes.
  EXPECT_GT(rows.back()["val_accuracy"].get<double>(), 0.5) << out.str();
}

// The losses of two short epochs and what was printed.
struct ShortRun {
  std::vector<double> losses;
  std::string out;
};

// `more` overrides the flags of all runs.
ShortRun train_shortly(const TestFolder& folder, const std::vector<std::string>& more) {
  static int runs = 0;
  const std::string run = "run" + std::to_string(runs++);
  std::vector<std::string> args = {"--run-dir",  (folder.path / run).string(),
                                   "--epochs=2", "--batch-size=8",
                                   "--slices=2", "--quiet"};
  args.insert(args.end(), more.begin(), more.end());
  std::ostringstream out;
  EXPECT_EQ(run_training(parse(args), out), kDone) << out.str();
  ShortRun result{.losses = {}, .out = out.str()};
  for (const auto& row : nlohmann::json::parse(folder.read(run + "/history.json"))) {
    for (const char* key : {"loss", "val_loss"}) {
      if (row.contains(key) && row[key].is_number()) result.losses.push_back(row[key]);
    }
  }
  return result;
}

void expect_close(const ShortRun& a, const ShortRun& b) {
  ASSERT_EQ(a.losses.size(), b.losses.size());
  ASSERT_FALSE(a.losses.empty());
  for (size_t i = 0; i < a.losses.size(); ++i) EXPECT_NEAR(a.losses[i], b.losses[i], 2e-3);
}

// Where the work is done does not change what is learned.
TEST(TrainingDataTest, TheDeviceScalesAsTheHostDoes) {
  TestFolder folder;
  write_mnist(folder);
  const std::vector<std::string> host = {"--dataset=mnist", "--dataset-path", folder.path.string()};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = host;
    args.insert(args.end(), more.begin(), more.end());
    return train_shortly(folder, args);
  };
  const ShortRun plain = with({});
  expect_close(plain, with({"--accelerator-side-preprocess"}));
  expect_close(plain, with({"--accelerator-side-preprocess", "--eight-bit-transfer"}));
  expect_close(plain, with({"--accelerator-side-preprocess", "--fused-preprocessing"}));
  expect_close(plain, with({"--accelerator-side-preprocess", "--eight-bit-transfer",
                            "--fused-preprocessing", "--pipeline-num-parallel=3"}));
}

// The device flips, and standardises with the border in the mean; bytes or numbers are the same.
TEST(TrainingDataTest, TheDevicePreparesCifar) {
  const TestFolder folder;
  make_cifar10(folder.path.string(), {.train = 40, .test = 10});
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"--model=toy_model", "--dataset-path", folder.path.string(),
                                     "--accelerator-side-preprocess"};
    args.insert(args.end(), more.begin(), more.end());
    return train_shortly(folder, args);
  };
  const ShortRun numbers = with({});
  expect_close(numbers, with({"--eight-bit-transfer"}));
  expect_close(numbers, with({"--eight-bit-transfer", "--fused-preprocessing"}));
  expect_close(numbers, with({"--num-replicas=2", "--batch-size=4"}));
}

Image shaded(int64_t height, int64_t width, uint8_t colour) {
  Image image(ImageSize{height, width});
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<uint8_t>(i % 3 == colour % 3 ? 200 : 30 + i % 50);
  }
  return image;
}

class ImageFolders : public testing::Test {
 protected:
  ImageFolders() {
    for (const char* part : {"train", "validation"}) {
      for (uint8_t label = 0; label < 2; ++label) {
        const auto folder = folder_.path / part / (label == 0 ? "cat" : "dog");
        std::filesystem::create_directories(folder);
        for (int i = 0; i < 8; ++i) {
          const std::vector<uint8_t> bytes = encode_jpeg(shaded(40 + i, 50, label).view());
          std::ofstream(folder / std::to_string(i), std::ios::binary)
              .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
        }
      }
    }
  }
  std::vector<std::string> args() const {
    return {"--model=toy_model", "--dataset=image_folder", "--dataset-path", folder_.path.string()};
  }

  TestFolder folder_;
};

TEST_F(ImageFolders, AreTrainedOn) {
  const ShortRun host = train_shortly(folder_, args());
  std::vector<std::string> device = args();
  for (const char* flag : {"--accelerator-side-preprocess", "--fused-preprocessing"}) {
    device.emplace_back(flag);
  }
  expect_close(host, train_shortly(folder_, device));
}

TEST_F(ImageFolders, TellAtTheEndWhatWasLeftOut) {
  folder_.write("train/cat/3", "no image");
  std::vector<std::string> options = args();
  EXPECT_THROW(train_shortly(folder_, options), IoError);
  options.emplace_back("--on-bad-record=skip");
  const ShortRun run = train_shortly(folder_, options);
  EXPECT_SAYS(run.out, "1 bad record skipped:");
  EXPECT_SAYS(run.out, "train/cat/3");
}

TEST_F(ImageFolders, ValidationHasClassesOfTraining) {
  const DataRequest request{.flags = {.dataset = "image_folder",
                                      .dataset_path = folder_.path.string(),
                                      .image_size = 32}};
  EXPECT_TRUE(load_training_data(request).warnings.empty());
  std::filesystem::remove_all(folder_.path / "validation" / "dog");
  std::filesystem::create_directories(folder_.path / "train" / "fish");  // empty: no class
  const TrainingData data = load_training_data(request);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(data.warnings.size(), 2u);
  EXPECT_SAYS(data.warnings[0], "train/fish", "no images");
  EXPECT_SAYS(data.warnings[1], "1 of 2 classes", "'dog'");
  std::filesystem::create_directories(folder_.path / "validation" / "fish");
  folder_.write("validation/fish/1", "x");
  EXPECT_SAYS(testing_support::error_of<IoError>([&] { load_training_data(request); }), "'fish'",
              "2 classes");
}

TEST_F(ImageFolders, CanBeCutIntoTwoParts) {
  std::filesystem::remove_all(folder_.path / "validation");
  EXPECT_SAYS(testing_support::error_of<UsageError>([&] { train_shortly(folder_, args()); }),
              "no folder validation, val or test", "train", "--validation-split 0.1");
  DataRequest request{.flags = {.dataset = "image_folder",
                                .dataset_path = folder_.path.string(),
                                .image_size = 32,
                                .validation_split = 0.25}};
  for (const char* place : {".", "train"}) {  // with train, then the classes alone
    request.flags.dataset_path = (folder_.path / place).string();
    const TrainingData data = load_training_data(request);
    EXPECT_EQ(data.sets.train.size(), 12);
    EXPECT_EQ(data.sets.test.size(), 4);
    EXPECT_EQ(data.class_names, (std::vector<std::string>{"cat", "dog"}));
    EXPECT_EQ(data.sets.test.get(1).y().i32()[0], 0);
    EXPECT_EQ(data.sets.test.get(2).y().i32()[0], 1);
  }
  request.flags.validation_split = 0;
  EXPECT_SAYS(testing_support::error_of<UsageError>([&] { load_training_data(request); }),
              "no folder train;", "--validation-split 0.1");
  std::vector<std::string> options = args();
  options.emplace_back("--validation-split=0.25");
  EXPECT_FALSE(train_shortly(folder_, options).losses.empty());
}

// The names of the folders are in the run directory, in the checkpoints and in the reports.
TEST_F(ImageFolders, ClassesHaveNames) {
  train_shortly(folder_, args());
  std::filesystem::path run;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path)) {
    if (std::filesystem::exists(entry.path() / "config.yml")) run = entry.path();
  }
  const auto read = [&](const char* name) {
    return folder_.read((run.filename() / name).string());
  };
  EXPECT_EQ(read("class_names.txt"), "cat\ndog\n");
  EXPECT_SAYS(read("class_report.csv"), "cat", "dog");
  EXPECT_SAYS(read("confusion.svg"), "predicted as dog");
  const TrainingState state = load_training_state((run / "checkpoints/epoch_2.0.h5").string());
  EXPECT_EQ(state.notes.at("class_names"), "cat\ndog\n");
  // Labels are places in the sorted list of folders, so another name changes them.
  for (const char* part : {"train", "validation"}) {
    std::filesystem::rename(folder_.path / part / "dog", folder_.path / part / "ape");
  }
  std::ostringstream out;
  const std::vector<std::string> words = {run.string()};
  run_training(parse_validate_options(words, out).value(), out);
  EXPECT_SAYS(out.str(), "epoch_2.0.h5", "label 0", "'cat'", "'ape'");
}

TEST(TrainingDataTest, BadLabelsCanBeLeftOut) {
  const TestFolder folder;
  const std::string made = make_cifar10(folder.path.string(), {.train = 40, .test = 10});
  const std::string name = "cifar-10-batches-bin/test_batch.bin";
  std::string bytes = folder.read(name);
  bytes[3073] = 77;
  folder.write(name, bytes);
  const std::vector<std::string> args = {"--model=toy_model", "--dataset-path",
                                         folder.path.string(), "--on-bad-record", "skip"};
  EXPECT_SAYS(train_shortly(folder, args).out, "offset 3073", "label 77");
}

TEST(TrainingDataTest, MadeUpImagesNeedNoFiles) {
  const EmptyHome home;
  const TestFolder folder;
  for (const char* where : {"host", "device"}) {
    const ShortRun run =
        train_shortly(folder, {"--model=toy_model", "--synthetic-data", where, "--no-download",
                               "--weight-updates-per-epoch=3", "--validation=false"});
    ASSERT_FALSE(run.losses.empty());
    EXPECT_GT(run.losses[0], 0);  // a real loss
    EXPECT_LT(run.losses.back(), run.losses[0]) << where;
  }
}

// Shards in their own order, views by the devices or by the host.
TEST(TrainingDataTest, ImagenetIsTrainedOn) {
  const TestFolder folder;
  setenv("XDG_CACHE_HOME", (folder.path / "cache").c_str(), 1);
  const std::string shards = (folder.path / "shards").string();
  make_imagenet(
      shards,
      {.classes = 2, .train = 16, .validation = 4, .train_shards = 2, .validation_shards = 1});
  const std::vector<std::string> args = {"--model=toy_model", "--dataset=imagenet",
                                         "--dataset-path", shards, "--image-size=32"};
  const ShortRun host = train_shortly(folder, args);
  EXPECT_FALSE(std::filesystem::is_empty(folder.path / "cache" / "pando" / "index"));
  std::vector<std::string> device = args;
  for (const char* flag :
       {"--accelerator-side-preprocess", "--fused-preprocessing", "--pipeline-num-parallel=2"}) {
    device.emplace_back(flag);
  }
  expect_close(host, train_shortly(folder, device));
  unsetenv("XDG_CACHE_HOME");
  const TrainingData data = load_training_data(
      {.flags = {.dataset = "imagenet", .dataset_path = shards, .image_size = 16}});
  EXPECT_TRUE(data.in_order);
  EXPECT_EQ(data.sets.classes, 2);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"red disc", "yellow disc"}));
}

TEST(TrainingDataTest, AtLeastOneSampleMustBeGood) {
  const TestFolder folder;
  make_cifar10(folder.path.string(), {.train = 5, .test = 1});
  const std::string name = "cifar-10-batches-bin/test_batch.bin";
  std::string bytes = folder.read(name);
  bytes[0] = 77;
  folder.write(name, bytes);
  EXPECT_SAYS(testing_support::error_of<IoError>([&] {
                load_training_data({.flags = {.dataset = "cifar10",
                                              .dataset_path = folder.path.string(),
                                              .on_bad_record = OnBadRecord::skip}});
              }),
              "found no test sample that can be read; 1 bad record");
}

}  // namespace
}  // namespace pando::app
