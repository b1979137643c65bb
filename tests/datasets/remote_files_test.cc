// The files of data sets that can be fetched.
// SPDX-License-Identifier: MIT
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "pando/data/sources/mnist.h"
#include "pando/datasets/all_datasets.h"
#include "pando/fetch/transfer.h"
#include "tests/fetch/server.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

bool is_hexadecimal(const std::string& text) {
  return text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

TEST(RemoteFiles, EveryFileCanBeFetchedAndChecked) {
  std::set<std::string> sums;
  for (const DatasetRecord& record : all_datasets()) {
    if (!record.remote) continue;
    SCOPED_TRACE(record.name);
    const fetch::RemoteDataset& one = *record.remote;
    EXPECT_EQ(one.name, record.name);
    EXPECT_FALSE(one.files.empty());
    for (const fetch::RemoteFile& file : one.files) {
      SCOPED_TRACE(file.name);
      EXPECT_GT(file.bytes, 0);
      EXPECT_EQ(file.sha256.size(), 64u);
      EXPECT_TRUE(is_hexadecimal(file.sha256));
      EXPECT_TRUE(file.md5.size() == 32 && is_hexadecimal(file.md5));
      EXPECT_TRUE(sums.insert(file.sha256).second) << "two files with one checksum";
      EXPECT_FALSE(file.addresses.empty());
      for (const std::string& address : file.addresses) {
        EXPECT_TRUE(fetch::is_address(address)) << address;
        EXPECT_TRUE(address.ends_with("/" + file.name)) << address;
      }
    }
  }
}

// Unpacked files are moved into place as one folder.
TEST(RemoteFiles, AnArchiveUnpacksToTheSubfolder) {
  for (const DatasetRecord& record : all_datasets()) {
    if (!record.remote) continue;
    SCOPED_TRACE(record.name);
    const fetch::RemoteDataset& one = *record.remote;
    for (const fetch::RemoteFile& file : one.files) {
      EXPECT_EQ(file.contents.empty(), one.subfolder.empty());
      for (const fetch::ArchivedFile& inner : file.contents) {
        EXPECT_TRUE(inner.path.starts_with(one.subfolder + "/")) << inner.path;
        EXPECT_GT(inner.bytes, 0);
      }
    }
  }
}

// A record of CIFAR-10 is a label and an image, of CIFAR-100 two labels and an image.
TEST(RemoteFiles, ArchivesHoldTheSamplesThatTheRecordCounts) {
  for (const auto& [name, record] : {std::pair("cifar10", 3073), std::pair("cifar100", 3074)}) {
    int64_t bytes = 0;
    for (const fetch::ArchivedFile& inner : dataset_record(name).remote->files[0].contents) {
      if (!inner.optional) bytes += inner.bytes;
    }
    EXPECT_EQ(bytes, (dataset_record(name).train + dataset_record(name).test) * record);
  }
}

// Debian's package has the same compressed bytes, without the name and the time of the file.
TEST(RemoteFiles, DebiansFilesHaveTheChecksums) {
  for (const fetch::RemoteFile& file : dataset_record("fashion_mnist").remote->files) {
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
    EXPECT_EQ(fetch::digest_of(bytes), file.sha256);
    EXPECT_EQ(fetch::digest_of(bytes, fetch::DigestKind::md5), file.md5);
  }
}

TEST(RemoteFiles, SumsTheDownload) {
  EXPECT_EQ(fetch::download_bytes(*dataset_record("cifar10").remote), 170052171);
  EXPECT_EQ(fetch::download_bytes(*dataset_record("mnist").remote),
            9912422 + 28881 + 1648877 + 4542);
}

TEST(RemoteFiles, AnUnknownNameGetsTheNearest) {
  const std::string message = error_of([] { fetchable_dataset("cifar1o"); });
  EXPECT_SAYS(message, "'cifar1o'");
  EXPECT_SAYS(message, "'cifar10'");
  EXPECT_SAYS(message, "fashion_mnist");
}

TEST(RemoteFiles, WhatCannotBeFetchedSaysWhereItIs) {
  const std::string message = error_of([] { fetchable_dataset("imagenet"); });
  EXPECT_SAYS(message, "'imagenet'");
  EXPECT_SAYS(message, "https://www.image-net.org");
  EXPECT_SAYS(error_of([] { fetchable_dataset("tfrecord"); }), "unknown", "'tfrecord'");
}

}  // namespace
}  // namespace pando
