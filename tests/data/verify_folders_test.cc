// Verifies data sets of many files: images per class, CosmoFlow, record files.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "pando/data/image/png.h"
#include "pando/data/sources/cosmoflow.h"
#include "pando/data/tfrecord/example.h"
#include "pando/data/tools/verify.h"
#include "tests/data/record_files.h"
#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

bool same_report(const VerifyReport& a, const VerifyReport& b) {
  return a.bad == b.bad && a.bad_count == b.bad_count && a.notes == b.notes &&
         a.samples() == b.samples() && a.bytes() == b.bytes();
}

class VerifyImageFolder : public testing::Test {
 protected:
  VerifyImageFolder() {
    for (const char* name : {"cat", "dog"}) fs::create_directory(folder_.path(name));
    for (int i = 0; i < 3; ++i) {
      folder_.write(concat("cat/", i, ".jpg"), encode_jpeg(soft_image({20, 30 + i}).view()));
      folder_.write(concat("dog/", i, ".png"), encode_png(soft_image({9, 8}).view()));
    }
  }
  VerifyReport verify(int workers = 2) const {
    return verify_dataset("image_folder", folder_.path(), {.workers = workers});
  }
  BadRecord only_bad() const {
    const VerifyReport report = verify();
    EXPECT_EQ(report.bad_count, 1);
    EXPECT_EQ(report.samples(), 6);
    return report.bad.at(0);
  }

  TempFolder folder_;
};

