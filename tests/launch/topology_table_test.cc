#include "pando/launch/topology_table.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "pando/base/strings.h"
#include "tests/support/expect_error.h"

namespace pando::launch {
namespace {

JobDivision job_of(std::vector<std::string> hosts, int instances, int replicas) {
  return {.hosts = std::move(hosts),
          .instances = instances,
          .replicas = replicas,
          .devices_per_replica = 2};
}

std::vector<InstanceCores> two_bound() {
  return {{.threads = {0, 1, 4, 5}, .nodes = {0}, .cores = 2, .shared = false},
          {.threads = {2, 3, 6, 7}, .nodes = {1}, .cores = 2, .shared = false}};
}

TEST(TopologyTable, OfThisMachine) {
  EXPECT_EQ(topology_table(job_of({}, 2, 4), {"big-machine.example.org", two_bound(), true}),
            "┌───────────┬─────────────────────────┐\n"
            "│ host      │ big-machine.example.org │\n"
            "├───────────┼────────────┬────────────┤\n"
            "│ instance  │ 0          │ 1          │\n"
            "│ replicas  │ 0-1        │ 2-3        │\n"
            "│ devices   │ 4          │ 4          │\n"
            "│ cores     │ 0-1,4-5    │ 2-3,6-7    │\n"
            "│ NUMA node │ 0          │ 1          │\n"
            "└───────────┴────────────┴────────────┘\n");
}

TEST(TopologyTable, OfOtherHostsInPlainText) {
  EXPECT_EQ(topology_table(job_of({"b", "a"}, 4, 4), {"a.org", two_bound(), false}),
            "+-----------+-------+-------------------+\n"
            "| host      | b     | a                 |\n"
            "+-----------+---+---+---------+---------+\n"
            "| instance  | 0 | 1 | 2       | 3       |\n"
            "| replicas  | 0 | 1 | 2       | 3       |\n"
            "| devices   | 2 | 2 | 2       | 2       |\n"
            "| cores     | - | - | 0-1,4-5 | 2-3,6-7 |\n"
            "| NUMA node | - | - | 0       | 1       |\n"
            "+-----------+---+---+---------+---------+\n"
            "-: decided on that host when its instances start\n");
}

TEST(TopologyTable, IsNotWiderThanATerminal) {
  std::vector<std::string> hosts;
  for (int i = 0; i < 1000; ++i) hosts.push_back("node" + std::to_string(i));
  const std::string table = topology_table(job_of(hosts, 4000, 4000), {"me", {}, false});
  size_t widest = 0;
  for (const std::string& line : split(table, '\n')) widest = std::max(widest, line.size());
  EXPECT_LE(widest, 100u);
  EXPECT_GT(widest, 80u);
  // The instances shown and those counted as left out are all instances.
  int last = 0;
  for (const std::string& line : split(table, '\n')) {
    if (line.starts_with("| instance")) {
      const auto cells = split(line, '|');
      last = static_cast<int>(parse_int(trim(cells[cells.size() - 2])).value());
    }
  }
  EXPECT_SAYS(table, concat("\nand ", 4000 - last - 1, " more instances\n"));
}

TEST(TopologyTable, KnowsTheNamesOfThisMachine) {
  for (const char* name : {"a.b.org", "a", "localhost", "127.0.0.1", "::1"}) {
    EXPECT_TRUE(is_this_host(name, "a.b.org")) << name;
  }
  for (const char* name : {"b", "a.b", "b.a", ""}) EXPECT_FALSE(is_this_host(name, "a.b.org"));
}

}  // namespace
}  // namespace pando::launch
