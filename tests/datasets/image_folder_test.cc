// Verifying folders of images.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "pando/data/image/png.h"
#include "pando/datasets/tools/verify.h"
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
  const VerifyReport report = verify();
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.classes, (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_SAYS(report.notes[0], folder_.path("bird"), "class");
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
  EXPECT_TRUE(report.good());  // validation may lack a class
  fs::create_directory(folder_.path("val/bird"));
  folder_.write("val/bird/1.png", encode_png(soft_image({9, 8}).view()));
  const VerifyReport other = verify();
  ASSERT_EQ(other.bad.size(), 1u);
  EXPECT_EQ(other.bad[0].file, folder_.path("val"));
  EXPECT_SAYS(other.bad[0].why, "'bird'", "2 classes");
}

}  // namespace
}  // namespace pando
