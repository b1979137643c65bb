#include "pando/runtime/machine/topology.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

namespace pando::runtime {
namespace {

namespace fs = std::filesystem;

// A folder of the test's own, removed at the end.
struct Folder {
  fs::path path = fs::path(testing::TempDir()) /
                  (std::to_string(getpid()) + "-" +
                   testing::UnitTest::GetInstance()->current_test_info()->name());
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  void write(const fs::path& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
  }
};

TEST(Topology, DescribesThisMachine) {
  const Topology topology = query_topology();
  EXPECT_GE(topology.packages, 1);
  EXPECT_GE(topology.numa_nodes, 1);
  EXPECT_GE(topology.hardware_threads, topology.cores);
  EXPECT_LE(topology.allowed_cores, std::max(topology.cores, topology.hardware_threads));
  EXPECT_GE(topology.usable_cores(), 1);
  EXPECT_GT(topology.usable_memory_bytes(), 1 << 20);
  EXPECT_FALSE(topology.cpu_model.empty());
}

TEST(Topology, EveryThreadHasACoreAndEveryCoreANode) {
  const Topology topology = query_topology();
  ASSERT_EQ(topology.core_nodes.size(), topology.core_threads.size());
  for (const int node : topology.core_nodes) EXPECT_GE(node, 0);
  ASSERT_EQ(topology.affinity_cores.size(), topology.affinity.size());
  for (size_t i = 0; i < topology.affinity.size(); ++i) {
    const auto core = static_cast<size_t>(topology.affinity_cores[i]);
    ASSERT_LT(core, topology.core_threads.size());
    // A core is known by the first of its threads.
    EXPECT_LE(topology.core_threads[core], topology.affinity[i]);
  }
}

TEST(Topology, FollowsTheAffinityOfTheProcess) {
  cpu_set_t old;
  ASSERT_EQ(sched_getaffinity(0, sizeof old, &old), 0);
  const Topology before = query_topology();
  ASSERT_EQ(static_cast<int>(before.affinity.size()), CPU_COUNT(&old));
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(before.affinity.back(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const Topology bound = query_topology();
  sched_setaffinity(0, sizeof old, &old);
  EXPECT_EQ(bound.affinity, std::vector<int>{before.affinity.back()});
  EXPECT_EQ(bound.allowed_cores, 1);
  EXPECT_EQ(bound.usable_cores(), 1);
}

TEST(Topology, UsableCoresAreBoundedByProcessorTime) {
  Topology topology;
  topology.allowed_cores = 8;
  EXPECT_EQ(topology.usable_cores(), 8);
  topology.limits.cpus = 2.5;
  EXPECT_EQ(topology.usable_cores(), 3);
  topology.limits.cpus = 0.1;
  EXPECT_EQ(topology.usable_cores(), 1);
  topology.limits.cpus = 64;
  EXPECT_EQ(topology.usable_cores(), 8);
}

TEST(Topology, UsableMemoryIsTheSmallerLimit) {
  Topology topology;
  topology.memory_bytes = 1000;
  EXPECT_EQ(topology.usable_memory_bytes(), 1000);
  topology.limits.memory_bytes = 400;
  EXPECT_EQ(topology.usable_memory_bytes(), 400);
  topology.limits.memory_bytes = 4000;
  EXPECT_EQ(topology.usable_memory_bytes(), 1000);
}

TEST(ControlGroup, TakesTheSmallestLimitOnTheWayUp) {
  Folder root;
  root.write("cpu.max", "max 100000\n");
  root.write("a/cpu.max", "150000 100000\n");
  root.write("a/b/cpu.max", "400000 100000\n");
  root.write("a/memory.max", "max\n");
  root.write("a/b/memory.max", "1048576\n");
  const ControlGroupLimits limits = read_control_group_limits(root.path, "0::/a/b\n");
  EXPECT_EQ(limits.cpus, 1.5);
  EXPECT_EQ(limits.memory_bytes, 1048576);
  EXPECT_EQ(read_control_group_limits(root.path, "0::/a\n").memory_bytes, std::nullopt);
}

TEST(ControlGroup, InsideAContainerTheRootCounts) {
  Folder root;
  root.write("cpu.max", "50000 100000\n");
  EXPECT_EQ(read_control_group_limits(root.path, "0::/\n").cpus, 0.5);
  // The path of the host is not visible inside.
  EXPECT_EQ(read_control_group_limits(root.path, "0::/system.slice/x\n").cpus, 0.5);
}

TEST(ControlGroup, ReadsVersionOne) {
  Folder root;
  root.write("cpu,cpuacct/docker/cpu.cfs_quota_us", "300000\n");
  root.write("cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
  root.write("memory/docker/memory.limit_in_bytes", "2097152\n");
  root.write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  const ControlGroupLimits limits =
      read_control_group_limits(root.path, "5:memory:/docker\n4:cpu,cpuacct:/docker\n");
  EXPECT_EQ(limits.cpus, 3.0);
  EXPECT_EQ(limits.memory_bytes, 2097152);
  root.write("cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(read_control_group_limits(root.path, "4:cpu,cpuacct:/docker\n").cpus, std::nullopt);
}

TEST(ControlGroup, UnreadableMeansNoLimit) {
  Folder root;
  root.write("cpu.max", "nonsense\n");
  EXPECT_EQ(read_control_group_limits(root.path, "0::/\n").cpus, std::nullopt);
  EXPECT_EQ(read_control_group_limits(root.path / "absent", "0::/x\n").cpus, std::nullopt);
  EXPECT_EQ(read_control_group_limits(root.path, "rubbish").cpus, std::nullopt);
}

TEST(CpuInfo, FindsNameAndInstructionSets) {
  const char* text =
      "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu sse4_2 avx2 fma\n"
      "processor\t: 1\nmodel name\t: Other\n";
  EXPECT_EQ(parse_cpu_model(text), "Some CPU @ 2 GHz");
  EXPECT_EQ(parse_instruction_sets(text), (std::vector<std::string>{"sse4_2", "fma", "avx2"}));
  EXPECT_EQ(parse_instruction_sets("Features\t: fp asimd sve\n"),
            (std::vector<std::string>{"asimd", "sve"}));
  EXPECT_EQ(parse_cpu_model(""), "unknown");
  EXPECT_TRUE(parse_instruction_sets("").empty());
}

TEST(Ranges, JoinsNeighbours) {
  EXPECT_EQ(to_ranges({}), "");
  EXPECT_EQ(to_ranges({3}), "3");
  EXPECT_EQ(to_ranges({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

}  // namespace
}  // namespace pando::runtime
