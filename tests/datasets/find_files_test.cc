#include "pando/datasets/find_files.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "pando/data/sources/mnist.h"
#include "pando/datasets/all_datasets.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

namespace fs = std::filesystem;
using Places = std::vector<std::string>;

// The variables that name places, restored at the end.
class FindFiles : public testing::Test {
 protected:
  FindFiles() {
    for (const char* name : kNames) {
      const char* value = std::getenv(name);
      before_.push_back(value == nullptr ? std::nullopt : std::optional<std::string>(value));
      ::unsetenv(name);
    }
  }
  ~FindFiles() override {
    for (size_t i = 0; i < before_.size(); ++i) {
      before_[i] ? ::setenv(kNames[i], before_[i]->c_str(), 1) : ::unsetenv(kNames[i]);
    }
  }
  void make(const std::string& folder, const std::string& file) const {
    fs::create_directories(folder_.path(folder));
    folder_.write_text(folder + "/" + file, "");
  }

  static constexpr std::array<const char*, 4> kNames = {"PANDO_DATA", "XDG_DATA_HOME", "HOME",
                                                        "DATASETS_DIR"};
  std::vector<std::optional<std::string>> before_;
  testing_support::TempFolder folder_;
  const DatasetRecord& imagenet_ = dataset_record("imagenet");
};

TEST_F(FindFiles, WithoutAHomeInstalledDataAreFound) {
  EXPECT_EQ(find_files(dataset_record("mnist")), std::nullopt);
  EXPECT_EQ(search_places(dataset_record("mnist")), Places());
  EXPECT_EQ(search_places(dataset_record("fashion_mnist")), Places{kFashionMnistDirectory});
  if (fs::exists(kFashionMnistDirectory)) {
    EXPECT_EQ(find_files(dataset_record("fashion_mnist")), kFashionMnistDirectory);
  }
}

TEST_F(FindFiles, ImagenetIsFoundUnderItsUsualNames) {
  ::setenv("PANDO_DATA", folder_.path("own").c_str(), 1);
  ::setenv("DATASETS_DIR", folder_.path("shared").c_str(), 1);
  EXPECT_EQ(search_places(imagenet_),
            (Places{folder_.path("own/imagenet"), folder_.path("own/imagenet-data"),
                    folder_.path("shared/imagenet"), folder_.path("shared/imagenet-data")}));
  EXPECT_EQ(find_files(imagenet_), std::nullopt);
  for (const char* place : {"shared/imagenet-data", "shared/imagenet", "own/imagenet-data",
                            "own/imagenet"}) {  // the later ones come first
    make(place, "train-00000-of-00001");
    EXPECT_EQ(find_files(imagenet_), folder_.path(place));
  }
  EXPECT_EQ(find_files(imagenet_, folder_.path("shared")), folder_.path("shared/imagenet"));
}

TEST_F(FindFiles, SharedFoldersHoldTheOtherDataSetsToo) {
  ::setenv("DATASETS_DIR", folder_.path().c_str(), 1);
  const DatasetRecord& mnist = dataset_record("mnist");
  for (const char* name : data::kMnistFiles) {
    EXPECT_EQ(find_files(mnist), std::nullopt);
    make("mnist", name);
  }
  EXPECT_EQ(find_files(mnist), folder_.path("mnist"));
  for (const char* name : {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
                           "data_batch_5", "test_batch"}) {
    EXPECT_EQ(find_files(dataset_record("cifar10")), std::nullopt);
    make("cifar10/cifar-10-batches-py", name);
  }
  EXPECT_EQ(find_files(dataset_record("cifar10")), folder_.path("cifar10"));
}

// A download that was damaged is fetched again, so files of wrong sizes do not count there.
TEST_F(FindFiles, FetchedFilesHaveTheirSizes) {
  ::setenv("PANDO_DATA", folder_.path().c_str(), 1);
  for (const char* name : data::kMnistFiles) make("mnist", name);
  EXPECT_EQ(find_files(dataset_record("mnist")), std::nullopt);
}

TEST_F(FindFiles, SomeDataSetsHaveNoPlace) {
  ::setenv("DATASETS_DIR", folder_.path().c_str(), 1);
  EXPECT_EQ(search_places(dataset_record("image_folder")), Places());
  EXPECT_EQ(find_files(dataset_record("image_folder")), std::nullopt);
}

}  // namespace
}  // namespace pando
