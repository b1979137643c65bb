// Event files, read by independent decoders: Google's protocol buffers in Python, and the npm
// package `tfrecord`, if Node and the package are installed:
//   npm install tfrecord; NODE_PATH=$PWD/node_modules store_tests --gtest_filter='EventFile*'
#include "pando/store/event_file.h"

#include <cmath>
#include <limits>
#include <optional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/base/strings.h"
#include "tests/data/foreign_software.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::store {
namespace {

using nlohmann::json;
using testing_support::CommandResult;
using testing_support::TempFolder;

std::vector<json> lines_of(const CommandResult& result) {
  EXPECT_EQ(result.exit_code, 0);
  std::vector<json> records;
  for (const std::string& line : split(result.output, '\n')) {
    if (!line.empty()) records.push_back(json::parse(line));
  }
  return records;
}

// Returns nothing if the decoder is not installed.
std::optional<std::vector<json>> by_python(const std::filesystem::path& path) {
  const CommandResult result = testing_support::run_command(
      PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/store/event_check.py' '" + path.string() + "'");
  if (result.exit_code == testing_support::kMissingPackage) return std::nullopt;
  return lines_of(result);
}

std::optional<std::vector<json>> by_node(const std::filesystem::path& path) {
  const CommandResult found = testing_support::run_command(
      "node -e \"require('tfrecord'); require('protobufjs')\" 2>/dev/null");
  if (found.exit_code != 0) return std::nullopt;
  return lines_of(testing_support::run_command(
      "node '" PANDO_SOURCE_DIR "/tests/store/read_events.js' '" + path.string() + "'"));
}

EventFileOptions at_times() {
  return {.clock = [time = 1700000000.5]() mutable { return time++; }, .host = "host"};
}

// A file with one record of every kind.
std::filesystem::path write_all_kinds(const TempFolder& folder) {
  EventFile file(folder.path(), at_times());
  file.add_scalars(7, {{"loss/train", 0.25}, {"run/throughput", 1e6}});
  file.add_histograms(8, {{"weights/dense", histogram_of(std::vector<float>{0.5f, -2, 0, 0})}});
  file.add_text(0, "configuration", "    model: \xc3\xa4\n");
  file.restart(int64_t{1} << 40);
  return file.path();
}

// What a decoder must find in that file; defaults of the format are not in the file.
void expect_all_kinds(const std::vector<json>& records) {
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[0], json({{"wall_time", 1700000001.5}, {"file_version", "brain.Event:2"}}));
  EXPECT_EQ(records[1], json::parse(R"({"wall_time": 1700000002.5, "step": 7, "summary": {"value": [
      {"tag": "loss/train", "simple_value": 0.25},
      {"tag": "run/throughput", "simple_value": 1000000.0}]}})"));
  EXPECT_EQ(records[2].at("step"), 8);
  const json& value = records[2].at("summary").at("value").at(0);
  EXPECT_EQ(value.at("tag"), "weights/dense");
  const json& histogram = value.at("histo");
  EXPECT_EQ(histogram.at("min"), -2);
  EXPECT_EQ(histogram.at("max"), 0.5);
  EXPECT_EQ(histogram.at("num"), 4);
  EXPECT_EQ(histogram.at("sum"), -1.5);
  EXPECT_EQ(histogram.at("sum_squares"), 4.25);
  EXPECT_EQ(histogram.at("bucket").size(), histogram.at("bucket_limit").size());
  EXPECT_EQ(records[3], json::parse(R"({"wall_time": 1700000004.5, "summary": {"value": [
      {"tag": "configuration",
       "tensor": {"dtype": 7, "tensor_shape": {"dim": [{"size": 1}]},
                  "string_val": ["    model: \u00e4\n"]},
       "metadata": {"plugin_data": {"plugin_name": "text"}, "data_class": 2}}]}})"));
  EXPECT_EQ(records[4], json::parse(R"({"wall_time": 1700000005.5, "step": 1099511627776,
                                        "session_log": {"status": 1}})"));
}

TEST(EventFile, GooglesProtocolBuffersReadEveryField) {
  const TempFolder folder;
  const auto records = by_python(write_all_kinds(folder));
  if (!records) GTEST_SKIP() << "no python3-protobuf or python3-crc32c";
  expect_all_kinds(*records);
}

TEST(EventFile, NodeReadsEveryField) {
  const TempFolder folder;
  const auto records = by_node(write_all_kinds(folder));
  if (!records) GTEST_SKIP() << "no node, or no npm package tfrecord in NODE_PATH";
  expect_all_kinds(*records);
}

