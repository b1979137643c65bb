// Verifying MNIST and Fashion-MNIST.
// SPDX-License-Identifier: MIT
#include "pando/data/sources/mnist.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/sources/gzip.h"
#include "pando/datasets/tools/verify.h"
#include "tests/data/idx_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

// Six training and three test images of 2x2 pixels.
class VerifyMnist : public testing::Test {
 protected:
  VerifyMnist() {
    folder_.write("train-images-idx3-ubyte", idx_header(8, {6, 2, 2}) + counting_bytes(24));
    folder_.write("train-labels-idx1-ubyte", idx_header(8, {6}) + counting_bytes(6));
    folder_.write("t10k-images-idx3-ubyte", idx_header(8, {3, 2, 2}) + counting_bytes(12));
    folder_.write("t10k-labels-idx1-ubyte", idx_header(8, {3}) + counting_bytes(3));
  }
  VerifyReport verify(const VerifyOptions& options = {}) const {
    return verify_dataset("mnist", folder_.path(), options);
  }
  // Replaces a file and returns the only bad record after that.
  BadRecord bad_after(const std::string& name, const Bytes& content) const {
    folder_.write(name, content);
    const VerifyReport report = verify();
    EXPECT_EQ(report.bad_count, 1);
    EXPECT_EQ(report.bad.at(0).file, folder_.path(name));
    return report.bad.at(0);
  }

  TempFolder folder_;
};

TEST_F(VerifyMnist, CountsWhatIsGood) {
  const VerifyReport report = verify();
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.format, "mnist");
  EXPECT_EQ(report.samples(), 9);
  EXPECT_EQ(report.bytes(), 4 * 4 + 3 * 4 * 2 + 4 * 2 + 24 + 6 + 12 + 3u);
  ASSERT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.parts[0].samples, 6);
  EXPECT_EQ(report.parts[0].per_class, (std::vector<int64_t>{1, 1, 1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(report.parts[1].official, 10000);
  EXPECT_EQ(report.files.size(), 4u);
  EXPECT_EQ(report.notes.size(), 2u);
  EXPECT_EQ(report.notes[0], "train: 6 good samples, 60000 in the official data set");
}

TEST_F(VerifyMnist, TheFolderMayHaveAnyName) {
  const TempFolder other;
  std::filesystem::copy(folder_.path(), other.path("labels"));
  const VerifyReport report = verify_dataset("mnist", other.path("labels"));
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.samples(), 9);
}

TEST_F(VerifyMnist, OtherCountsAreBadWhenOfficialOnesAreWanted) {
  const VerifyReport report = verify({.official = true});
  EXPECT_EQ(report.bad_count, 2);
  EXPECT_TRUE(report.notes.empty());
}

TEST_F(VerifyMnist, AsksWhereFilesComeFrom) {
  VerifyOptions options{.origin_of = [](const std::string& path) {
    if (path.find("t10k") != std::string::npos) return FileOrigin::unknown;
    return path.find("labels") != std::string::npos ? FileOrigin::official : FileOrigin::other;
  }};
  VerifyReport report = verify(options);
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.files[0].origin, FileOrigin::other);
  EXPECT_EQ(report.files[1].origin, FileOrigin::official);
  EXPECT_SAYS(report.notes.back(), "train-images-idx3-ubyte", "official");
  options.official = true;
  report = verify(options);
  EXPECT_EQ(report.files[0].bad, 1);
  EXPECT_SAYS(report.bad.at(0).why, "its checksum differs");
}

TEST_F(VerifyMnist, ListsEveryLabelOutOfRange) {
  folder_.write("train-labels-idx1-ubyte", idx_header(8, {6}) + Bytes{0, 10, 1, 255, 2, 99});
  const VerifyReport report = verify();
  ASSERT_EQ(report.bad.size(), 3u);
  EXPECT_EQ(report.bad[0].offset, 9u);
  EXPECT_SAYS(report.bad[0].why, "offset 9", "label 1", "10", "0 to 9");
  EXPECT_EQ(report.bad[2].offset, 13u);
  EXPECT_EQ(report.parts[0].samples, 3);
  EXPECT_EQ(report.files[1].bad, 3);
  EXPECT_EQ(report.parts[1].samples, 3);  // the other part is still read
}

TEST_F(VerifyMnist, DamagedFiles) {
  const std::string images = "train-images-idx3-ubyte";
  EXPECT_SAYS(bad_after(images, idx_header(8, {6, 2, 2}) + counting_bytes(23)).why, "truncated");
  EXPECT_SAYS(bad_after(images, Bytes{1, 2, 3, 4}).why, "IDX");
  EXPECT_SAYS(bad_after(images, idx_header(8, {6}) + counting_bytes(6)).why, "u8[6]",
              "[count,height,width]");
  EXPECT_SAYS(bad_after(images, idx_header(8, {6, 0, 2})).why, "pixel");
  EXPECT_SAYS(bad_after(images, {}).why, "truncated");
  EXPECT_EQ(verify().parts[0].samples, 0);
  EXPECT_EQ(verify().parts[0].per_class, std::vector<int64_t>(10));
}

TEST_F(VerifyMnist, LabelsThatAreTooFew) {
  const BadRecord bad =
      bad_after("train-labels-idx1-ubyte", idx_header(8, {5}) + counting_bytes(5));
  EXPECT_SAYS(bad.why, "5 labels");
  EXPECT_SAYS(bad_after("train-labels-idx1-ubyte", idx_header(8, {0})).why, "0 labels");
}

TEST_F(VerifyMnist, TruncatedGzip) {
  std::filesystem::remove(folder_.path("t10k-labels-idx1-ubyte"));
  Bytes packed = gzip(idx_header(8, {3}) + counting_bytes(3));
  packed.resize(packed.size() - 6);
  bad_after("t10k-labels-idx1-ubyte.gz", packed);
}

TEST_F(VerifyMnist, MissingFiles) {
  std::filesystem::remove(folder_.path("t10k-labels-idx1-ubyte"));
  std::filesystem::remove(folder_.path("t10k-images-idx3-ubyte"));
  const VerifyReport report = verify();
  ASSERT_EQ(report.bad.size(), 2u);
  EXPECT_SAYS(to_string(report.bad[0]), folder_.path("t10k-images-idx3-ubyte"), "missing", ".gz");
  EXPECT_EQ(report.parts[0].samples, 6);
}

TEST_F(VerifyMnist, ListsAsManyAsAskedFor) {
  folder_.write("train-labels-idx1-ubyte", idx_header(8, {6}) + Bytes(6, 77));
  folder_.write("t10k-labels-idx1-ubyte", idx_header(8, {3}) + Bytes(3, 78));
  const VerifyReport report = verify({.workers = 3, .most_bad = 7});
  EXPECT_EQ(report.bad_count, 9);
  ASSERT_EQ(report.bad.size(), 7u);
  EXPECT_SAYS(report.bad[6].file, "t10k-labels");
}

TEST(VerifyFashionMnist, TheInstalledFilesAreGood) {
  if (!std::filesystem::exists(kFashionMnistDirectory)) GTEST_SKIP() << "not installed";
  const VerifyReport report =
      verify_dataset("fashion_mnist", kFashionMnistDirectory, {.workers = 2, .official = true});
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.samples(), 70000);
  EXPECT_EQ(report.classes.at(9), "Ankle boot");
}

}  // namespace
}  // namespace pando
