// SPDX-License-Identifier: MIT
#include "pando/data/sources/class_names.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

using testing_support::error_of;
using Names = std::vector<std::string>;

TEST(ClassNames, OnePerLine) {
  EXPECT_EQ(data::parse_class_names("sky\nred car\n", "f"), (Names{"sky", "red car"}));
  EXPECT_EQ(data::parse_class_names("\xef\xbb\xbfsky\r\n car \r\n\r\n", "f"),
            (Names{"sky", "car"}));
}

TEST(ClassNames, SaysWhatIsWrong) {
  const auto error = [](const std::string& text) {
    return error_of<IoError>([&] { data::parse_class_names(text, "f.txt"); });
  };
  EXPECT_SAYS(error("a\n\nb\n"), "f.txt: line 2", "class 1");
  EXPECT_SAYS(error("a\nb\na\n"), "'a'", "line 1", "line 3");
  EXPECT_SAYS(error(" \n"), "f.txt", "name of a class");
}

TEST(ClassNames, FromTheUsualFiles) {
  const testing_support::TempFolder folder;
  EXPECT_TRUE(data::read_class_names(folder.path()).empty());
  folder.write_text("classes.txt", "a\nb\n");
  EXPECT_EQ(data::read_class_names(folder.path()), (Names{"a", "b"}));
  folder.write_text("labels.txt", "c\n");
  EXPECT_EQ(data::read_class_names(folder.path()), (Names{"c"}));
}

}  // namespace
}  // namespace pando
