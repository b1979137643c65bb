// SPDX-License-Identifier: MIT
#include "pando/profile/chrome_trace.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::profile {
namespace {

using nlohmann::json;
using testing_support::error_of;
namespace fs = std::filesystem;

class ChromeTrace : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.path(name); }
  int entries() const { return folder_.entries(); }
  json written(const Trace& trace) const {
    write_chrome_trace(trace, file("trace.json"));
    return read(file("trace.json"));
  }
  static json read(const std::string& path) {
    std::ifstream in(path);
    return json::parse(in);
  }
  std::string failure(const Trace& trace, const std::string& path) const {
    return error_of<IoError>([&] { write_chrome_trace(trace, path); });
  }

  testing_support::TempFolder folder_;
};

// The events of one kind of record: "X" or "M".
std::vector<json> records(const json& document, const std::string& phase) {
  std::vector<json> found;
  for (const json& record : document.at("traceEvents")) {
    if (record.at("ph") == phase) found.push_back(record);
  }
  return found;
}

TEST_F(ChromeTrace, AnEmptyTraceIsADocument) {
  const json document = written(Trace());
  EXPECT_TRUE(document.at("traceEvents").empty());
  EXPECT_EQ(document.at("otherData").at("dropped_events"), 0);
}

TEST_F(ChromeTrace, BucketsThatOverlapAreBeginsAndEnds) {
  Trace trace;
  TraceTrack& network = trace.add_track("network", kHostDevice);
  const int32_t name = trace.name_id("bucket 0");
  network.add({.begin = 1000, .end = 5000, .name = name, .kind = EventKind::exchange});
  network.add({.begin = 2000, .end = 7000, .name = name, .kind = EventKind::exchange});
  const json document = written(trace);
  EXPECT_TRUE(records(document, "X").empty());
  const std::vector<json> begins = records(document, "b");
  const std::vector<json> ends = records(document, "e");
  ASSERT_EQ(begins.size(), 2u);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(begins[1].at("ts"), 2.0);
  EXPECT_EQ(ends[1].at("ts"), 7.0);
  EXPECT_EQ(begins[1].at("id"), ends[1].at("id"));
  EXPECT_NE(begins[0].at("id"), begins[1].at("id"));
  EXPECT_EQ(begins[0].at("name"), "bucket 0");
}

TEST_F(ChromeTrace, InstancesHaveProcessesOfTheirOwn) {
  Trace trace;
  trace.add_track("worker 0", 0);
  write_chrome_trace(trace, file("trace.json"), {.instance = 2});
  const json record = records(read(file("trace.json")), "M").at(0);
  EXPECT_EQ(record.at("pid"), 20000);
  EXPECT_EQ(record.at("args").at("name"), "instance 2, device 0");
}

TEST_F(ChromeTrace, EventsHaveTimesInMicrosecondsAndArguments) {
  Trace trace;
  TraceTrack& track = trace.add_track("worker 1", 2);
  track.add({.begin = 1234567,
             .end = 1239572,
             .name = trace.name_id("conv1"),
             .micro_batch = 3,
             .replica = 1,
             .stage = 4,
             .backward = true});
  track.add({.begin = 2000000,
             .end = 2000007,
             .name = trace.name_id("w"),
             .replica = 0,
             .kind = EventKind::update});
  const std::vector<json> events = records(written(trace), "X");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0], json::parse(R"({"ph": "X", "pid": 2, "tid": 1, "name": "conv1", "cat": "op",
      "ts": 1234.567, "dur": 5.005,
      "args": {"stage": 4, "micro_batch": 3, "replica": 1, "pass": "backward"}})"));
  EXPECT_EQ(events[1], json::parse(R"({"ph": "X", "pid": 2, "tid": 1, "name": "w", "cat": "update",
      "ts": 2000.0, "dur": 0.007, "args": {"replica": 0}})"));
}

TEST_F(ChromeTrace, TimesKeepThreeDecimalsInTheText) {
  Trace trace;
  trace.add_track("w", 0).add({.begin = 7000, .end = 7050, .name = trace.name_id("x")});
  write_chrome_trace(trace, file("t"));
  std::ifstream in(file("t"));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_SAYS(text, R"("ts":7.000,"dur":0.050)");
}

TEST_F(ChromeTrace, DevicesAreProcessesAndTracksAreThreads) {
  Trace trace;
  trace.add_track("main", kHostDevice);
  trace.add_track("worker 0", 1);
  trace.add_track("worker 10", 0);
  trace.add_track("worker 2", 0);
  trace.add_track("feeder", kHostDevice);
  std::map<int, std::string> processes;
  std::map<int, int> order;
  std::map<int, std::pair<int, std::string>> threads;
  for (const json& record : records(written(trace), "M")) {
    const json& args = record.at("args");
    const int pid = record.at("pid");
    if (record.at("name") == "process_name") processes[pid] = args.at("name");
    if (record.at("name") == "process_sort_index") order[pid] = args.at("sort_index");
    if (record.at("name") == "thread_name") threads[record.at("tid")] = {pid, args.at("name")};
  }
  EXPECT_EQ(processes, (std::map<int, std::string>{{0, "device 0"}, {1, "device 1"}, {2, "host"}}));
  EXPECT_EQ(order, (std::map<int, int>{{0, 0}, {1, 1}, {2, -1}}));
  EXPECT_EQ(threads, (std::map<int, std::pair<int, std::string>>{{1, {2, "main"}},
                                                                 {2, {2, "feeder"}},
                                                                 {3, {0, "worker 2"}},
                                                                 {4, {0, "worker 10"}},
                                                                 {5, {1, "worker 0"}}}));
}