TEST(EventFile, HasTheNameThatTensorBoardLooksFor) {
  const TempFolder folder;
  const EventFile first(folder.path(), at_times());
  const EventFile second(folder.path(), at_times());
  EXPECT_EQ(first.path().filename().string().rfind("events.out.tfevents.1700000000.host.", 0), 0u)
      << first.path();
  EXPECT_NE(first.path(), second.path());
  const EventFile own(folder.path());
  EXPECT_EQ(own.path().filename().string().rfind("events.out.tfevents.", 0), 0u);
  EXPECT_EQ(folder.entries(), 3);
}

TEST(EventFile, WhatWasAddedIsInTheFileAtOnce) {
  const TempFolder folder;
  EventFile file(folder.path());
  const auto before = std::filesystem::file_size(file.path());
  EXPECT_GT(before, 0u);
  file.add_scalars(1, {{"a", 1.0}});
  EXPECT_GT(std::filesystem::file_size(file.path()), before);
}

TEST(EventFile, NumbersThatAreNotFiniteStayWhatTheyAre) {
  const TempFolder folder;
  EventFile file(folder.path());
  file.add_scalars(1, {{"nan", std::nan("")}, {"inf", INFINITY}, {"too large for f32", 1e300}});
  const CommandResult result = testing_support::run_command(
      PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/store/event_check.py' '" + file.path().string() +
      "'");
  if (result.exit_code == testing_support::kMissingPackage) GTEST_SKIP() << "no python3-protobuf";
  EXPECT_SAYS(result.output, "\"nan\", \"simple_value\": NaN");
  EXPECT_SAYS(result.output, "\"inf\", \"simple_value\": Infinity");
  EXPECT_SAYS(result.output, "\"too large for f32\", \"simple_value\": Infinity");
}

TEST(EventFile, NamesTheFileThatCannotBeWritten) {
  const TempFolder folder;
  const std::string error =
      testing_support::error_of<IoError>([&] { EventFile(folder.path("missing"), at_times()); });
  EXPECT_SAYS(error, "missing/events.out.tfevents.1700000000.host.");
  EXPECT_SAYS(error, "No such file or directory");
}

TEST(EventFile, AFullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  const TempFolder folder;
  EventFile file(folder.path(), at_times());
  // The next file has the next number; its name is a link to a device that is always full.
  std::string next = file.path().string();
  const size_t dot = next.rfind('.') + 1;
  next = next.substr(0, dot) + std::to_string(std::stoi(next.substr(dot)) + 1);
  std::filesystem::create_symlink("/dev/full", next);
  const std::string error =
      testing_support::error_of<IoError>([&] { EventFile(folder.path(), at_times()); });
  EXPECT_SAYS(error, next + ": ");
  EXPECT_SAYS(error, "No space left on device");
}

TEST(HistogramOf, LimitsGrowByATenthAndHoldTheValues) {
  const std::vector<float> values = {-3, -3, 0, 1e-6f, 0.7f, 0.71f, 250};
  const Histogram histogram = histogram_of(values);
  EXPECT_EQ(histogram.num, 7);
  EXPECT_EQ(histogram.min, -3);
  EXPECT_EQ(histogram.max, 250);
  double counted = 0;
  for (size_t i = 0; i < histogram.limits.size(); ++i) {
    counted += histogram.counts[i];
    if (histogram.counts[i] == 0) continue;
    ASSERT_GT(i, 0u);  // a bucket with values has one in front that says where it begins
    const double low = histogram.limits[i - 1], high = histogram.limits[i];
    double inside = 0;
    for (const float value : values) inside += value >= low && value < high ? 1 : 0;
    EXPECT_EQ(inside, histogram.counts[i]) << low << " " << high;
    if (low > 0) {
      EXPECT_NEAR(high / low, 1.1, 1e-9);
    }
  }
  EXPECT_EQ(counted, 7);
}

TEST(HistogramOf, TheLargestAndTheSmallestNumbersHaveBuckets) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const Histogram histogram = histogram_of(std::vector<float>{kLargest, -kLargest, 1e-30f});
  EXPECT_EQ(histogram.num, 3);
  EXPECT_EQ(histogram.limits.back(), std::numeric_limits<double>::max());
  EXPECT_EQ(histogram.counts.back(), 1);
  EXPECT_EQ(histogram.limits.front(), -std::numeric_limits<double>::max());
}

TEST(HistogramOf, NothingAndWhatIsNotFinite) {
  for (const std::vector<float>& values : {std::vector<float>{}, {NAN, INFINITY}}) {
    const Histogram histogram = histogram_of(values);
    EXPECT_EQ(histogram.num, 0);
    EXPECT_EQ(histogram.min, 0);
    EXPECT_EQ(histogram.max, 0);
    EXPECT_EQ(histogram.limits.size(), 1u);
    EXPECT_EQ(histogram.counts, std::vector<double>{0});
  }
}

}  // namespace
}  // namespace pando::store
