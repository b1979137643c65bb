#include "pando/app/html/profile_data.h"

#include <gtest/gtest.h>

#include "pando/app/record/run_mark.h"
#include "pando/profile/chrome_trace.h"
#include "tests/app/html/trace_text.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

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

// Two runs with the same --profile or --trace: the later one has replaced the files.
TEST(ProfileData, TheProfileOfAnotherRunIsLeftOut) {
  const TestFolder folder;
  folder.write("config.yml", "model: m\n");
  std::filesystem::create_directory(folder.path / "p");
  folder.write("p/train_report.json", kProfile);
  folder.write("p/train_trace.json", trace_text(10));
  RunRecord run = read_run(folder.path);
  run.facts.profile = (folder.path / "p").string();
  write_mark(folder.path, {.id = "own", .directory = "here"});
  write_mark(folder.path / "p", {.id = "own", .directory = "here"}, kProfileMark);
  EXPECT_FALSE(profile_data(run).at("time").is_null());
  write_mark(folder.path / "p", {.id = "other", .directory = "/runs/second"}, kProfileMark);
  const Json data = profile_data(run);
  for (const char* part : {"time", "memory", "graph", "trace"}) {
    EXPECT_TRUE(data.at(part).is_null()) << part;
  }
  EXPECT_SAYS(data.get<std::string>("missing"), "/p", "/runs/second", "--profile");
  EXPECT_EQ(run.problems, std::vector<std::string>{data.get<std::string>("missing")});
}

TEST(ProfileData, TheTraceOfAnotherRunIsLeftOut) {
  const TestFolder folder;
  folder.write("config.yml", "model: m\n");
  write_mark(folder.path, {.id = "own", .directory = "here"});
  RunRecord run = read_run(folder.path);
  const auto trace_by = [&](const std::string& id) {
    profile::Trace trace;
    trace.add_track("worker 0", 0).add({.begin = 0, .end = 5, .name = trace.name_id("op")});
    run.facts.trace = (folder.path / "trace.json").string();
    profile::write_chrome_trace(trace, run.facts.trace, {.instance = {}, .run = id});
    return profile_data(run);
  };
  EXPECT_EQ(trace_by("own").at("trace").get<int>("shown"), 1);
  EXPECT_EQ(trace_by("").at("trace").get<int>("shown"), 1);
  const Json other = trace_by("other");
  EXPECT_TRUE(other.at("trace").is_null());
  EXPECT_SAYS(other.get<std::string>("missing"), "trace.json", "another run", "--trace");
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

}  // namespace
}  // namespace pando::app