TEST_F(VerifyImageFolder, CountsClasses) {
  const VerifyReport report = verify();
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.classes, (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(report.parts.size(), 1u);
  EXPECT_EQ(report.parts[0].name, "all");
  EXPECT_EQ(report.parts[0].per_class, (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(report.files.at(1).path, folder_.path("dog"));
  EXPECT_EQ(report.files.at(1).bytes, 3 * fs::file_size(folder_.path("dog/0.png")));
}

TEST_F(VerifyImageFolder, ListsEveryBadImageInOrder) {
  Bytes cut = encode_jpeg(soft_image({64, 64}).view());
  cut.resize(cut.size() / 2);
  folder_.write("dog/z.jpg", cut);
  folder_.write("cat/a.jpg", bytes_of("no image"));
  folder_.write("dog/empty", {});
  const VerifyReport report = verify(1);
  ASSERT_EQ(report.bad.size(), 3u);
  EXPECT_EQ(report.bad[0].file, folder_.path("cat/a.jpg"));
  EXPECT_EQ(report.bad[1].file, folder_.path("dog/empty"));
  EXPECT_EQ(report.bad[2].file, folder_.path("dog/z.jpg"));
  EXPECT_EQ(report.files.at(1).bad, 2);
  EXPECT_EQ(report.samples(), 6);
  EXPECT_TRUE(same_report(report, verify(2)));
  EXPECT_TRUE(same_report(report, verify(5)));
}

// A PNG whose header asks for 60,000 x 60,000 pixels; the checksum of the header is that of zlib.
Bytes png_of_size(uint32_t width, uint32_t height) {
  Bytes png = encode_png(soft_image({4, 4}).view());
  for (size_t i = 0; i < 4; ++i) {
    png[16 + i] = static_cast<uint8_t>(width >> (24 - 8 * i));
    png[20 + i] = static_cast<uint8_t>(height >> (24 - 8 * i));
  }
  const auto crc = static_cast<uint32_t>(crc32(0, png.data() + 12, 17));
  for (size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
  return png;
}

TEST_F(VerifyImageFolder, BombsAndImagesWithoutPixels) {
  folder_.write("cat/bomb.png", png_of_size(60000, 60000));
  EXPECT_SAYS(only_bad().why, "60000x60000");
  folder_.write("cat/bomb.png", png_of_size(0, 4));
  EXPECT_EQ(only_bad().file, folder_.path("cat/bomb.png"));
  // A JPEG of the largest possible size.
  Bytes jpeg = encode_jpeg(soft_image({16, 16}).view());
  for (size_t i = 0; i + 8 < jpeg.size(); ++i) {
    if (jpeg[i] == 0xff && jpeg[i + 1] == 0xc0)
      std::fill_n(jpeg.begin() + static_cast<long>(i) + 5, 4, 0xff);
  }
  folder_.write("cat/bomb.png", jpeg);
  EXPECT_SAYS(only_bad().why, "pixels");
}

TEST_F(VerifyImageFolder, FilesThatCannotBeRead) {
  fs::create_symlink("nowhere", folder_.path("cat/link.jpg"));
  EXPECT_EQ(only_bad().file, folder_.path("cat/link.jpg"));
  fs::remove(folder_.path("cat/link.jpg"));
  folder_.write("cat/secret.jpg", encode_jpeg(soft_image({8, 8}).view()));
  fs::permissions(folder_.path("cat/secret.jpg"), fs::perms::none);
  fs::permissions(folder_.path(), fs::perms::all);
  const bool is_root = ::geteuid() == 0;  // root may read everything
  if (is_root && ::seteuid(65534) != 0) GTEST_SKIP() << "cannot give up the rights of root";
  const VerifyReport report = verify(1);
  const int restored = is_root ? ::seteuid(0) : 0;
  ASSERT_EQ(restored, 0);
  ASSERT_EQ(report.bad.size(), 1u);
  EXPECT_SAYS(report.bad[0].why, "Permission denied");
}

TEST_F(VerifyImageFolder, AClassWithoutImages) {
  fs::create_directory(folder_.path("bird"));
  const BadRecord bad = only_bad();
  EXPECT_EQ(bad.file, folder_.path("bird"));
  EXPECT_SAYS(bad.why, "class");
}

TEST_F(VerifyImageFolder, PartsWithOtherClasses) {
  for (const char* name : {"train", "val/cat"}) fs::create_directories(folder_.path(name));
  for (const char* name : {"cat", "dog"}) {
    fs::rename(folder_.path(name), folder_.path(concat("train/", name)));
  }
  folder_.write("val/cat/1.png", encode_png(soft_image({9, 8}).view()));
  const VerifyReport report = verify();
  ASSERT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.parts[0].samples, 6);
  EXPECT_EQ(report.parts[1].name, "val");
  EXPECT_EQ(report.parts[1].samples, 1);
  ASSERT_EQ(report.bad.size(), 1u);
  EXPECT_SAYS(report.bad[0].why, "1 classes", "part");
}

TEST(VerifyFolders, NothingThere) {
  const TempFolder folder;
  for (const char* format : {"image_folder", "cosmoflow", "tfrecord"}) {
    EXPECT_EQ(verify_dataset(format, folder.path()).bad_count, 1) << format;
  }
  for (const char* format : {"mnist", "cifar10", "image_folder", "cosmoflow", "tfrecord"}) {
    const VerifyReport report = verify_dataset(format, folder.path("none"));
    EXPECT_EQ(report.bad_count, 1) << format;
    EXPECT_EQ(report.bad.at(0).why, "no such file or folder");
  }
  EXPECT_SAYS(verify_dataset("image_folder", folder.path()).bad.at(0).why, "has no folders");
  EXPECT_SAYS(verify_dataset("cosmoflow", folder.path()).bad.at(0).why, "*.tfrecord");
  EXPECT_SAYS(verify_dataset("tfrecord", folder.path()).bad.at(0).why, "found no sample");
}

TEST(VerifyCosmoflow, ListsEveryBadVolume) {
  const TempFolder folder;
  make_cosmoflow(folder.path(), {.train = 4, .validation = 2, .shape = {4, 4, 4, 4}});
  VerifyReport report = verify_dataset("cosmoflow", folder.path(), {.workers = 2});
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.samples(), 6);
  EXPECT_EQ(report.notes.at(0), "train: volumes [4,4,4,4]");
  EXPECT_SAYS(report.notes.at(1), "train: targets from ");

  const std::vector<float> targets(4, 0.5f);
  std::vector<int16_t> counts(4 * 4 * 4 * 4, 1);
  counts[7] = -1;
  write_cosmoflow_sample(folder.path("train/x1.tfrecord"), {counts, targets});
  write_cosmoflow_sample(folder.path("train/x2.tfrecord"), {std::vector<int16_t>(32), targets});
  folder.write("train/x3.tfrecord", {});
  fs::create_symlink("nowhere", folder.path("train/x4.tfrecord"));
  report = verify_dataset("cosmoflow", folder.path(), {.workers = 2});
  ASSERT_EQ(report.bad.size(), 4u);
  EXPECT_SAYS(report.bad[0].why, "count 7");
  EXPECT_SAYS(report.bad[1].why, "64 bytes", "512");
  EXPECT_SAYS(report.bad[2].why, "empty");
  EXPECT_SAYS(report.bad[3].why, "cannot open");
  EXPECT_EQ(report.bad[3].file, folder.path("train/x4.tfrecord"));
  EXPECT_EQ(report.samples(), 6);
}

Bytes numbered_example(int64_t number) {
  return ExampleBuilder().ints("number", {number}).text("name", "x").encode();
}

TEST(VerifyTfrecord, GoesOnBehindABadPayload) {
  const TempFolder folder;
  Bytes content = records({numbered_example(1), numbered_example(2), bytes_of("\xff\xff"),
                           numbered_example(4), numbered_example(5)});
  const size_t one = record(numbered_example(1)).size();
  content[12] ^= 1;  // the payload of record 0
  folder.write("a.tfrecord", content);
  const VerifyReport report = verify_dataset("tfrecord", folder.path());
  ASSERT_EQ(report.bad.size(), 2u);
  EXPECT_EQ(report.bad[0].offset, 0u);
  EXPECT_SAYS(report.bad[0].why, "crc");
  EXPECT_EQ(report.bad[1].offset, 2 * one);
  EXPECT_SAYS(report.bad[1].why, "record at byte " + std::to_string(2 * one));
  EXPECT_EQ(report.samples(), 3);
  EXPECT_EQ(report.notes, (std::vector<std::string>{"feature 'name' bytes_list in 3 records",
                                                    "feature 'number' int64_list in 3 records"}));
}

TEST(VerifyTfrecord, SaysWhenTheRestIsLost) {
  const TempFolder folder;
  Bytes content = records({numbered_example(1), numbered_example(2), numbered_example(3)});
  content[record(numbered_example(1)).size()] ^= 1;  // the length of record 1
  const std::string path = folder.write("a.tfrecord", content);
  Bytes cut = records({numbered_example(1)});
  cut.pop_back();
  folder.write("b.tfrecord", cut);
  folder.write("c.tfrecord", records({numbered_example(7)}));
  folder.write("d.tfrecord", {});
  const VerifyReport report = verify_dataset("tfrecord", folder.path(), {.workers = 3});
  ASSERT_EQ(report.bad.size(), 3u);
  EXPECT_SAYS(report.bad[0].why, "what follows it in the file cannot be found");
  EXPECT_EQ(report.bad[0].file, path);
  EXPECT_SAYS(report.bad[1].why, "truncated at byte");
  EXPECT_SAYS(report.bad[2].why, "empty");
  EXPECT_EQ(report.samples(), 2);
}

TEST(VerifyTfrecord, MissingShards) {
  const TempFolder folder;
  folder.write("train-00000-of-00003", records({numbered_example(1)}));
  folder.write("train-00002-of-00003", gzip(records({numbered_example(3)})));
  const VerifyReport report = verify_dataset("tfrecord", folder.path());
  ASSERT_EQ(report.bad.size(), 1u);
  EXPECT_EQ(report.bad[0].file, folder.path("train-00001-of-00003"));
  EXPECT_SAYS(report.bad[0].why, "missing");
  EXPECT_EQ(report.samples(), 2);
}

}  // namespace
}  // namespace pando
