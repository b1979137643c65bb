// `pando data list` and `pando data fetch`.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_cli.h"
#include "tests/fetch/server.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::cli {
namespace {

using testing_support::TempFolder;

// A file of zeros takes no room on the disk.
void make_file(const std::string& path, uintmax_t bytes) {
  std::ofstream(path).close();
  std::filesystem::resize_file(path, bytes);
}

TEST(DataList, ShowsWhatIsHereAndWhatIsNot) {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path("cifar100/cifar-100-binary"));
  make_file(folder.path("cifar100/cifar-100-binary/train.bin"), 153'700'000);
  make_file(folder.path("cifar100/cifar-100-binary/test.bin"), 30'740'000);
  const Result result = run({"data", "list", "--folder", folder.path()});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_SAYS(result.out, "162.2 MiB  not here: pando data fetch cifar10\n");
  EXPECT_SAYS(result.out, "160.7 MiB  " + folder.path("cifar100/cifar-100-binary") + "\n");
  EXPECT_SAYS(result.out, "bring your own: register at https://www.image-net.org");
  EXPECT_SAYS(result.out, "1,281,167");
}

TEST(DataList, SaysWhereItLooked) {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path("imagenet-data"));
  make_file(folder.path("imagenet-data/train-00000-of-00002"), 1);
  ::setenv("DATASETS_DIR", folder.path().c_str(), 1);
  ::setenv("PANDO_DATA", folder.path("own").c_str(), 1);
  const Result result = run({"data", "list"});
  ::unsetenv("DATASETS_DIR");
  ::unsetenv("PANDO_DATA");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_SAYS(result.out, " " + folder.path("imagenet-data") + "\n", "looked for the others in\n",
              folder.path("own/cifar10") + ", " + folder.path("cifar10") + "\n");
}

TEST(DataList, AsJson) {
  const TempFolder folder;
  const auto list =
      nlohmann::json::parse(run({"data", "list", "--json", "--folder", folder.path()}).out);
  ASSERT_GE(list.size(), 5u);
  const auto mnist =
      std::ranges::find_if(list, [](const auto& entry) { return entry["name"] == "mnist"; });
  ASSERT_NE(mnist, list.end());
  EXPECT_EQ((*mnist)["download_bytes"], 11'594'722);
  EXPECT_TRUE((*mnist)["path"].is_null());
  EXPECT_EQ((*mnist)["files"].size(), 4u);
  EXPECT_TRUE(list.back().contains("how"));
}

TEST(DataList, APathNeedNotBeUtf8) {
  const TempFolder folder;
  const std::string place = folder.path("\xff/cifar100/cifar-100-binary");
  std::filesystem::create_directories(place);
  make_file(place + "/train.bin", 153'700'000);
  make_file(place + "/test.bin", 30'740'000);
  const Result result = run({"data", "list", "--json", "--folder", folder.path("\xff")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_SAYS(result.out, "/\xef\xbf\xbd/cifar100/cifar-100-binary");
}

TEST(DataFetch, NamesWhatItKnows) {
  const Result unknown = run({"data", "fetch", "cifar"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_SAYS(unknown.err, "unknown data set 'cifar'");
  EXPECT_SAYS(run({"data", "fetch", "imagenet"}).err, "cannot be fetched: register at");
  EXPECT_SAYS(run({"data", "fetch"}).err, "NAME: not given", "the data set");
}

// From a folder, so that no server is needed: one without the files, then one with wrong ones.
TEST(DataFetch, SaysWhyItFailed) {
  const TempFolder folder;
  const std::string mirror = "file://" + folder.path("mirror");
  std::filesystem::create_directory(folder.path("mirror"));
  const std::vector<std::string> words = {"data",     "fetch",           "mnist",
                                          "--folder", folder.path("to"), "--mirror",
                                          mirror,     "--retries",       "0"};
  const Result missing = run(words);
  EXPECT_EQ(missing.code, 1);
  EXPECT_SAYS(missing.out,
              "mnist: handwritten digits, 11.1 MiB (http://yann.lecun.com/exdb/mnist/");
  EXPECT_SAYS(missing.err, "mnist: cannot fetch train-images-idx3-ubyte.gz: " + mirror);
  EXPECT_SAYS(missing.err, "put them into " + folder.path("to/mnist"));
  make_file(folder.path("mirror/train-images-idx3-ubyte.gz"), 9'912'422);
  EXPECT_SAYS(run(words).err, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609");
}

TEST(DataFetch, ASignalLeavesThePart) {
  const fetch::Server server;
  const TempFolder folder;
  make_file(server.files().path("train-images-idx3-ubyte.gz"), 9'912'422);
  std::jthread signaller([&](const std::stop_token& ended) {
    while (folder.read("mnist/train-images-idx3-ubyte.gz.part").size() < 5000) {
      if (ended.stop_requested()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::raise(SIGTERM);
  });
  const Result result = run({"data", "fetch", "mnist", "--folder", folder.path(), "--mirror",
                             server.address("stall-5000")});
  signaller.request_stop();  // of a fetch that failed
  signaller.join();
  EXPECT_EQ(result.code, 75);
  EXPECT_SAYS(result.err, "stopped; 5000 of 9912422 bytes are in " + folder.path("mnist"));
  EXPECT_EQ(folder.read("mnist/train-images-idx3-ubyte.gz.part").size(), 5000u);
}

}  // namespace
}  // namespace pando::cli
