// SPDX-License-Identifier: MIT
#include "pando/train/segmentation.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

// The outputs of a network that is sure of these classes.
Tensor sure_outputs(const Shape& pixels, int64_t classes, const std::vector<int32_t>& chosen) {
  std::vector<int64_t> dims = pixels.dims();
  dims.push_back(classes);
  Tensor outputs(DType::f32, Shape(dims));
  for (size_t i = 0; i < chosen.size(); ++i) {
    outputs.f32()[i * static_cast<size_t>(classes) + static_cast<size_t>(chosen[i])] = 1;
  }
  return outputs;
}

// Two pictures of 2x2 pixels and three classes; class 2 occurs nowhere. The first picture has one
// wrong pixel, the second one pixel without a label.
SegmentationReport two_pictures() {
  SegmentationReport report(3);
  const std::vector<int32_t> labels = {0, 0, 1, 1, 0, kNotLabelled, 0, 0};
  report.add(sure_outputs({2, 2, 2}, 3, {0, 1, 1, 1, 0, 2, 0, 0}), labels);
  return report;
}

TEST(SegmentationReport, OverlapsByHand) {
  const SegmentationReport report = two_pictures();
  EXPECT_EQ(report.samples(), 2);
  EXPECT_EQ(report.pixels().samples(), 7);
  EXPECT_DOUBLE_EQ(report.iou(0).value(), 4.0 / 5);
  EXPECT_DOUBLE_EQ(report.iou(1).value(), 2.0 / 3);
  EXPECT_FALSE(report.iou(2).has_value());
  EXPECT_DOUBLE_EQ(report.mean_iou(), (4.0 / 5 + 2.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(report.sample_ious()[0].value(), (1.0 / 2 + 2.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(report.sample_ious()[1].value(), 1);
  EXPECT_EQ(report.worst_first(), (std::vector<int64_t>{0, 1}));
}

TEST(SegmentationReport, PiecesAddUp) {
  SegmentationReport pieces(3);
  pieces.add(sure_outputs({1, 2, 2}, 3, {0, 1, 1, 1}), std::vector<int32_t>{0, 0, 1, 1});
  pieces.add(sure_outputs({1, 2, 2}, 3, {0, 2, 0, 0}), std::vector<int32_t>{0, kNotLabelled, 0, 0});
  EXPECT_EQ(to_text(pieces), to_text(two_pictures()));
  EXPECT_EQ(pieces.sample_ious(), two_pictures().sample_ious());
}

TEST(SegmentationReport, ASampleWithoutLabelsCountsInNothing) {
  SegmentationReport report(2);
  report.add(sure_outputs({1, 2}, 2, {0, 1}), std::vector<int32_t>{-1, -1});
  EXPECT_FALSE(report.sample_ious()[0].has_value());
  EXPECT_TRUE(report.worst_first().empty());
  EXPECT_EQ(report.mean_iou(), 0);
  EXPECT_SAYS(to_text(report), "0 labelled pixels of 1 samples", "-");
}

TEST(SegmentationReport, ANumberThatIsNoneIsWrong) {
  SegmentationReport report(2);
  report.add(Tensor::of_f32({1, 2, 2}, {NAN, 1, 0, 1}), std::vector<int32_t>{1, 1});
  EXPECT_DOUBLE_EQ(report.iou(1).value(), 0.5);
}

TEST(SegmentationReport, TablesHaveNamesAndShares) {
  const SegmentationReport report = two_pictures();
  EXPECT_SAYS(to_text(report, {"ground", "circle", "square"}), "ground", "80.00 %", "66.67 %",
              "mean IoU 73.33 %", "85.71 % of 7 labelled pixels of 2 samples");
  EXPECT_SAYS(ious_csv(report, {"ground", "circle, red", "square"}),
              "class,name,pixels,iou,precision,recall\n", "0,ground,5,0.800000,1.000000,0.800000",
              "1,\"circle, red\",2,", "2,square,0,,");
}

TEST(SegmentationReport, RefusesWhatDoesNotFit) {
  SegmentationReport report(3);
  const std::vector<int32_t> labels = {0, 0, 1, 1};
  EXPECT_SAYS(error_of<InvalidArgument>([&] {
                report.add(sure_outputs({1, 2, 2}, 2, {0, 0, 0, 0}), labels);
              }),
              "3", "[1,2,2,2]");
  EXPECT_SAYS(error_of<InvalidArgument>([&] {
                report.add(sure_outputs({1, 2, 2}, 3, {0, 0, 0, 0}), std::vector<int32_t>{0});
              }),
              "4 pixels", "1");
  EXPECT_SAYS(
      error_of<InvalidArgument>([&] {
        report.add(sure_outputs({1, 2, 2}, 3, {0, 0, 0, 0}), std::vector<int32_t>{0, 0, 3, 0});
      }),
      "pixel 2", "0 to 2", "got 3");
  EXPECT_SAYS(error_of<InvalidArgument>([&] {
                report.add(Tensor(DType::f32, {2, 0, 3}), {});
              }),
              "pixels", "[2,0,3]");
  report.add(Tensor(DType::f32, {0, 2, 3}), {});
  EXPECT_EQ(report.samples(), 0);
  EXPECT_SAYS(error_of<InvalidArgument>([&] { to_text(report, {"one"}); }), "3 classes");
  ClassReport other(2);
  EXPECT_SAYS(error_of<InvalidArgument>([&] { other.add(ClassReport(3)); }), "2", "3");
}

}  // namespace
}  // namespace pando
