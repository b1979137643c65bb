// `pando data verify`.
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/data/image/png.h"
#include "pando/data/sources/cifar/cifar.h"
#include "pando/datasets/all_datasets.h"
#include "tests/cli/run_cli.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::cli {
namespace {

using testing_support::TempFolder;

class DataVerify : public testing::Test {
 protected:
  DataVerify() { make_cifar10(folder_.path(), {.train = 20, .test = 10}); }
  // The first bytes of a file as other ones.
  void damage(const std::string& name, const std::vector<uint8_t>& bytes) const {
    std::fstream file(folder_.path("cifar-10-batches-bin/" + name),
                      std::ios::binary | std::ios::in | std::ios::out);
    file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  }

  TempFolder folder_;
};

TEST_F(DataVerify, SaysThatAllIsWell) {
  const Result result = run({"data", "verify", "cifar10", folder_.path()});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_SAYS(result.out, "   9 truck                          2            1\n");
  EXPECT_SAYS(result.out, "note: train:", "20 good samples", "50000");
  EXPECT_SAYS(result.out, "all is well", "30 good samples", "0 bad records", "90.0 KiB");
}

TEST_F(DataVerify, FailsWhenSomethingIsBad) {
  damage("data_batch_3.bin", {200});
  const Result result = run({"data", "verify", "cifar10", folder_.path(), "--workers", "3"});
  EXPECT_EQ(result.code, 1);
  EXPECT_SAYS(result.out, "data_batch_3.bin  1 bad\n");
  EXPECT_SAYS(result.out, "data_batch_3.bin: offset 0: ", "label 200", "0 to 9");
  EXPECT_SAYS(result.out, "NOT GOOD", "29 good samples", "1 bad record,");
}

TEST_F(DataVerify, OfficialCountsOnRequest) {
  EXPECT_EQ(run({"data", "verify", "cifar10", folder_.path(), "--official"}).code, 1);
}

TEST_F(DataVerify, ListsTheFirstAndCountsTheRest) {
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_4.bin"}) {
    damage(name, {200});
  }
  const Result text = run({"data", "verify", "cifar10", folder_.path(), "--most", "1"});
  EXPECT_SAYS(text.out, "2 more", "--most");
  EXPECT_SAYS(text.out, "3 bad records");
  const Result result = run({"data", "verify", "cifar10", folder_.path(), "--most", "2", "--json"});
  EXPECT_EQ(result.code, 1);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["bad_count"], 3);
  ASSERT_EQ(json["bad"].size(), 2u);
  EXPECT_EQ(json["bad"][1]["offset"], 0);
  EXPECT_SAYS(json["bad"][1]["file"].get<std::string>(), "data_batch_2.bin");
  EXPECT_EQ(json["parts"][0]["official"], 50000);
  EXPECT_EQ(json["files"].size(), 6u);
  EXPECT_EQ(json["classes"][9], "truck");
}

TEST(DataVerifyOfManyFiles, ListsThePartsAndBadFiles) {
  const TempFolder folder;
  for (int i = 0; i < 45; ++i) folder.write(std::to_string(100 + i) + ".tfrecord", {});
  const Result result = run({"data", "verify", "tfrecord", folder.path()});
  EXPECT_SAYS(result.out, "all                  0 samples        0 B  in 45 files\n");
  EXPECT_SAYS(result.out, "144.tfrecord  1 bad\n");
}

TEST(DataVerifyOfManyClasses, AreSummedUp) {
  const TempFolder folder;
  CifarFiles files = make_cifar10_images({.train = 10, .test = 5});
  files.train.coarse_labels = Tensor(DType::i32, {10});
  files.test.coarse_labels = Tensor(DType::i32, {5});
  write_cifar100_binary(folder.path(), files);
  EXPECT_SAYS(run({"data", "verify", "cifar100", folder.path()}).out, "train: 100 classes",
              "0 to 1 samples");
}

TEST(DataVerifyText, CountsFoldersAsFolders) {
  const TempFolder folder;
  const std::vector<uint8_t> png = encode_png(Image({4, 4}).view());
  for (int i = 0; i < 41; ++i) {
    std::filesystem::create_directory(folder.path(std::to_string(i)));
    folder.write(std::to_string(i) + "/x.png", png);
  }
  EXPECT_SAYS(run({"data", "verify", "image_folder", folder.path()}).out, "in 41 folders\n");
}

// Only the sizes of these files are right.
TEST(DataVerifyPlaces, AreThoseOfFetchedDataSets) {
  const TempFolder folder;
  const fetch::RemoteDataset& mnist = *dataset_record("mnist").remote;
  std::filesystem::create_directory(folder.path("mnist"));
  for (const fetch::RemoteFile& file : mnist.files) {
    const std::string path = folder.write("mnist/" + file.name, {});
    std::filesystem::resize_file(path, static_cast<uintmax_t>(file.bytes));
  }
  ::setenv("PANDO_DATA", folder.path().c_str(), 1);
  const Result found = run({"data", "verify", "mnist"});
  const Result missing = run({"data", "verify", "cifar10"});
  ::unsetenv("PANDO_DATA");
  EXPECT_EQ(found.code, 1);
  EXPECT_SAYS(found.out, "mnist in " + folder.path("mnist") + "\n");
  EXPECT_SAYS(found.out, "NOT GOOD", "0 good samples", "4 bad records");
  EXPECT_EQ(missing.code, 2);
  EXPECT_SAYS(missing.err, "cifar10: PATH: not given", "'pando data fetch cifar10'");
}

TEST(DataVerifyWords, AreChecked) {
  EXPECT_SAYS(run({"data", "verify"}).err, "NAME: not given");
  EXPECT_SAYS(run({"data", "verify", "cifar11"}).err, "unknown data set 'cifar11'");
  EXPECT_SAYS(run({"data", "verify", "tfrecord"}).err, "tfrecord: PATH: not given", "TFRecord");
  EXPECT_SAYS(run({"data", "verify", "--help"}).out, "fashion_mnist  the four IDX files");
}

}  // namespace
}  // namespace pando::cli
