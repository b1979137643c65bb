#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/app/exit_code.h"
#include "tests/cli/run_cli.h"

namespace pando::cli {
namespace {

TEST(Devices, PrintsATable) {
  const Result result = run({"devices"});
  EXPECT_EQ(result.code, app::kDone);
  for (const char* row : {"processor ", "cores ", "memory ", "affinity ", "control group ",
                          "instruction sets ", "usable "}) {
    EXPECT_NE(("\n" + result.out).find(std::string("\n") + row), std::string::npos) << row;
  }
}

TEST(Devices, PrintsJson) {
  const Result result = run({"devices", "--json"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_GE(json.at("usable_cores").get<int>(), 1);
  EXPECT_EQ(json.at("affinity").empty(), false);
  EXPECT_TRUE(json.contains("cpu_limit"));
}

TEST(Devices, RefusesWhatItDoesNotKnow) {
  const Result unknown = run({"devices", "--jason"});
  EXPECT_EQ(unknown.code, app::kUsage);
  EXPECT_NE(unknown.err.find("--jason: unknown name; did you mean '--json'?"), std::string::npos)
      << unknown.err;
  EXPECT_EQ(run({"devices", "extra"}).code, app::kUsage);
  EXPECT_EQ(run({"devices", "--json", "maybe"}).code, app::kUsage);
}

}  // namespace
}  // namespace pando::cli
