// Record files between us and the npm package `tfrecord`, where Node and the package are there:
//   npm install tfrecord; NODE_PATH=$PWD/node_modules data_tests --gtest_filter='ForeignRecords*'
#include <cstdio>
#include <memory>

#include <gtest/gtest.h>

#include "pando/data/tfrecord/example.h"
#include "pando/data/tfrecord/record_file.h"
#include "tests/data/record_files.h"

namespace pando {
namespace {

struct CommandResult {
  std::string output;
  int status = 0;
};

CommandResult run(const std::string& command) {
  const auto close = [](FILE* pipe) { return ::pclose(pipe); };
  CommandResult result;
  std::unique_ptr<FILE, decltype(close)> pipe(::popen(command.c_str(), "r"), close);
  if (pipe == nullptr) throw std::runtime_error("popen");
  for (int c = 0; (c = std::fgetc(pipe.get())) != EOF;) result.output += static_cast<char>(c);
  result.status = ::pclose(pipe.release());
  return result;
}

bool has_package() { return run("node -e \"require('tfrecord')\" 2>/dev/null").status == 0; }

const std::string kScript = "node " PANDO_SOURCE_DIR "/tests/data/read_records.js ";

TEST(ForeignRecords, OthersReadWhatWeWrite) {
  if (!has_package()) GTEST_SKIP() << "no node, or no npm package tfrecord in NODE_PATH";
  const ScratchDirectory directory;
  RecordWriter writer(directory.path("file"));
  writer.write(ExampleBuilder()
                   .ints("ints", {1, -2, int64_t{1} << 62})
                   .floats("floats", {1.5f, -0.25f})
                   .bytes_list("bytes", {{1, 2}, {}})
                   .encode());
  writer.write(ExampleBuilder().text("name", "x").bytes("large", Bytes(100'000, 7)).encode());
  writer.finish();
  const CommandResult result = run(kScript + directory.path("file"));
  EXPECT_EQ(result.status, 0);
  const std::vector<std::string> lines = split(result.output, '\n');
  ASSERT_EQ(lines.size(), 3u) << result.output;  // the last is empty
  EXPECT_EQ(lines[0],
            R"({"bytes":[[1,2],[]],"floats":[1.5,-0.25],"ints":["1","-2","4611686018427387904"]})");
  EXPECT_TRUE(lines[1].ends_with(R"(7,7]],"name":[[120]]})"));
  EXPECT_GT(lines[1].size(), 200'000u);
}

TEST(ForeignRecords, WeReadWhatOthersWrite) {
  if (!has_package()) GTEST_SKIP() << "no node, or no npm package tfrecord in NODE_PATH";
  const ScratchDirectory directory;
  ASSERT_EQ(run(kScript + "--write " + directory.path("file")).status, 0);
  RecordReader reader(directory.path("file"));
  while (const auto record = reader.next()) {
    const Example example(*record);
    EXPECT_EQ(example.ints("ints", 3)[1], -2);
    EXPECT_EQ(example.floats("floats", 2)[1], -0.25f);
    EXPECT_EQ(example.bytes_list("bytes")[1][0], 255);
  }
  EXPECT_EQ(reader.records(), 3);
}

}  // namespace
}  // namespace pando
