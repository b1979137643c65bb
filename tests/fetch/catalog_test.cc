#include "pando/fetch/catalog.h"

#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "pando/data/sources/mnist.h"
#include "pando/fetch/transfer.h"
#include "tests/fetch/server.h"
#include "tests/support/expect_error.h"

namespace pando::fetch {
namespace {

using testing_support::error_of;

bool is_hexadecimal(const std::string& text) {
  return text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

TEST(Catalog, EveryFileCanBeFetchedAndChecked) {
  std::set<std::string> sums;
  for (const DatasetEntry& one : catalog()) {
    SCOPED_TRACE(one.name);
    EXPECT_FALSE(one.files.empty());
    for (const RemoteFile& file : one.files) {
      SCOPED_TRACE(file.name);
      EXPECT_GT(file.bytes, 0);
      EXPECT_EQ(file.sha256.size(), 64u);
      EXPECT_TRUE(is_hexadecimal(file.sha256));
      EXPECT_TRUE(file.md5.size() == 32 && is_hexadecimal(file.md5));
      EXPECT_TRUE(sums.insert(file.sha256).second) << "two files with one checksum";
      EXPECT_FALSE(file.addresses.empty());
      for (const std::string& address : file.addresses) {
        EXPECT_TRUE(is_address(address)) << address;
        EXPECT_TRUE(address.ends_with("/" + file.name)) << address;
      }
    }
  }
}

// Unpacked files are moved into place as one folder.
TEST(Catalog, AnArchiveUnpacksToTheSubfolder) {
  for (const DatasetEntry& one : catalog()) {
    SCOPED_TRACE(one.name);
    for (const RemoteFile& file : one.files) {
      EXPECT_EQ(file.contents.empty(), one.subfolder.empty());
      for (const ArchivedFile& inner : file.contents) {
        EXPECT_TRUE(inner.path.starts_with(one.subfolder + "/")) << inner.path;
        EXPECT_GT(inner.bytes, 0);
      }
    }
  }
}

// A record of CIFAR-10 is a label and an image, of CIFAR-100 two labels and an image.
TEST(Catalog, ArchivesHoldTheSamplesThatTheEntryCounts) {
  for (const auto& [name, record] : {std::pair("cifar10", 3073), std::pair("cifar100", 3074)}) {
    int64_t bytes = 0;
    for (const ArchivedFile& inner : entry(name).files[0].contents) {
      if (!inner.optional) bytes += inner.bytes;
    }
    EXPECT_EQ(bytes, (entry(name).train + entry(name).test) * record);
  }
}

// Debian's package has the same compressed bytes, without the name and the time of the file.
TEST(Catalog, DebiansFilesHaveTheChecksums) {
  for (const RemoteFile& file : entry("fashion_mnist").files) {
    std::ifstream in(concat(kFashionMnistDirectory, "/", file.name), std::ios::binary);
    if (!in) GTEST_SKIP() << "on Debian install dataset-fashion-mnist";
    std::ostringstream whole;
    whole << in.rdbuf();
    std::string bytes = whole.str();
    const std::string name = file.name.substr(0, file.name.size() - 3);
    const uint32_t time = file.name.starts_with("train") ? 1504176606 : 1504176627;
    bytes[3] = 8;  // a name follows the ten bytes of the header
    for (size_t i = 0; i < 4; ++i) bytes[4 + i] = static_cast<char>(time >> (8 * i));
    bytes.insert(10, name.c_str(), name.size() + 1);
    EXPECT_EQ(static_cast<int64_t>(bytes.size()), file.bytes);
    EXPECT_EQ(digest_of(bytes), file.sha256);
    EXPECT_EQ(digest_of(bytes, DigestKind::md5), file.md5);
  }
}

TEST(Catalog, SumsTheDownload) {
  EXPECT_EQ(download_bytes(entry("cifar10")), 170052171);
  EXPECT_EQ(download_bytes(entry("mnist")), 9912422 + 28881 + 1648877 + 4542);
}

TEST(Catalog, AnUnknownNameGetsTheNearest) {
  const std::string message = error_of([] { entry("cifar1o"); });
  EXPECT_SAYS(message, "'cifar1o'");
  EXPECT_SAYS(message, "'cifar10'");
  EXPECT_SAYS(message, "fashion_mnist");
}

TEST(Catalog, WhatCannotBeFetchedSaysWhereItIs) {
  const std::string message = error_of([] { entry("imagenet"); });
  EXPECT_SAYS(message, "'imagenet'");
  EXPECT_SAYS(message, "https://www.image-net.org");
}

}  // namespace
}  // namespace pando::fetch
