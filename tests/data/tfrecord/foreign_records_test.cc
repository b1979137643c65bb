// Exchanges record files with other software: Google's protocol buffers in Python, and the npm
// package `tfrecord`, if Node and the package are installed:
//   npm install tfrecord; NODE_PATH=$PWD/node_modules data_tests --gtest_filter='ForeignRecords*'
#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "pando/data/tfrecord/example.h"
#include "pando/data/tfrecord/record_file.h"
#include "tests/data/foreign_software.h"
#include "tests/data/record_files.h"

namespace pando {
namespace {

using testing_support::CommandResult;
using testing_support::kMissingPackage;
using testing_support::run_command;
using testing_support::run_python;

bool has_package() {
  return run_command("node -e \"require('tfrecord')\" 2>/dev/null").exit_code == 0;
}

const std::string kScript = "node " PANDO_SOURCE_DIR "/tests/data/read_records.js ";

TEST(ForeignRecords, NodeReadsWhatWeWrite) {
  if (!has_package()) GTEST_SKIP() << "no node, or no npm package tfrecord in NODE_PATH";
  const TempFolder directory;
  RecordWriter writer(directory.path("file"));
  writer.write(ExampleBuilder()
                   .ints("ints", {1, -2, int64_t{1} << 62})
                   .floats("floats", {1.5f, -0.25f})
                   .bytes_list("bytes", {{1, 2}, {}})
                   .encode());
  writer.write(ExampleBuilder().text("name", "x").bytes("large", Bytes(100'000, 7)).encode());
  writer.finish();
  const CommandResult result = run_command(kScript + directory.path("file"));
  EXPECT_EQ(result.exit_code, 0);
  const std::vector<std::string> lines = split(result.output, '\n');
  ASSERT_EQ(lines.size(), 3u) << result.output;  // the last is empty
  EXPECT_EQ(lines[0],
            R"({"bytes":[[1,2],[]],"floats":[1.5,-0.25],"ints":["1","-2","4611686018427387904"]})");
  EXPECT_TRUE(lines[1].ends_with(R"(7,7]],"name":[[120]]})"));
  EXPECT_GT(lines[1].size(), 200'000u);
}

TEST(ForeignRecords, WeReadWhatNodeWrites) {
  if (!has_package()) GTEST_SKIP() << "no node, or no npm package tfrecord in NODE_PATH";
  const TempFolder directory;
  ASSERT_EQ(run_command(kScript + "--write " + directory.path("file")).exit_code, 0);
  RecordReader reader(directory.path("file"));
  while (const auto record = reader.next()) {
    const Example example(*record);
    EXPECT_EQ(example.ints("ints", 3)[1], -2);
    EXPECT_EQ(example.floats("floats", 2)[1], -0.25f);
    EXPECT_EQ(example.bytes_list("bytes")[1][0], 255);
  }
  EXPECT_EQ(reader.records(), 3);
}

constexpr int64_t kExamples = 5;
constexpr const char* kNoPython =
    "no protobuf or crc32c in Python; on Debian install python3-protobuf and python3-crc32c";

// Features of example i, as in records_check.py.
std::vector<int64_t> ints_of(int64_t i) {
  return {i, -i, (int64_t{1} << 62) - i, std::numeric_limits<int64_t>::min()};
}
std::vector<float> floats_of(int64_t i) {
  return {static_cast<float>(i) / 4, -1e30f, std::numeric_limits<float>::infinity(),
          std::numeric_limits<float>::denorm_min()};
}
std::vector<Bytes> bytes_of_example(int64_t i) {
  Bytes counted(static_cast<size_t>(50 * i));
  for (size_t k = 0; k < counted.size(); ++k) counted[k] = static_cast<uint8_t>(k);
  return {counted, {}, bytes_of("müsli")};
}

TEST(ForeignRecords, PythonReadsWhatWeWrite) {
  const TempFolder directory;
  for (const Compression form : {Compression::none, Compression::gzip, Compression::zlib}) {
    RecordWriter writer(directory.path(std::string(to_string(form))), {.compression = form});
    for (int64_t i = 0; i < kExamples; ++i) {
      writer.write(ExampleBuilder()
                       .ints("ints", ints_of(i))
                       .floats("floats", floats_of(i))
                       .bytes_list("bytes", bytes_of_example(i))
                       .ints("no ints", {})
                       .encode());
    }
    writer.finish();
  }
  const CommandResult result = run_python("records_check.py", "read '" + directory.path() + "'");
  if (result.exit_code == kMissingPackage) GTEST_SKIP() << kNoPython;
  EXPECT_EQ(result.exit_code, 0);
}

TEST(ForeignRecords, WeReadWhatPythonWrites) {
  const TempFolder directory;
  const CommandResult result = run_python("records_check.py", "write '" + directory.path() + "'");
  if (result.exit_code == kMissingPackage) GTEST_SKIP() << kNoPython;
  ASSERT_EQ(result.exit_code, 0);
  for (const char* name : {"packed", "single", "gzip", "zlib"}) {
    SCOPED_TRACE(name);
    RecordReader reader(directory.path(name));
    while (const auto record = reader.next()) {
      const int64_t i = reader.records() - 1;
      const Example example(*record);
      EXPECT_EQ(example.keys(), (std::vector<std::string>{"bytes", "floats", "ints", "no ints"}));
      EXPECT_TRUE(std::ranges::equal(example.ints("ints"), ints_of(i)));
      EXPECT_TRUE(std::ranges::equal(example.floats("floats"), floats_of(i)));
      EXPECT_TRUE(example.ints("no ints").empty());
      const std::vector<Bytes> wanted = bytes_of_example(i);
      EXPECT_TRUE(std::ranges::equal(example.bytes_list("bytes"), wanted,
                                     [](auto a, auto b) { return std::ranges::equal(a, b); }));
    }
    EXPECT_EQ(reader.records(), kExamples);
  }
}

}  // namespace
}  // namespace pando