TEST_F(ChromeTrace, WhatEnclosesOthersComesFirst) {
  Trace trace;
  TraceTrack& track = trace.add_track("worker", 0);
  const auto add = [&](const char* name, int64_t begin, int64_t end, EventKind kind) {
    track.add({.begin = begin, .end = end, .name = trace.name_id(name), .kind = kind});
  };
  add("conv", 10, 20, EventKind::op);
  add("relu", 20, 30, EventKind::op);
  add("forward", 10, 30, EventKind::phase);
  add("loss", 30, 40, EventKind::op);
  add("backward", 30, 40, EventKind::phase);
  std::vector<std::string> names;
  for (const json& event : records(written(trace), "X")) names.push_back(event.at("name"));
  EXPECT_EQ(names, (std::vector<std::string>{"forward", "conv", "relu", "backward", "loss"}));
}

TEST_F(ChromeTrace, NamesAreEscaped) {
  Trace trace;
  const std::string name = "a\"b\\c\n\t\x01/é";
  trace.add_track(name, 0).add({.name = trace.name_id(name)});
  trace.add_track("bad \xff byte", 0).add({.name = trace.name_id("")});
  const json document = written(trace);
  EXPECT_EQ(records(document, "X").at(0).at("name"), name);
  EXPECT_EQ(records(document, "X").at(1).at("name"), "");
  const std::vector<json> metadata = records(document, "M");
  EXPECT_EQ(metadata.at(2).at("args").at("name"), name);
  EXPECT_EQ(metadata.at(3).at("args").at("name"), "bad \xef\xbf\xbd byte");
}

TEST_F(ChromeTrace, SaysHowManyEventsWereDropped) {
  Trace trace({.events_per_track = 2});
  TraceTrack& track = trace.add_track("worker", 0);
  for (int i = 0; i < 9; ++i) track.add({.name = trace.name_id("x")});
  const json document = written(trace);
  EXPECT_EQ(document.at("otherData").at("dropped_events"), 7);
  EXPECT_EQ(records(document, "X").size(), 2u);
}

// Records far more text than one piece of the writer holds.
Trace& fill(Trace& trace, int64_t events) {
  TraceTrack& track = trace.add_track("worker", 0);
  const int32_t name = trace.name_id("op");
  for (int64_t i = 0; i < events; ++i) track.add({.begin = i, .end = i + 1, .name = name});
  return trace;
}

TEST_F(ChromeTrace, LongTracesAreComplete) {
  Trace trace;
  const std::vector<json> events = records(written(fill(trace, 5000)), "X");
  ASSERT_EQ(events.size(), 5000u);
  for (size_t i = 0; i < events.size(); ++i) {
    ASSERT_DOUBLE_EQ(events[i].at("ts").get<double>(), static_cast<double>(i) / 1000);
  }
}

TEST_F(ChromeTrace, ReplacesAFileAndLeavesNoOther) {
  Trace trace;
  std::ofstream(file("trace.json")) << "old";
  EXPECT_EQ(records(written(fill(trace, 3)), "X").size(), 3u);
  EXPECT_EQ(entries(), 1);
}

TEST_F(ChromeTrace, FollowsALink) {
  Trace trace;
  std::ofstream(file("target")) << "old";
  fs::create_symlink("target", file("link"));
  write_chrome_trace(trace, file("link"));
  EXPECT_TRUE(fs::is_symlink(file("link")));
  EXPECT_TRUE(read(file("target")).contains("traceEvents"));
}

TEST_F(ChromeTrace, SaysWhyAFileCannotBeWritten) {
  Trace trace;
  const std::string missing = file("no_such_directory/trace.json");
  EXPECT_SAYS(failure(trace, missing), "'" + missing + "'");
  EXPECT_SAYS(failure(trace, missing), "No such file or directory");
  EXPECT_SAYS(failure(trace, folder_.path()), "Is a directory");
  EXPECT_SAYS(failure(trace, ""), "not a file name");
  std::ofstream(file("plain")) << "";
  EXPECT_SAYS(failure(trace, file("plain/trace.json")), "Not a directory");
  fs::create_symlink("loop", file("loop"));
  EXPECT_SAYS(failure(trace, file("loop") + "/x"), "Too many levels of symbolic links");
  EXPECT_EQ(entries(), 2);
}

TEST_F(ChromeTrace, AFullDeviceIsAnErrorAndStaysADevice) {
  Trace trace;
  EXPECT_SAYS(failure(trace, "/dev/full"), "'/dev/full'");
  EXPECT_SAYS(failure(trace, "/dev/full"), "No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(ChromeTrace, AFailedWriteLeavesTheOldFile) {
  Trace trace;
  fill(trace, 5000);
  std::ofstream(file("trace.json")) << "old";
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 100000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = failure(trace, file("trace.json"));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_SAYS(message, "File too large");
  EXPECT_EQ(fs::file_size(file("trace.json")), 3u);
  EXPECT_EQ(entries(), 1);
}

TEST_F(ChromeTrace, AnUnknownNameLeavesNoFile) {
  Trace trace;
  trace.add_track("worker", 0).add({.name = 5});
  EXPECT_THROW(write_chrome_trace(trace, file("trace.json")), InternalError);
  EXPECT_EQ(entries(), 0);
}

}  // namespace
}  // namespace pando::profile
