// SPDX-License-Identifier: MIT
#include "pando/data/sources/label_table.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando {
namespace {

using data::LabelClasses;
using data::LabelTable;
using testing_support::error_of;
using Words = std::vector<std::string>;

LabelTable table_of(const std::string& text) { return data::parse_label_table(text, "labels.csv"); }
std::string error_in(const std::string& text) {
  return error_of<IoError>([&] { table_of(text); });
}

TEST(LabelTable, OneLabelForEachFile) {
  for (const char* header : {"", "file,label\n", "Image_ID,species\n"}) {
    const LabelTable table = table_of(std::string(header) + "a.jpg,cat\nb/c.png,dog\n");
    ASSERT_EQ(table.rows.size(), 2u) << header;
    EXPECT_EQ(table.rows[1].file, "b/c.png");
    EXPECT_EQ(table.rows[1].labels, (Words{"dog"}));
    EXPECT_FALSE(table.several);
    EXPECT_TRUE(table.warnings.empty());
  }
}

TEST(LabelTable, SeveralLabelsInACell) {
  for (const char* text : {"a.jpg,cat;dog\nb.jpg,dog\n", "a.jpg,cat | dog\nb.jpg,dog\n",
                           "file,tags\na.jpg,cat dog cat\nb.jpg,dog\n"}) {
    const LabelTable table = table_of(text);
    EXPECT_TRUE(table.several) << text;
    EXPECT_EQ(table.rows[0].labels, (Words{"cat", "dog"})) << text;
    EXPECT_EQ(table.rows[1].labels, (Words{"dog"})) << text;
    EXPECT_TRUE(table.warnings.empty());
  }
  EXPECT_TRUE(table_of("file,labels\na.jpg,\nb.jpg,dog\n").several);
  EXPECT_FALSE(table_of("file,labels\na.jpg,cat\nb.jpg,dog\n").several);
}

TEST(LabelTable, NamesMayHaveBlanks) {
  const LabelTable named = table_of("file,label\na.jpg,golden retriever\nb.jpg,poodle\n");
  EXPECT_FALSE(named.several);
  EXPECT_EQ(named.rows[0].labels, (Words{"golden retriever"}));
  const LabelTable marked = table_of("a.jpg,golden retriever;puppy\nb.jpg,poodle\n");
  EXPECT_EQ(marked.rows[0].labels, (Words{"golden retriever", "puppy"}));
  const LabelTable bare = table_of("a.jpg,poodle\nb.jpg,golden retriever\n");
  EXPECT_TRUE(bare.several);
  ASSERT_EQ(bare.warnings.size(), 1u);
  EXPECT_SAYS(bare.warnings[0], "labels.csv: line 2", "golden retriever", "header file,label");
}

TEST(LabelTable, AColumnForEachClass) {
  for (const char* first : {"file", "anything"}) {
    const LabelTable table =
        table_of(std::string(first) + ",cat,dog,\"red, car\"\na.jpg,1,0,1.0\nb.jpg,0,0,0\n");
    EXPECT_TRUE(table.several);
    EXPECT_EQ(table.columns, (Words{"cat", "dog", "red, car"}));
    EXPECT_EQ(table.rows[0].labels, (Words{"cat", "red, car"}));
    EXPECT_TRUE(table.rows[1].labels.empty());
  }
}

TEST(LabelTable, SaysWhatIsWrong) {
  EXPECT_SAYS(error_in(""), "labels.csv", "no rows");
  EXPECT_SAYS(error_in("file,label\n"), "no rows");
  EXPECT_SAYS(error_in("a.jpg,cat\nb.jpg\n"), "line 2", "1 cell", "expected 2");
  EXPECT_SAYS(error_in("a.jpg,cat,dog\nb.jpg,dog,cat\n"), "line 1", "3 cells", "quote");
  EXPECT_SAYS(error_in("file;label\na.jpg;cat\n"), "line 1", "file;label", "semicolons", "commas");
  EXPECT_SAYS(error_in("a.jpg\tcat\nb.jpg\tdog\n"), "line 1", "tabs", "commas");
  EXPECT_SAYS(error_in("file,label\na.jpg,\n"), "line 2", "a.jpg", "no label");
  EXPECT_SAYS(error_in("a.jpg,cat\n,dog\n"), "line 2", "name of a file");
  EXPECT_SAYS(error_in("a.jpg,cat\nb.jpg,dog\na.jpg,dog\n"), "a.jpg", "line 1", "line 3");
  EXPECT_SAYS(error_in("file,cat,dog\na.jpg,1,maybe\n"), "line 2", "'dog'", "0 or 1", "'maybe'");
  EXPECT_SAYS(error_in("file,cat,dog\na.jpg,1\n"), "line 2", "2 cells", "expected 3");
  EXPECT_SAYS(error_in("file,cat,cat\na.jpg,1,0\n"), "'cat'", "name of its own");
  EXPECT_SAYS(error_in("file\na.jpg\n"), "line 1", "1 cell");
}

TEST(LabelTable, ClassesAreNamesOrNumbers) {
  const LabelTable names = table_of("a.jpg,dog\nb.jpg,cat\nc.jpg,dog\n");
  const LabelClasses sorted = data::classes_of_table(names, {});
  EXPECT_EQ(sorted.names, (Words{"cat", "dog"}));
  EXPECT_EQ(data::labels_of_row(names, names.rows[0], sorted), (std::vector<int32_t>{1}));
  const LabelClasses given = data::classes_of_table(names, {"dog", "bird", "cat"});
  EXPECT_EQ(given.count, 3);
  EXPECT_EQ(data::labels_of_row(names, names.rows[1], given), (std::vector<int32_t>{2}));

  const LabelTable numbers = table_of("a.jpg,2\nb.jpg,0;2\n");
  const LabelClasses three = data::classes_of_table(numbers, {});
  EXPECT_EQ(three.count, 3);
  EXPECT_TRUE(three.names.empty());
  EXPECT_EQ(data::labels_of_row(numbers, numbers.rows[1], three), (std::vector<int32_t>{0, 2}));
  const LabelClasses named = data::classes_of_table(numbers, {"a", "b", "c"});
  EXPECT_EQ(data::labels_of_row(numbers, numbers.rows[0], named), (std::vector<int32_t>{2}));
}

TEST(LabelTable, NamesOfTheTableHaveNoNumbers) {
  const LabelTable names = table_of("a.jpg,1\nb.jpg,a\n");
  const LabelTable other = table_of("c.jpg,0\nd.jpg,1\n");
  const LabelClasses classes = data::classes_of_table(names, {});
  EXPECT_EQ(data::labels_of_row(other, other.rows[1], classes), (std::vector<int32_t>{0}));
  const auto error = [&](const LabelClasses& of) {
    return error_of<IoError>([&] { data::labels_of_row(other, other.rows[0], of); });
  };
  EXPECT_SAYS(error(classes), "line 1", "'0'", "1, a");
  EXPECT_SAYS(error(data::classes_of_table(table_of("file,x,y\na.jpg,0,1\n"), {})), "'0'", "x, y");
}

TEST(LabelTable, UnknownClasses) {
  const LabelTable names = table_of("a.jpg,dog\nb.jpg,cat\n");
  const LabelTable other = table_of("c.jpg,dog\nd.jpg,bird\n");
  EXPECT_SAYS(error_of<IoError>([&] {
                data::labels_of_row(other, other.rows[1], data::classes_of_table(names, {}));
              }),
              "labels.csv: line 2", "'bird'", "2 classes", "cat, dog");
  const LabelTable numbers = table_of("a.jpg,0\nb.jpg,1\n");
  const LabelTable high = table_of("a.jpg,7\n");
  EXPECT_SAYS(error_of<IoError>([&] {
                data::labels_of_row(high, high.rows[0], data::classes_of_table(numbers, {}));
              }),
              "line 1", "'7'", "0 to 1");
  EXPECT_SAYS(error_of<IoError>([&] { data::classes_of_table(table_of("a.jpg,dog\n"), {}); }),
              "1 class", "at least 2");
  EXPECT_SAYS(error_of<IoError>([&] { data::classes_of_table(table_of("a.jpg,99999999\n"), {}); }),
              "line 1", "99999999");
}

}  // namespace
}  // namespace pando
