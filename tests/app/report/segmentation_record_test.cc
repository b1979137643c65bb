#include "pando/app/report/segmentation_record.h"

#include <gtest/gtest.h>

#include "pando/base/json.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

// Two pictures of two pixels; the second pixel of the second picture is wrong.
SegmentationReport report_of_two() {
  SegmentationReport report(3);
  report.add(Tensor::of_f32({2, 1, 2, 3}, {1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0}),
             std::vector<int32_t>{0, 1, 0, 2});
  return report;
}

SegmentedSample sample_of(int64_t index, double iou, Shape shape) {
  const auto pixels = static_cast<size_t>(shape.elements() / shape[shape.rank() - 1]);
  return {.index = index,
          .x = Tensor(DType::u8, shape),
          .truth = std::vector<int32_t>(pixels, 1),
          .predicted = std::vector<int32_t>(pixels, 0),
          .iou = iou};
}

TEST(SegmentationRecord, HasOverlapsAndPictures) {
  const TestFolder folder;
  write_segmentation_record(folder.path, report_of_two(), {"ground", "<b>", "thing"},
                            {sample_of(1, 1.0 / 3, {1, 2, 1})}, {sample_of(0, 1, {1, 2, 1})});
  const Json record = Json::parse(folder.read(kSegmentationRecordFile));
  EXPECT_EQ(record.get<std::vector<std::string>>("names")[1], "<b>");
  EXPECT_EQ(record.at("colours").dump(), R"(["#000000","#800000","#008000"])");
  EXPECT_EQ(record.get<int>("samples"), 2);
  EXPECT_EQ(record.get<int>("pixels"), 4);
  EXPECT_EQ(record.at("classes").dump(), "[[2,1.0,1.0,1.0],[1,0.5,0.5,1.0],[1,0.0,0.0,0.0]]");
  EXPECT_EQ(record.at("cells").dump(), "[[0,0,2],[1,1,1],[2,1,1]]");
  EXPECT_EQ(record.at("shown").at("samples").dump(), "[[1,0.3333,false],[0,1.0,true]]");
  EXPECT_EQ(record.at("shown").at("tile").dump(), "[1,2]");
  EXPECT_TRUE(folder.read(kSegmentationSamplesFile).starts_with("\x89PNG"));
}

// Large pictures are reduced; of a volume the middle is shown.
TEST(SegmentationRecord, PicturesAreSmall) {
  const TestFolder folder;
  write_segmentation_record(folder.path, report_of_two(), {}, {sample_of(0, 0, {3, 320, 160, 3})},
                            {});
  const Json record = Json::parse(folder.read(kSegmentationRecordFile));
  EXPECT_EQ(record.at("shown").at("tile").dump(), "[160,80]");
  EXPECT_EQ(record.get<std::vector<std::string>>("names")[2], "2");
}

TEST(SegmentationRecord, WithoutPictures) {
  const TestFolder folder;
  folder.write(kSegmentationSamplesFile, "old");
  write_segmentation_record(folder.path, SegmentationReport(2), {}, {}, {});
  const Json record = Json::parse(folder.read(kSegmentationRecordFile));
  EXPECT_TRUE(record.at("shown").is_null());
  EXPECT_EQ(record.at("classes").dump(), "[[0,null,0.0,0.0],[0,null,0.0,0.0]]");
  EXPECT_FALSE(std::filesystem::exists(folder.path / kSegmentationSamplesFile));
}

}  // namespace
}  // namespace pando::app
