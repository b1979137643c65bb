#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/app/job/exit_code.h"
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

TEST(Devices, DividesTheMachine) {
  const auto machine = nlohmann::json::parse(run({"devices", "--json"}).out);
  ASSERT_EQ(machine.at("devices").size(), 1u);
  EXPECT_EQ(machine.at("devices")[0].at("cores").size(), machine.at("usable_cores").get<size_t>());
  EXPECT_EQ(machine.at("devices")[0].at("shared"), false);
  for (const char* flag : {"--devices", "--num-devices", "--dev"}) {
    const Result result = run({"devices", flag, "1000", "--json"});
    const auto devices = nlohmann::json::parse(result.out).at("devices");
    ASSERT_EQ(devices.size(), 1000u) << flag;
    EXPECT_EQ(devices[999].at("id"), 999);
    EXPECT_EQ(devices[999].at("cores").size(), 1u);
    EXPECT_GE(devices[999].at("numa_node").get<int>(), 0);
  }
  const std::string thread = machine.at("affinity")[0].dump();
  const std::string sets = thread + ";" + thread;
  const auto shared = nlohmann::json::parse(run({"devices", "--core-sets", sets, "--json"}).out);
  ASSERT_EQ(shared.at("devices").size(), 2u);
  EXPECT_EQ(shared.at("devices")[1].at("shared"), true);
  EXPECT_EQ(shared.at("devices")[1].at("cores")[0].dump(), thread);
}

TEST(Devices, TheDivisionFollowsTheMachine) {
  const std::string table = run({"devices"}).out;
  EXPECT_NE(table.find("\n\ndevice   workers  NUMA node  shared  hardware threads\n0  "),
            std::string::npos)
      << table;
  const std::string divided = run({"devices", "--devices=2", "--cores-per-device", "3"}).out;
  EXPECT_NE(divided.find("\n1              3  "), std::string::npos) << divided;
  EXPECT_NE(divided.find("(6 workers in all, "), std::string::npos) << divided;
}

TEST(Devices, RefusesWhatCannotBeDivided) {
  const auto refused = [](std::vector<std::string> flags, const std::string& wanted) {
    flags.insert(flags.begin(), "devices");
    const Result result = run(flags);
    EXPECT_EQ(result.code, app::kUsage);
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(wanted), std::string::npos) << result.err;
  };
  refused({"--devices", "0"}, "--devices: expected a whole number, at least 1");
  refused({"--devices", "1025"}, "at most 1024");
  refused({"--devices", "two"}, "got 'two'");
  refused({"--cores-per-device", "-1"}, "got '-1'");
  refused({"--core-sets", "0;x"}, "core sets '0;x': ");
  refused({"--core-sets", "65000"}, "hardware threads 65000");
  refused({"--core-sets", "0;1", "--devices", "1"},
          "--core-sets: expected one set for each device (--devices 1), got 2");
  refused({"--core-sets", "0", "--cores-per-device", "1"},
          "--core-sets: cannot be combined with --cores-per-device");
}

TEST(Devices, HelpNamesEveryFlag) {
  const std::string help = run({"devices", "--help"}).out;
  for (const char* flag : {"--devices N", "--num-devices", "--cores-per-device N",
                           "--core-sets SETS", "--json", "--help"}) {
    EXPECT_NE(help.find(flag), std::string::npos) << flag << "\n" << help;
  }
}

TEST(Devices, RefusesWhatItDoesNotKnow) {
  const Result unknown = run({"devices", "--jason"});
  EXPECT_EQ(unknown.code, app::kUsage);
  EXPECT_NE(unknown.err.find("'--json'?"), std::string::npos) << unknown.err;
  EXPECT_EQ(run({"devices", "extra"}).code, app::kUsage);
  EXPECT_EQ(run({"devices", "--json", "maybe"}).code, app::kUsage);
}

}  // namespace
}  // namespace pando::cli
