// SPDX-License-Identifier: MIT
#include "pando/data/sources/labelled_images.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/image/png.h"
#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

class LabelledImages : public testing::Test {
 protected:
  LabelledImages() {
    for (const char* name : {"train/deep", "val"}) {
      std::filesystem::create_directories(folder_.path(name));
    }
    for (const char* name : {"train/a.png", "train/deep/b.png", "val/c.png", "val/a.png"}) {
      folder_.write(name, encode_png(soft_image({9, 8}).view()));
    }
  }
  data::TaggedList find(const std::string& table, const std::string& below = "",
                        OnBadRecord on_bad_record = OnBadRecord::error) const {
    const data::LabelTable rows = data::parse_label_table(table, "t.csv");
    return data::find_tagged(rows, {folder_.path(), below.empty() ? "" : folder_.path(below)},
                             {.count = 3, .names = {"cat", "dog", "owl"}},
                             {.on_bad_record = on_bad_record, .workers = 2});
  }

  TempFolder folder_;
};

TEST_F(LabelledImages, AreFoundByPathOrName) {
  const data::TaggedList list =
      find("train/a.png,cat\nb.png,dog\nc,owl;cat\n./val/a.png,dog;owl\n");
  ASSERT_EQ(list.files.size(), 4u);
  EXPECT_EQ(list.files[0].path, folder_.path("train/a.png"));
  EXPECT_EQ(list.files[1].path, folder_.path("train/deep/b.png"));
  EXPECT_EQ(list.files[2].path, folder_.path("val/c.png"));
  EXPECT_EQ(list.files[2].labels, (std::vector<int32_t>{0, 2}));
  EXPECT_TRUE(list.warnings.empty());
}

TEST_F(LabelledImages, APartHasThePicturesBelowIt) {
  const std::string table = "train/a.png,cat\nb,dog\nval/c.png,owl\n";
  EXPECT_EQ(find(table, "train").files.size(), 2u);
  const data::TaggedList val = find(table, "val");
  EXPECT_EQ(val.files.size(), 1u);
  ASSERT_EQ(val.warnings.size(), 1u);
  EXPECT_SAYS(val.warnings[0], "1 file", "without a row in the table", folder_.path("val/a.png"));
}

TEST_F(LabelledImages, SaysWhatIsWrong) {
  const auto error = [&](const std::string& table, const std::string& below = "") {
    return error_of<IoError>([&] { find(table, below); });
  };
  EXPECT_SAYS(error("b,cat\nnone.png,dog\n"), "t.csv: line 2", "none.png", folder_.path());
  EXPECT_SAYS(error("a.png,cat\n"), "t.csv: line 1", "several", folder_.path("val/a.png"));
  EXPECT_SAYS(error("b.png,cat\nb,dog\n"), "t.csv: line 2", "already");
  EXPECT_SAYS(error("b.png,bird\n"), "t.csv: line 1", "'bird'");
  EXPECT_SAYS(error("b.png,cat\n", "val"), "no picture", folder_.path("val"));
}

TEST_F(LabelledImages, SkipsWhatCannotBeRead) {
  folder_.write("val/c.png", {1, 2, 3});
  const data::TaggedList list = find("b,cat\nnone.png,dog\nc,owl\n", "", OnBadRecord::skip);
  EXPECT_EQ(list.files.size(), 1u);
  ASSERT_EQ(list.bad.size(), 2u);
  EXPECT_SAYS(list.bad[0].why, "line 2", "none.png");
  EXPECT_EQ(list.bad[1].file, folder_.path("val/c.png"));
}

TEST_F(LabelledImages, SeveralLabelsAreARowOfZerosAndOnes) {
  const Dataset dataset =
      open_tagged_images(find("b,owl;cat\nc,dog\n").files, 3, {.size = {4, 4}, .short_side = 4});
  EXPECT_EQ(to_string(dataset.fields()), "x f32[4,4,3], y f32[3]");
  const Sample sample = dataset.get(0);
  EXPECT_EQ(std::vector<float>(sample.y().f32().begin(), sample.y().f32().end()),
            (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(dataset.get(1).y().f32()[1], 1);
  EXPECT_SAYS(error_of([] { open_tagged_images({}, 3, {.workers = 0}); }), "0 workers");
}

}  // namespace
}  // namespace pando
