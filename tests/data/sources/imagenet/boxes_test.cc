#include "pando/data/sources/imagenet/boxes.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::data {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

constexpr const char* kAnnotation = R"(<annotation>
  <folder>n01440764</folder><filename>%s</filename>
  <size><width>500</width><height>400</height><depth>3</depth></size>
  <object><name>n01440764</name>
    <bndbox><xmin>50</xmin><ymin>100</ymin><xmax>250</xmax><ymax>400</ymax></bndbox></object>
  <object><bndbox> <xmax>-5</xmax> <xmin> 100 </xmin> <ymax>40.5</ymax> <ymin>500</ymin> </bndbox>
  </object>
</annotation>)";

TEST(ParseAnnotation, BoxesAsFractions) {
  const auto boxes = parse_annotation(kAnnotation, "test");
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_FLOAT_EQ(boxes[0].x_min, 0.1f);
  EXPECT_FLOAT_EQ(boxes[0].y_min, 0.25f);
  EXPECT_FLOAT_EQ(boxes[0].x_max, 0.5f);
  EXPECT_FLOAT_EQ(boxes[0].y_max, 1.0f);
  // Corners are swapped, and the box is cut off at the edges.
  EXPECT_FLOAT_EQ(boxes[1].x_min, 0.0f);
  EXPECT_FLOAT_EQ(boxes[1].x_max, 0.2f);
  EXPECT_FLOAT_EQ(boxes[1].y_min, 40.5f / 400);
  EXPECT_FLOAT_EQ(boxes[1].y_max, 1.0f);
}

TEST(ParseAnnotation, NoObjects) {
  EXPECT_TRUE(parse_annotation("<size><width>5</width><height>4</height></size>", "test").empty());
}

TEST(ParseAnnotation, WhatIsWrongIsNamed) {
  const auto error = [](const std::string& text) {
    return error_of<IoError>([&] { parse_annotation(text, "a.xml"); });
  };
  const std::string size = "<size><width>5</width><height>4</height></size>";
  EXPECT_SAYS(error(""), "a.xml", "<size>");
  EXPECT_SAYS(error("<size><width>5</width>"), "a.xml", "<size>", "</size>");
  EXPECT_SAYS(error("<size><width>5</width></size>"), "a.xml", "<height>");
  EXPECT_SAYS(error("<size><width>x</width><height>4</height></size>"), "<width> is 'x'");
  EXPECT_SAYS(error("<size><width>nan</width><height>4</height></size>"), "<width> is 'nan'");
  EXPECT_SAYS(error("<size><width>0</width><height>4</height></size>"), "0 wide", "4 high");
  EXPECT_SAYS(error(size + "<bndbox>"), "<bndbox>", "</bndbox>");
  EXPECT_SAYS(error(size + "<bndbox><xmin>1</xmin></bndbox>"), "a.xml", "<xmax>");
}

TEST(BoxTable, Csv) {
  const TempFolder folder;
  const std::string path = folder.write_text(
      "boxes.csv", "a.JPEG,0.1,0.2,0.3,0.4\r\n\nb.JPEG, 0, 0, 1, 1\na.JPEG,0.5,0.5,0.5,0.75");
  const BoxTable table(path);
  const auto boxes = table.of("n1", "a.JPEG");
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[0].x_min, 0.1f);
  EXPECT_EQ(boxes[0].y_min, 0.2f);
  EXPECT_EQ(boxes[0].x_max, 0.3f);
  EXPECT_EQ(boxes[0].y_max, 0.4f);
  EXPECT_EQ(boxes[1].y_max, 0.75f);
  EXPECT_EQ(table.of("n1", "b.JPEG").size(), 1u);
  EXPECT_TRUE(table.of("n1", "c.JPEG").empty());
}

TEST(BoxTable, CsvThatIsWrong) {
  const TempFolder folder;
  const auto error = [&](const std::string& text) {
    const std::string path = folder.write_text("boxes.csv", text);
    return error_of<IoError>([&] { BoxTable table(path); });
  };
  EXPECT_SAYS(error("a,0,0,1,1\na,0,0,1"), "boxes.csv", "line 2", "4 columns");
  EXPECT_SAYS(error("a,0,x,1,1"), "line 1", "edge", "'x'", "0 to 1");
  EXPECT_SAYS(error("a,0,0,1.5,1"), "edge '1.5'");
  EXPECT_SAYS(error("a,0,0,nan,1"), "edge 'nan'");
  EXPECT_SAYS(error("a,0.5,0,0.25,1"), "boxes.csv", "line 1", "xmin,ymin,xmax,ymax");
  EXPECT_THROW(BoxTable(folder.path("absent")), IoError);
}

TEST(BoxTable, FolderOfAnnotations) {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path("n1"));
  folder.write_text("n1/a.xml", kAnnotation);
  folder.write_text("b.xml", kAnnotation);
  folder.write_text("bad.xml", "<size>");
  const BoxTable table(folder.path());
  EXPECT_EQ(table.of("n1", "a.JPEG").size(), 2u);
  EXPECT_TRUE(table.of("n2", "a.JPEG").empty());
  EXPECT_EQ(table.of("n2", "b.JPEG").size(), 2u);
  EXPECT_SAYS(error_of<IoError>([&] { table.of("n2", "bad.JPEG"); }), "bad.xml", "<size>");
}

TEST(BoxTable, None) { EXPECT_TRUE(BoxTable("").of("n1", "a.JPEG").empty()); }

}  // namespace
}  // namespace pando::data
