#include "pando/app/html/class_data.h"

#include <gtest/gtest.h>

#include "pando/app/html/run_report.h"
#include "pando/base/error.h"
#include "tests/app/html/page_data.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

TEST(ClassData, PutsThePicturesIntoThePage) {
  const TestFolder folder;
  folder.write("config.yml", "model: m\n");
  RunRecord run = read_run(folder.path);
  EXPECT_TRUE(class_data(run).is_null());
  EXPECT_TRUE(input_data(run).is_null());
  folder.write("class_report.json", R"({"version":1,"names":["<script>"],"shown":{"columns":1}})");
  EXPECT_TRUE(class_data(run).at("shown").is_null());  // its file is missing
  folder.write("class_samples.png", "PNG");
  folder.write("input.json", R"({"version":1,"columns":1})");
  folder.write("input.png", "PNG");
  folder.write("class_names.txt", "<script>\nb\n");
  EXPECT_EQ(class_data(run).at("shown").get<std::string>("sheet"), "data:image/png;base64,UE5H");
  EXPECT_EQ(input_data(run).get<std::string>("sheet"), "data:image/png;base64,UE5H");
  EXPECT_EQ(input_data(run).get<std::vector<std::string>>("names")[1], "b");
  EXPECT_TRUE(run.problems.empty());
  const std::string html = run_report_html({folder.path});
  const Json data = data_of_page(html);
  EXPECT_EQ(data.at("details").items()[0].at("classes").get<std::vector<std::string>>("names")[0],
            "<script>");
}

// Every task has a file of its own.
TEST(ClassData, TakesTheFileOfTheTask) {
  const TestFolder folder;
  folder.write("config.yml", "model: m\n");
  folder.write("class_report.json", R"({"version":1,"names":["class"]})");
  folder.write("target_report.json", R"({"version":1,"names":["target"]})");
  folder.write("segmentation_report.json", R"({"version":1,"names":["pixel"],"shown":{}})");
  folder.write("segmentation_samples.png", "PNG");
  RunRecord run = read_run(folder.path);
  const auto name_for = [&](const char* task) {
    run.facts.task = task;
    const Json data = class_data(run);
    EXPECT_EQ(data.get<std::string>("task"), task);
    return data.get<std::vector<std::string>>("names")[0];
  };
  EXPECT_EQ(name_for("classification"), "class");
  EXPECT_EQ(name_for("multilabel"), "class");
  EXPECT_EQ(name_for("regression"), "target");
  EXPECT_EQ(name_for("segmentation"), "pixel");
  EXPECT_EQ(class_data(run).at("shown").get<std::string>("sheet"), "data:image/png;base64,UE5H");
}

TEST(ClassData, DamagedFilesAreProblems) {
  const TestFolder folder;
  folder.write("config.yml", "model: m\n");
  folder.write("class_report.json", "{\"version\":1,");
  folder.write("input.json", "{}");
  RunRecord run = read_run(folder.path);
  EXPECT_TRUE(class_data(run).is_null());
  EXPECT_TRUE(input_data(run).is_null());
  ASSERT_EQ(run.problems.size(), 2u);
  EXPECT_SAYS(run.problems[0], "class_report.json", "left out");
  EXPECT_SAYS(run.problems[1], "version");
  std::ofstream(folder.path / "input.json") << std::string(5 << 20, ' ');
  EXPECT_TRUE(input_data(run).is_null());
  EXPECT_SAYS(run.problems[2], "expected at most");
  folder.write("input.json", R"({"version":1})");
  std::ofstream(folder.path / "input.png") << std::string(5 << 20, ' ');
  EXPECT_TRUE(input_data(run).at("sheet").is_null());
  EXPECT_SAYS(run.problems[3], "too large");
}

}  // namespace
}  // namespace pando::app
