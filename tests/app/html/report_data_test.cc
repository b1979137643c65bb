// What pages show beside curves and options: classes, load, traces and profiles.
#include <gtest/gtest.h>

#include "pando/app/html/class_data.h"
#include "pando/app/html/load_data.h"
#include "pando/app/html/profile_data.h"
#include "pando/app/html/run_report.h"
#include "pando/app/html/trace_data.h"
#include "pando/base/error.h"
#include "tests/app/html/page_data.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using testing_support::error_of;

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

TEST(LoadData, HasStepsOfTheHistory) {
  const TestFolder folder;
  folder.write("history.json",
               "[\n{\"epoch\":1.0,\"step\":10,\"seconds\":2.0,\"loss\":0.5},\n"
               "{\"epoch\":2.0,\"step\":20,\"seconds\":4.0,\"loss\":0.5}\n]\n");
  EXPECT_EQ(load_charts(std::vector{read_run(folder.path)}).dump(), "[]");
  folder.write("load.csv", "seconds,...\n1,50,60,1000,0,0\n3,50,60,1000,0,0\n9,50,60,1000,0,0\n");
  const Json charts = load_charts(std::vector{read_run(folder.path)});
  ASSERT_EQ(charts.items().size(), 3u);
  const Json& memory = charts.items()[1].at("curves").items()[0];
  EXPECT_EQ(charts.items()[1].get<std::string>("unit"), "B");
  EXPECT_EQ(memory.at("x").at("epoch").dump(), "[0.5,1.5,2.0]");
  EXPECT_EQ(memory.at("x").at("step").dump(), "[5.0,15.0,20.0]");
  EXPECT_EQ(memory.at("y").dump(), "[1000.0,1000.0,1000.0]");
}

// A trace as our programs write it, with two workers.
std::string trace_text(int events) {
  std::string text =
      "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
      R"({"ph":"M","pid":0,"name":"process_name","args":{"name":"device 0"}},)"
      "\n";
  for (int i = 0; i < events; ++i) {
    text += R"({"ph":"X","pid":0,"tid":)" + std::to_string(1 + i * 2 / events) +
            R"(,"name":"conv <b>","cat":"op","ts":)" + std::to_string(i % (events / 2)) +
            R"(.250,"dur":0.500,"args":{"stage":1,"micro_batch":3,"pass":"backward"}},)" + "\n";
  }
  return text + "{\"ph\":\"X\",\"half\n";
}

TEST(TraceData, KeepsTheFirstEventsOfAllWorkers) {
  const TestFolder folder;
  const std::string path = folder.write("trace.json", trace_text(100));
  const Json all = trace_data(path);
  EXPECT_EQ(all.get<int>("shown"), 100);
  EXPECT_EQ(all.get<int>("recorded"), 101);
  ASSERT_EQ(all.at("tracks").items().size(), 2u);
  const Json& track = all.at("tracks").items()[0];
  EXPECT_EQ(track.get<std::string>("device"), "device 0");
  const auto numbers = track.get<std::vector<int>>("events");
  EXPECT_EQ((std::vector<int>(numbers.begin() + 6, numbers.begin() + 12)),
            (std::vector<int>{13, 5, 0, 0, 3, 3}));
  const Json some = trace_data(path, 20);
  EXPECT_LE(some.get<int>("shown"), 20);
  EXPECT_GE(some.get<int>("shown"), 18);
  EXPECT_EQ(some.at("tracks").items()[0].at("events").items().size(),
            some.at("tracks").items()[1].at("events").items().size());
  EXPECT_EQ(some.get<int>("recorded"), 101);
}

TEST(TraceData, OtherFiles) {
  const TestFolder folder;
  EXPECT_TRUE(trace_data(folder.write("a.json", "no trace\n{\"ph\":\"X\"}\n")).is_null());
  EXPECT_SAYS(error_of<IoError>([&] { trace_data(folder.path / "none"); }), "none",
              "cannot be read");
}

