#include "pando/app/report/class_record.h"

#include <gtest/gtest.h>

#include "pando/data/image/png.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

ClassReport report_of_three() {
  ClassReport report(2);
  report.add(Tensor({3, 2}, std::vector<float>{1, 0, 0, 1, 1, 0}), std::vector<int32_t>{0, 1, 1});
  return report;
}

TEST(ClassRecord, HasCellsScoresAndPictures) {
  const TestFolder folder;
  const Tensor pictures(DType::u8, {3, 4, 4, 1}), labels(DType::i32, {3});
  write_class_record(folder.path, report_of_three(), {"<script>", "b"},
                     {{0, 0, 0, 0.9f}, {1, 1, 1, 0.8f}, {2, 1, 0, 0.123456f}},
                     Dataset::from_tensors(pictures, labels));
  const Json record = Json::parse(folder.read(kClassRecordFile));
  EXPECT_EQ(record.get<std::vector<std::string>>("names")[0], "<script>");
  EXPECT_EQ(record.get<int>("samples"), 3);
  EXPECT_EQ(record.at("cells").dump(), "[[0,0,1],[1,0,1],[1,1,1]]");
  EXPECT_EQ(record.at("classes").dump(), "[[1,0.5,1.0,0.6667],[2,1.0,0.5,0.6667]]");
  const Json& shown = record.at("shown");
  EXPECT_EQ(shown.at("tile").dump(), "[4,4]");
  EXPECT_EQ(shown.at("samples").items()[0].dump(), "[2,1,0,0.1235]");  // the mistake comes first
  EXPECT_TRUE(folder.read(kClassSamplesFile).starts_with("\x89PNG"));
}

// Data that are not pictures have a record without them, and those of an earlier one go.
TEST(ClassRecord, WithoutPictures) {
  const TestFolder folder;
  folder.write(kClassSamplesFile, "old");
  const Dataset numbers =
      Dataset::from_tensors(Tensor(DType::f32, {3, 5}), Tensor(DType::i32, {3}));
  write_class_record(folder.path, report_of_three(), {}, {{0, 0, 0, 1}}, numbers);
  const Json record = Json::parse(folder.read(kClassRecordFile));
  EXPECT_TRUE(record.at("shown").is_null());
  EXPECT_EQ(record.get<std::vector<std::string>>("names")[1], "1");
  EXPECT_FALSE(std::filesystem::exists(folder.path / kClassSamplesFile));
}

}  // namespace
}  // namespace pando::app
