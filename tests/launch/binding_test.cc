#include "pando/launch/binding.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::launch {
namespace {

using Numbers = std::vector<int>;

// Two nodes of four cores with two hardware threads each, numbered as on real machines: core i has
// the threads i and i + 8; node 0 has the even cores.
runtime::Topology two_nodes() {
  runtime::Topology topology;
  topology.numa_nodes = 2;
  topology.cores = 8;
  topology.allowed_cores = 8;
  for (int core = 0; core < 8; ++core) {
    topology.core_threads.push_back(core);
    topology.core_nodes.push_back(core % 2);
  }
  for (int thread = 0; thread < 16; ++thread) {
    topology.affinity.push_back(thread);
    topology.affinity_cores.push_back(thread % 8);
  }
  return topology;
}

TEST(Binding, WholeCoresWithinANode) {
  const auto bound = bind_instances(two_nodes(), 4, true);
  ASSERT_EQ(bound.size(), 4u);
  EXPECT_EQ(bound[0].threads, (Numbers{0, 2, 8, 10}));
  EXPECT_EQ(bound[1].threads, (Numbers{4, 6, 12, 14}));
  EXPECT_EQ(bound[2].threads, (Numbers{1, 3, 9, 11}));
  EXPECT_EQ(bound[3].threads, (Numbers{5, 7, 13, 15}));
  EXPECT_EQ(bound[0].nodes, Numbers{0});
  EXPECT_EQ(bound[3].nodes, Numbers{1});
  EXPECT_EQ(bound[0].cores, 2);
  EXPECT_FALSE(bound[0].shared);
}

TEST(Binding, InTheOrderOfNumbersWhenNotNumaAware) {
  const auto bound = bind_instances(two_nodes(), 4, false);
  EXPECT_EQ(bound[0].threads, (Numbers{0, 1, 8, 9}));
  EXPECT_EQ(bound[0].nodes, (Numbers{0, 1}));
}

TEST(Binding, OnlyWhatTheProcessMayUse) {
  runtime::Topology topology = two_nodes();
  topology.allowed_cores = 2;
  topology.core_threads = {2, 3};
  topology.core_nodes = {0, 1};
  topology.affinity = {2, 3, 11};
  topology.affinity_cores = {0, 1, 1};
  const auto bound = bind_instances(topology, 2, true);
  EXPECT_EQ(bound[0].threads, Numbers{2});
  EXPECT_EQ(bound[1].threads, (Numbers{3, 11}));
}

TEST(Binding, MoreInstancesThanCoresShare) {
  const auto bound = bind_instances(two_nodes(), 16, true);
  ASSERT_EQ(bound.size(), 16u);
  EXPECT_TRUE(bound[15].shared);
  EXPECT_EQ(bound[15].cores, 1);
  const auto warnings = binding_warnings(bound, 1);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_SAYS(warnings[0], "16 instances");
  EXPECT_SAYS(warnings[0], "0-15");
}

TEST(Binding, WarnsOfDevicesThatShareCores) {
  const auto bound = bind_instances(two_nodes(), 4, true);
  EXPECT_TRUE(binding_warnings(bound, 2).empty());
  const auto warnings = binding_warnings(bound, 3);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_SAYS(warnings[0], "3 devices");
  EXPECT_SAYS(warnings[0], "2 cores");
  const auto one_core = binding_warnings(bind_instances(two_nodes(), 8, true), 2);
  ASSERT_EQ(one_core.size(), 1u);
  EXPECT_SAYS(one_core[0], "2 devices");
  EXPECT_SAYS(one_core[0], "1 core");
}

}  // namespace
}  // namespace pando::launch
