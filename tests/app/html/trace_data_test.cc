#include "pando/app/html/trace_data.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/app/html/trace_text.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

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
  EXPECT_SAYS(testing_support::error_of<IoError>([&] { trace_data(folder.path / "none"); }), "none",
              "cannot be read");
}

}  // namespace
}  // namespace pando::app