constexpr const char* kProfile = R"({"memory":{"weights_bytes":1,"devices":[]},
"execution":{"span_seconds":1.5,"ops":[{"op":"conv","name":"c","seconds":1.0,"other":1}]},
"compilation":{"passes":[],"ops":[{"call":0,"op":"conv","name":"c","refusals":["x"]}],"layers":[],
"memory":{"slice_bytes":5,"stages":[],"blocks":[{"bytes":1,"holds":"a"},{"bytes":2,"holds":"b"}]}}})";

TEST(ProfileData, TakesWhatThePageDraws) {
  const TestFolder folder;
  folder.write("config.yml", "model: m\n");
  std::filesystem::create_directory(folder.path / "profile");
  folder.write("profile/train_report.json", kProfile);
  folder.write("profile/train_trace.json", trace_text(10));
  RunRecord run = read_run(folder.path);
  EXPECT_TRUE(profile_data(run).at("time").is_null());  // run.json does not name the folder
  run.facts.profile = "/elsewhere/profile";             // the run directory has moved
  const Json data = profile_data(run);
  EXPECT_EQ(data.at("time").get<double>("span_seconds"), 1.5);
  EXPECT_EQ(data.at("time").at("ops").dump(), R"([{"op":"conv","name":"c","seconds":1.0}])");
  EXPECT_EQ(data.at("memory").at("blocks").items()[0].get<std::string>("holds"), "b");
  EXPECT_EQ(data.at("memory").at("calls").dump(), R"(["conv c"])");
  EXPECT_EQ(data.at("graph").at("ops").items()[0].find("refusals"), nullptr);
  EXPECT_EQ(data.at("trace").get<int>("shown"), 10);
  EXPECT_TRUE(data.at("schedule").is_null());
  EXPECT_TRUE(run.problems.empty());
}

TEST(ProfileData, DamagedReportsAreProblems) {
  const TestFolder folder;
  folder.write("config.yml", "model: m\n");
  std::filesystem::create_directory(folder.path / "p");
  folder.write("p/train_report.json", R"({"memory":{},"compilation":{}})");
  RunRecord run = read_run(folder.path);
  run.facts.profile = (folder.path / "p").string();
  run.facts.trace = folder.write("trace.json", trace_text(10));
  const Json data = profile_data(run);
  EXPECT_TRUE(data.at("memory").is_null());
  EXPECT_EQ(data.at("trace").get<int>("shown"), 10);
  ASSERT_FALSE(run.problems.empty());
  EXPECT_SAYS(run.problems[0], "train_report.json", "left out");
}

// A long run stays small: 10,000 rows and a trace of 40,000 events.
TEST(RunReport, LongRunsAreBounded) {
  const TestFolder folder;
  std::string rows = "[\n";
  for (int i = 1; i <= 10000; ++i) {
    rows += "{\"epoch\":" + std::to_string(i / 100.0) + ",\"step\":" + std::to_string(i) +
            ",\"loss\":" + std::to_string(1.0 / i) +
            ",\"accuracy\":0.5,\"seconds\":" + std::to_string(i) + "},\n";
  }
  folder.write("history.json", rows + "]\n");
  std::filesystem::create_directory(folder.path / "profile");
  folder.write("profile/train_trace.json", trace_text(40000));
  std::vector<RunRecord> runs = {read_run(folder.path)};
  runs[0].facts.profile = (folder.path / "profile").string();
  const std::string html = run_report_html(runs);
  EXPECT_LT(html.size(), size_t{15} << 20);
  const Json data = data_of_page(html);
  EXPECT_EQ(data.at("runs").items()[0].get<int>("rows"), 10000);
  for (const Json& chart : data.at("charts").items()) {
    EXPECT_LE(chart.at("curves").items()[0].at("y").items().size(), 1000u);
  }
  EXPECT_LE(data.at("details").items()[0].at("profile").at("trace").get<size_t>("shown"), 20000u);
}

}  // namespace
}  // namespace pando::app
