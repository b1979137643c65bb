// SPDX-License-Identifier: MIT
#include "pando/app/report/label_report.h"

#include <gtest/gtest.h>

#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

// Three samples with two classes each.
LabelReport small_report() {
  return label_report({.targets = 2,
                       .predicted = {0.9f, 0.1f, 0.5f, 0.7f, 0.2f, 0.4f},
                       .actual = {1, 0, 0, 1, 1, 0}});
}

TEST(LabelReport, CountsEveryClass) {
  const LabelReport report = small_report();
  ASSERT_EQ(report.classes.size(), 2u);
  EXPECT_EQ(report.classes[0].hits, 1);
  EXPECT_EQ(report.classes[0].predicted, 2);
  EXPECT_EQ(report.classes[0].actual, 2);
  EXPECT_EQ(report.classes[0].precision(), 0.5);
  EXPECT_EQ(report.classes[1].f1(), 1);
  EXPECT_EQ(report.all.f1(), 2.0 * 2 / (3 + 3));
  EXPECT_EQ(report.samples, 3);
  EXPECT_EQ(report.right, 1);
  EXPECT_EQ(LabelCounts{}.recall(), 0);
}

TEST(LabelReport, IsATable) {
  const std::string text = to_text(small_report(), {"a name that is longer than all others", "b"});
  EXPECT_SAYS(text, "a name that is longer .. ", "0.5000", "all classes", "1 of 3 samples");
  EXPECT_SAYS(to_text(small_report(), {}), "\n0 ", "\n1 ");
  const TestFolder folder;
  write_label_report(folder.path, small_report(), {"x", "y"});
  EXPECT_EQ(folder.read("class_report.txt"), to_text(small_report(), {"x", "y"}));
  const Json record = Json::parse(folder.read("class_report.json"));
  EXPECT_EQ(record.at("names").dump(), R"(["x","y"])");
  EXPECT_EQ(record.at("classes").dump(), "[[2,2,0.5,0.5,0.5],[1,1,1.0,1.0,1.0]]");
  EXPECT_EQ(record.at("all").dump(), "[3,3,0.6667,0.6667,0.6667]");
  EXPECT_EQ(record.get<int>("right"), 1);
  EXPECT_EQ(label_record(small_report(), {}).at("names").dump(), R"(["0","1"])");
  EXPECT_THROW(write_label_report(folder.path / "none", small_report(), {}), IoError);
}

}  // namespace
}  // namespace pando::app
