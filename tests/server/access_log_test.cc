// SPDX-License-Identifier: MIT
#include "pando/server/access_log.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/base/json.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::server {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

http::AccessRecord record_of(std::string_view target) {
  http::AccessRecord record;
  record.peer = "127.0.0.1:1";
  record.method = "GET";
  record.target = target;
  record.agent = "a \"client\"\n";
  record.status = 200;
  record.request_bytes = 5;
  record.response_bytes = 7;
  record.seconds = 0.25;
  return record;
}

TEST(AccessLog, WritesLinesOfJson) {
  const std::string line = access_line(record_of("/x"), 1'700'000'000.5);
  EXPECT_TRUE(line.ends_with("}\n"));
  const Json json = Json::parse(line);
  EXPECT_EQ(json.get<std::string>("time"), "2023-11-14T22:13:20.500Z");
  EXPECT_EQ(json.get<std::string>("agent"), "a \"client\"\n");
  EXPECT_EQ(json.get<int>("status"), 200);
  EXPECT_EQ(json.get<double>("seconds"), 0.25);
}

TEST(AccessLog, CanBeRotated) {
  const TempFolder folder;
  AccessLog log(folder.path("log"));
  log.write(record_of("/first"));
  std::filesystem::rename(folder.path("log"), folder.path("old"));
  log.reopen();
  log.write(record_of("/second"));
  log.flush();
  EXPECT_NE(folder.read("old").find("/first"), std::string::npos);
  EXPECT_NE(folder.read("log").find("/second"), std::string::npos);
  EXPECT_EQ(folder.read("log").find("/first"), std::string::npos);
}

TEST(AccessLog, NamesAFileThatCannotBe) {
  EXPECT_SAYS(error_of<IoError>([] { AccessLog log("/nowhere/log"); }), "--access-log",
              "/nowhere/log");
}

}  // namespace
}  // namespace pando::server
