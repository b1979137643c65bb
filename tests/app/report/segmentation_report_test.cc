// SPDX-License-Identifier: MIT
#include "pando/app/report/segmentation_report.h"

#include <fstream>

#include <gtest/gtest.h>

#include "pando/data/image/decode.h"
#include "pando/data/sources/gzip.h"
#include "tests/app/expect_xml.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

// A report on pictures of one pixel each: of 1, 1, 0, ... the ones are right.
SegmentationReport report_of(const std::vector<int>& right) {
  SegmentationReport report(2);
  for (const int hit : right) {
    report.add(Tensor::of_f32({1, 1, 2}, {hit != 0 ? 1.0f : 0.0f, hit != 0 ? 0.0f : 1.0f}),
               std::vector<int32_t>{0});
  }
  return report;
}

// Two pixels beside each other: grey, then white.
SegmentedSample grey_and_white(int32_t first_label) {
  Tensor x(DType::u8, {1, 2, 3});
  std::fill_n(x.u8().begin(), 3, uint8_t{90});
  std::fill_n(x.u8().begin() + 3, 3, uint8_t{255});
  return {
      .index = 7, .x = x, .truth = {first_label, kNotLabelled}, .predicted = {0, 1}, .iou = 0.25};
}

TEST(SegmentationPictures, NoSampleIsAmongTheWorstAndTheBest) {
  EXPECT_TRUE(choose_samples(SegmentationReport(2)).worst.empty());
  const ShownSamples one = choose_samples(report_of({1}));
  EXPECT_EQ(one.worst, (std::vector<int64_t>{0}));
  EXPECT_TRUE(one.best.empty());
  const ShownSamples three = choose_samples(report_of({1, 0, 1}));
  EXPECT_EQ(three.worst, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(three.best, (std::vector<int64_t>{2}));
  const ShownSamples many = choose_samples(report_of({1, 1, 1, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(many.worst, (std::vector<int64_t>{5, 6, 7, 8}));
  EXPECT_EQ(many.best, (std::vector<int64_t>{4, 3, 2, 1}));
}

TEST(SegmentationPictures, ColoursAreThoseOfLabelsAndPredictions) {
  const Image sheet = segmentation_sheet({grey_and_white(1)}, {});
  const int64_t gap = 6, tile = 192;
  const auto pixel = [&](int64_t number, int64_t half) {
    const uint8_t* at = sheet.view().row(gap + 5) + 3 * (gap + number * (tile + gap) + half + 5);
    return std::array<int, 3>{at[0], at[1], at[2]};
  };
  const std::array<int, 3> grey = {90, 90, 90}, white = {255, 255, 255};
  EXPECT_EQ(pixel(0, 0), grey);
  EXPECT_EQ(pixel(0, tile / 2), white);
  EXPECT_NE(pixel(1, 0), grey);          // label 1
  EXPECT_EQ(pixel(1, tile / 2), white);  // not labelled
  EXPECT_EQ(pixel(2, 0), grey);          // predicted as the background
  EXPECT_NE(pixel(2, tile / 2), white);  // predicted as 1
}

TEST(SegmentationPictures, VolumesShowTheirMiddle) {
  Tensor volume(DType::f32, {3, 1, 2, 1});
  volume.f32()[2] = 1;  // the middle is white, then black
  const Image sheet = segmentation_sheet({{.index = 0,
                                           .x = volume,
                                           .truth = {0, 0, 0, 1, 0, 0},
                                           .predicted = {0, 0, 0, 0, 0, 0},
                                           .iou = 1}},
                                         {});
  const uint8_t* row = sheet.view().row(6 + 5);
  EXPECT_EQ(row[3 * (6 + 5)], 255);
  EXPECT_EQ(row[3 * (6 + 96 + 5)], 0);
  EXPECT_NE(row[3 * (6 + 198 + 96 + 5)], 0);  // its label
}

TEST(SegmentationReportFiles, AreWritten) {
  const TestFolder folder;
  write_segmentation_report(folder.path, report_of({1, 0}), {"ground", "thing"},
                            segmentation_sheet({grey_and_white(1)}, {grey_and_white(0)}));
  const auto text = [&](const char* name) {
    const std::vector<uint8_t> bytes = data::read_file((folder.path / name).string());
    return std::string(bytes.begin(), bytes.end());
  };
  EXPECT_SAYS(text("segmentation_report.txt"), "ground", "50.00 %");
  EXPECT_SAYS(text("segmentation_report.csv"), "0,ground,2,0.500000");
  expect_xml(text("confusion.svg"));
  EXPECT_SAYS(text("confusion.svg"), "2 pixels");
  EXPECT_TRUE(text("segmentation.png").starts_with("\x89PNG"));
}

}  // namespace
}  // namespace pando::app
