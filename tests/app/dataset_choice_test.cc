#include "pando/app/dataset_choice.h"

#include <nlohmann/json.hpp>

#include "pando/app/exit_code.h"
#include "pando/app/train_run.h"
#include "pando/data/sources/cifar.h"
#include "pando/zoo/zoo.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

TrainOptions parse(const std::vector<std::string>& args) {
  std::ostringstream out;
  return parse_train_options(args, out).value();
}

std::string error(const std::vector<std::string>& args) {
  return message_of<UsageError>([&] { parse(args); });
}

TEST(DatasetChoice, EachModelHasItsOwn) {
  EXPECT_EQ(dataset_of_model("mnist_cnn"), DatasetKind::fashion_mnist);
  for (const char* model : {"cifar10_cnn", "cifar_resnet8", "cifar_resnet56", "toy_model"}) {
    EXPECT_EQ(dataset_of_model(model), DatasetKind::cifar10) << model;
  }
  EXPECT_EQ(dataset_of_model("cosmoflow"), std::nullopt);
  EXPECT_EQ(dataset_of_model("no_such_model"), std::nullopt);
  EXPECT_EQ(to_string(DatasetKind::cifar100), "cifar100");
}

TEST(DatasetChoice, FollowsTheModelUnlessGiven) {
  const TestFolder folder;
  const std::string path = folder.path.string();
  const TrainOptions chosen = parse({"--model=toy_model", "--dataset-path", path});
  EXPECT_EQ(chosen.dataset, DatasetKind::cifar10);
  EXPECT_NE(chosen.config_text.find("dataset: cifar10 "), std::string::npos);
  EXPECT_NE(chosen.config_text.find("chosen by the model"), std::string::npos);
  EXPECT_EQ(parse({"--model=toy_model", "--dataset=fashion_mnist"}).dataset,
            DatasetKind::fashion_mnist);
  EXPECT_EQ(parse({"--dataset=cifar100", "--dataset-path", path}).dataset, DatasetKind::cifar100);
  const std::string config = folder.write("c.yml", "dataset: fashion_mnist\n");
  EXPECT_EQ(parse({"--model=toy_model", "--config-path", config}).dataset,
            DatasetKind::fashion_mnist);
}

TEST(DatasetChoice, SaysWhereCifarComesFrom) {
  EXPECT_EQ(error({"--model=cifar_resnet8"}),
            "--dataset cifar10: no package brings CIFAR-10; get cifar-10-binary.tar.gz from "
            "https://www.cs.toronto.edu/~kriz/cifar.html, unpack it and name the folder with "
            "--dataset-path; or choose another --dataset, such as fashion_mnist");
  EXPECT_NE(error({"--dataset=cifar100"}).find("get cifar-100-binary.tar.gz"), std::string::npos);
}

TEST(DatasetChoice, LoadsCifar100) {
  const TestFolder folder;
  CifarFiles files = make_cifar10_images({.train = 20, .test = 10});
  files.train.coarse_labels = files.train.labels;
  files.test.coarse_labels = files.test.labels;
  write_cifar100_python((folder.path / "cifar-100-python").string(), files);
  TrainOptions options;
  options.dataset = DatasetKind::cifar100;
  options.dataset_path = folder.path.string();
  const TrainTest sets = load_dataset(options);
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
TEST(DatasetChoice, CifarResnet8LearnsMadeImages) {
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

}  // namespace
}  // namespace pando::app
