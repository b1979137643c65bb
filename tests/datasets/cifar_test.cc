// Verifying CIFAR-10 and CIFAR-100.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/sources/cifar/batch.h"
#include "pando/data/sources/gzip.h"
#include "pando/datasets/tools/verify.h"
#include "tests/data/cifar_files.h"
#include "tests/data/idx_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

class VerifyCifar : public testing::Test {
 protected:
  // Changes bytes of a file and returns the report.
  VerifyReport verify_after(const std::string& name, const std::function<void(Bytes&)>& change,
                            int32_t classes = 10) {
    const bool small = classes == 10;
    const CifarFiles files = random_files(classes);
    small ? write_cifar10_binary(folder_.path(), files)
          : write_cifar100_binary(folder_.path(), files);
    Bytes content = data::read_file(folder_.path(name));
    change(content);
    folder_.write(name, content);
    return verify_dataset(small ? "cifar10" : "cifar100", folder_.path(), {.workers = 2});
  }

  TempFolder folder_;
};

TEST_F(VerifyCifar, CountsBothVersions) {
  write_cifar10_binary(folder_.path(), random_files());
  const VerifyReport binary = verify_dataset("cifar10", folder_.path());
  EXPECT_TRUE(binary.good());
  EXPECT_EQ(binary.parts.at(0).samples, 13);
  EXPECT_EQ(binary.parts.at(1).samples, 4);
  EXPECT_EQ(binary.files.size(), 6u);
  EXPECT_EQ(binary.classes.at(0), "airplane");
  EXPECT_EQ(binary.notes.at(0), "the binary version");

  const TempFolder other;
  write_cifar100_python(other.path(), random_files(100));
  const VerifyReport python = verify_dataset("cifar100", other.path());
  EXPECT_TRUE(python.good());
  EXPECT_EQ(python.samples(), 17);
  EXPECT_EQ(python.notes.at(0), "the Python version");
  EXPECT_EQ(python.parts.at(0).per_class.size(), 100u);
}

TEST_F(VerifyCifar, ListsEveryBadLabelAndTheRest) {
  const VerifyReport report = verify_after("test_batch.bin", [](Bytes& content) {
    content[0] = 10;
    content[3073] = 255;
    content.resize(content.size() - 1);
  });
  ASSERT_EQ(report.bad.size(), 3u);
  EXPECT_SAYS(report.bad[0].why, "offset 9219", "3072 bytes", "3 records", "3073 bytes");
  EXPECT_EQ(report.bad[1].offset, 0u);
  EXPECT_SAYS(report.bad[2].why, "offset 3073", "label 255", "0 to 9");
  EXPECT_EQ(report.parts[0].samples, 13);
  EXPECT_EQ(report.parts[1].samples, 1);
}

TEST_F(VerifyCifar, BothLabelsOfCifar100) {
  const VerifyReport report = verify_after(
      "test.bin",
      [](Bytes& content) {
        content[0] = 20;
        content[3074 + 1] = 100;
      },
      100);
  ASSERT_EQ(report.bad.size(), 2u);
  EXPECT_SAYS(report.bad[0].why, "offset 0", "label 20", "0 to 19");
  EXPECT_EQ(report.bad[1].offset, 3075u);
  EXPECT_EQ(report.parts[1].samples, 2);
}

TEST_F(VerifyCifar, AnEmptyFileAndAMissingOne) {
  VerifyReport report = verify_after("data_batch_5.bin", [](Bytes& content) { content.clear(); });
  ASSERT_EQ(report.bad.size(), 1u);
  EXPECT_SAYS(report.bad[0].why, "0 bytes", "0 records");
  std::filesystem::remove(folder_.path("data_batch_5.bin"));
  report = verify_dataset("cifar10", folder_.path());
  ASSERT_EQ(report.bad.size(), 1u);
  EXPECT_EQ(report.bad[0].file, folder_.path("data_batch_5.bin"));
  EXPECT_SAYS(report.bad[0].why, "no such file");
}

TEST_F(VerifyCifar, NothingThere) {
  const VerifyReport report = verify_dataset("cifar10", folder_.path());
  ASSERT_EQ(report.bad.size(), 1u);
  EXPECT_SAYS(report.bad[0].why, "data_batch_1.bin");
  EXPECT_SAYS(report.bad[0].why, "get cifar-10-binary.tar.gz");
}

TEST_F(VerifyCifar, BadLabelsInPickles) {
  CifarFiles files = random_files();
  write_cifar10_python(folder_.path(), files);
  const std::string path = folder_.path("test_batch");
  std::vector<data::CifarFlaw> flaws;
  const Bytes content = data::read_file(path);
  data::parse_cifar_python(content, path, data::CifarKind::cifar10, &flaws);
  EXPECT_TRUE(flaws.empty());
  // A small integer is the opcode K and a byte; the labels 2, 3, 4, 5 are stored one after the
  // other.
  Bytes changed = content;
  int found = 0;
  for (size_t i = 0; i + 1 < changed.size(); ++i) {
    if (changed[i] == 'K' && changed[i + 1] == 3) {
      changed[i + 1] = 30;
      ++found;
    }
  }
  folder_.write("test_batch", changed);
  const VerifyReport report = verify_dataset("cifar10", folder_.path());
  EXPECT_GE(found, 1);
  ASSERT_EQ(report.bad.size(), 1u);
  EXPECT_SAYS(report.bad[0].why, "label 30", "0 to 9");
  EXPECT_GT(report.bad[0].offset, 0u);
  EXPECT_EQ(report.parts[1].samples, 3);
}

}  // namespace
}  // namespace pando
