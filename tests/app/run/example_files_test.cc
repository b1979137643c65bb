#include "pando/app/run/example_files.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::app {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

const std::string kPng = "\x89PNG\r\n\x1A\n...";
const std::string kJpeg = "\xFF\xD8\xFF...";

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::vector<std::string> names_of(const std::vector<ExamplePicture>& examples) {
  std::vector<std::string> names;
  for (const ExamplePicture& example : examples) names.push_back(example.name);
  return names;
}

TEST(ExampleFiles, NamesArePlain) {
  for (const std::string name : {"0-cat.png", "a.JPG", "A_b.jpeg"}) {
    EXPECT_TRUE(is_example_name(name)) << name;
  }
  for (const std::string name :
       {"", ".png", "../x.png", "a/b.png", "a b.png", "a.gif", "a", "a'b.png", "$(a).png"}) {
    EXPECT_FALSE(is_example_name(name)) << name;
  }
  EXPECT_FALSE(is_example_name(std::string(61, 'a') + ".png"));
}

TEST(ExampleFiles, AreReadAsTheyWereWritten) {
  const TempFolder folder;
  EXPECT_TRUE(read_examples(folder.path()).empty());
  write_examples(folder.path(), {});
  EXPECT_FALSE(std::filesystem::exists(folder.path("examples")));
  write_examples(folder.path(), {{"1-b.png", bytes_of(kPng)}, {"0-a.jpg", bytes_of(kJpeg)}});
  const std::vector<ExamplePicture> examples = read_examples(folder.path());
  EXPECT_EQ(names_of(examples), (std::vector<std::string>{"0-a.jpg", "1-b.png"}));
  EXPECT_EQ(examples[1].bytes, bytes_of(kPng));
  EXPECT_EQ(picture_type(examples[0].bytes), "image/jpeg");
  EXPECT_EQ(picture_type(examples[1].bytes), "image/png");
}

TEST(ExampleFiles, OthersAreIgnored) {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path("version/examples/folder.png"));
  const auto write = [&](const std::string& name, const std::string& text) {
    folder.write_text("version/examples/" + name, text);
  };
  write("good.png", kPng);
  write("text.png", "no picture");
  write("empty.png", "");
  write("notes.txt", kPng);
  write("two words.png", kPng);
  write("large.png", kPng + std::string(kMostExampleBytes, 'x'));
  folder.write_text("secret.png", kPng);
  std::filesystem::create_symlink(folder.path("secret.png"),
                                  folder.path("version/examples/link.png"));
  std::filesystem::create_symlink("/nowhere", folder.path("version/examples/dangling.png"));
  EXPECT_EQ(names_of(read_examples(folder.path("version"))), std::vector<std::string>{"good.png"});
}

TEST(ExampleFiles, AreFew) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("examples"));
  for (int i = 10; i < 40; ++i) folder.write_text(concat("examples/", i, ".png"), kPng);
  const std::vector<std::string> names = names_of(read_examples(folder.path()));
  ASSERT_EQ(names.size(), kMostExamples);
  EXPECT_EQ(names.front(), "10.png");
  EXPECT_EQ(names.back(), "21.png");
}

TEST(ExampleFiles, WhatCannotBeWrittenIsAnError) {
  const TempFolder folder;
  EXPECT_SAYS(error_of<IoError>([&] {
                write_examples(folder.path("missing"), {{"a.png", bytes_of(kPng)}});
              }),
              "cannot create", "examples");
  EXPECT_SAYS(error_of<InternalError>([&] {
                write_examples(folder.path(), {{"a/b.png", bytes_of(kPng)}});
              }),
              "a/b.png");
  EXPECT_SAYS(error_of<InternalError>([&] {
                write_examples(folder.path(), std::vector<ExamplePicture>(kMostExamples + 1));
              }),
              "13 examples");
}

}  // namespace
}  // namespace pando::app
