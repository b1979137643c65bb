#include "pando/runtime/machine/device_set.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::runtime {
namespace {

using testing_support::error_of;
using Sets = std::vector<std::vector<int>>;

// Nodes of so many cores each, one hardware thread per core.
Topology machine(const std::vector<int>& cores_of_node) {
  Topology topology;
  for (size_t node = 0; node < cores_of_node.size(); ++node) {
    for (int i = 0; i < cores_of_node[node]; ++i) {
      const int thread = static_cast<int>(topology.affinity.size());
      topology.affinity.push_back(thread);
      topology.core_threads.push_back(thread);
      topology.affinity_cores.push_back(thread);
      topology.core_nodes.push_back(static_cast<int>(node));
    }
  }
  topology.numa_nodes = static_cast<int>(cores_of_node.size());
  topology.allowed_cores = static_cast<int>(topology.core_threads.size());
  return topology;
}

// `cores` cores with the threads i and i + cores, as Linux numbers them.
Topology two_threads_per_core(int cores) {
  Topology topology = machine({cores});
  for (int i = 0; i < cores; ++i) {
    topology.affinity.push_back(i + cores);
    topology.affinity_cores.push_back(i);
  }
  return topology;
}

Sets cores_of(const std::vector<DeviceCores>& devices) {
  Sets sets;
  for (const DeviceCores& device : devices) sets.push_back(device.cores);
  return sets;
}

Sets divide(const Topology& topology, const DeviceRequest& request) {
  return cores_of(divide_machine(topology, request));
}

std::vector<int> nodes_of(const Topology& topology, const DeviceRequest& request) {
  std::vector<int> nodes;
  for (const DeviceCores& device : divide_machine(topology, request)) {
    nodes.push_back(device.numa_node);
  }
  return nodes;
}

std::vector<bool> shared_in(const Topology& topology, const DeviceRequest& request) {
  std::vector<bool> shared;
  for (const DeviceCores& device : divide_machine(topology, request)) {
    shared.push_back(device.shared);
  }
  return shared;
}

TEST(DivideMachine, OneDeviceHasAllCores) {
  EXPECT_EQ(divide(machine({2}), {}), (Sets{{0, 1}}));
  EXPECT_EQ(divide(machine({4, 4}), {}), (Sets{{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(nodes_of(machine({2, 6}), {}), std::vector<int>{1});
  EXPECT_EQ(divide(two_threads_per_core(2), {}), (Sets{{0, 1}}));
  EXPECT_EQ(shared_in(machine({2}), {}), std::vector<bool>{false});
}

TEST(DivideMachine, EvenDivisionOfOneNode) {
  EXPECT_EQ(divide(machine({2}), {.devices = 2}), (Sets{{0}, {1}}));
  EXPECT_EQ(divide(machine({5}), {.devices = 2}), (Sets{{0, 1, 2}, {3, 4}}));
  EXPECT_EQ(divide(machine({7}), {.devices = 4}), (Sets{{0, 1}, {2, 3}, {4, 5}, {6}}));
  EXPECT_EQ(shared_in(machine({7}), {.devices = 4}), std::vector<bool>(4, false));
}

TEST(DivideMachine, DevicesStayInsideNodes) {
  EXPECT_EQ(divide(machine({4, 4}), {.devices = 2}), (Sets{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(nodes_of(machine({4, 4}), {.devices = 4}), (std::vector<int>{0, 0, 1, 1}));
  // One core more for two of three would spread the last over both nodes.
  EXPECT_EQ(divide(machine({4, 4}), {.devices = 3}), (Sets{{0, 1, 2}, {4, 5}, {6, 7}}));
  EXPECT_EQ(divide(machine({4, 4}), {.devices = 5}), (Sets{{0, 1}, {2, 3}, {4, 5}, {6}, {7}}));
  EXPECT_EQ(divide(machine({3, 3}), {.devices = 4}), (Sets{{0, 1}, {2}, {3, 4}, {5}}));
}

TEST(DivideMachine, UnevenNodes) {
  EXPECT_EQ(divide(machine({2, 6}), {.devices = 2}), (Sets{{2, 3, 4, 5}, {0, 1, 6, 7}}));
  EXPECT_EQ(divide(machine({5, 4}), {.devices = 2}), (Sets{{0, 1, 2, 3, 4}, {5, 6, 7, 8}}));
  // Three devices of three cores: the third has to be spread.
  EXPECT_EQ(divide(machine({5, 4}), {.devices = 3}), (Sets{{0, 1, 2}, {5, 6, 7}, {3, 4, 8}}));
  EXPECT_EQ(nodes_of(machine({5, 4}), {.devices = 3}), (std::vector<int>{0, 1, 0}));
  // No node has room for any, and the odd core goes to the first.
  EXPECT_EQ(divide(machine({1, 1, 1, 1, 1}), {.devices = 2}), (Sets{{0, 1, 2}, {3, 4}}));
}

TEST(DivideMachine, CoresPerDevice) {
  EXPECT_EQ(divide(machine({8}), {.devices = 2, .cores_per_device = 3}),
            (Sets{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(divide(machine({4, 4}), {.devices = 2, .cores_per_device = 3}),
            (Sets{{0, 1, 2}, {4, 5, 6}}));
  EXPECT_EQ(divide(machine({2, 4}), {.cores_per_device = 3}), (Sets{{2, 3, 4}}));
}

TEST(DivideMachine, ControlGroupLimitsTheNumberOfCores) {
  Topology topology = machine({4, 4});
  topology.limits.cpus = 3.5;
  EXPECT_EQ(divide(topology, {}), (Sets{{0, 1, 2, 3}}));
  EXPECT_EQ(divide(topology, {.devices = 3}), (Sets{{0, 1}, {2}, {3}}));
  EXPECT_EQ(divide(topology, {.devices = 5}), (Sets{{0}, {1}, {2}, {3}, {0}}));
  EXPECT_EQ(shared_in(topology, {.devices = 5}),
            (std::vector<bool>{true, false, false, false, true}));
  topology.limits.cpus = 6;
  EXPECT_EQ(divide(topology, {.devices = 2}), (Sets{{0, 1, 2}, {4, 5, 6}}));
}

TEST(DivideMachine, AffinityNeedNotBeginAtZero) {
  Topology topology = machine({4});
  topology.affinity = topology.core_threads = {3, 5, 6, 9};
  EXPECT_EQ(divide(topology, {.devices = 2}), (Sets{{3, 5}, {6, 9}}));
}

TEST(DivideMachine, MoreDevicesThanCoresTakeTurns) {
  const auto devices = divide_machine(machine({2}), {.devices = 16});
  ASSERT_EQ(devices.size(), 16u);
  for (size_t i = 0; i < devices.size(); ++i) {
    EXPECT_EQ(devices[i].id, static_cast<int>(i));
    EXPECT_EQ(devices[i].cores, std::vector<int>{static_cast<int>(i % 2)});
    EXPECT_TRUE(devices[i].shared);
  }
  EXPECT_EQ(divide(machine({2, 2}), {.devices = 6}), (Sets{{0}, {1}, {2}, {3}, {0}, {1}}));
}

TEST(DivideMachine, DevicesShareWhenTheyAskForMoreThanThereIs) {
  EXPECT_EQ(divide(machine({2}), {.devices = 2, .cores_per_device = 2}), (Sets{{0, 1}, {0, 1}}));
  EXPECT_EQ(divide(machine({4}), {.devices = 3, .cores_per_device = 2}),
            (Sets{{0, 1}, {2, 3}, {0, 1}}));
  EXPECT_EQ(shared_in(machine({4}), {.devices = 3, .cores_per_device = 2}),
            (std::vector<bool>{true, false, true}));
  // Devices stay inside nodes, and take unused cores first.
  EXPECT_EQ(divide(machine({4, 4}), {.devices = 3, .cores_per_device = 3}),
            (Sets{{0, 1, 2}, {4, 5, 6}, {0, 1, 3}}));
  EXPECT_EQ(divide(machine({2, 2}), {.devices = 2, .cores_per_device = 3}),
            (Sets{{0, 1, 2}, {0, 1, 3}}));
}

TEST(DivideMachine, OneDeviceMayHaveSeveralWorkersPerCore) {
  const DeviceRequest request{.cores_per_device = 3};
  EXPECT_EQ(divide(machine({2}), request), (Sets{{0, 0, 1}}));
  EXPECT_EQ(shared_in(machine({2}), request), std::vector<bool>{true});
}

TEST(DivideMachine, CoreSetsAreTakenAsTheyAre) {
  const DeviceRequest request{.core_sets = {{5, 4}, {0}}};
  EXPECT_EQ(divide(machine({4, 4}), request), (Sets{{5, 4}, {0}}));
  EXPECT_EQ(nodes_of(machine({4, 4}), request), (std::vector<int>{1, 0}));
  EXPECT_EQ(shared_in(machine({4, 4}), request), (std::vector<bool>{false, false}));
  EXPECT_EQ(shared_in(machine({4}), {.devices = 3, .core_sets = {{0, 1}, {1, 2}, {3}}}),
            (std::vector<bool>{true, true, false}));
}

TEST(DivideMachine, TwoThreadsOfACoreAreOneCore) {
  const Topology topology = two_threads_per_core(2);
  EXPECT_EQ(shared_in(topology, {.core_sets = {{0}, {2}}}), (std::vector<bool>{true, true}));
  EXPECT_EQ(shared_in(topology, {.core_sets = {{0, 2}, {1, 3}}}),
            (std::vector<bool>{false, false}));
}

TEST(DivideMachine, WithoutNodesEverythingIsOnNodeZero) {
  Topology topology = machine({4});
  topology.core_nodes.clear();
  topology.affinity_cores.clear();
  EXPECT_EQ(divide(topology, {.devices = 2}), (Sets{{0, 1}, {2, 3}}));
  EXPECT_EQ(nodes_of(topology, {.core_sets = {{3}}}), std::vector<int>{0});
  topology.core_threads = {0, 1};  // 2 and 3 are threads of unknown cores
  EXPECT_EQ(shared_in(topology, {.core_sets = {{2}, {3}}}), (std::vector<bool>{false, false}));
}

TEST(DivideMachine, RefusesWhatCannotBe) {
  const auto refusal = [](const DeviceRequest& request) {
    return error_of([&] { divide_machine(machine({4}), request); });
  };
  EXPECT_SAYS(refusal({.devices = 0}), "devices: ", "1 to 1024", "got 0");
  EXPECT_SAYS(refusal({.devices = 1025}), "1 to 1024", "got 1025");
  EXPECT_SAYS(refusal({.core_sets = Sets(2000, {0})}), "1 to 1024", "got 2000");
  EXPECT_SAYS(refusal({.cores_per_device = -1}), "cores per device: ", "1 to 4096", "got -1");
  EXPECT_SAYS(refusal({.core_sets = {{0}}, .cores_per_device = 2}), "core sets or cores per device",
              "both");
  EXPECT_SAYS(refusal({.devices = 2, .core_sets = {{0}, {1}, {2}}}), "core set", "2 devices",
              "got 3");
  EXPECT_SAYS(refusal({.core_sets = {{0}, {}}}), "core set 1: ", "got none");
  EXPECT_SAYS(refusal({.core_sets = {{0, 1, 0}}}), "core set 0: ", "0 twice");
  EXPECT_SAYS(refusal({.core_sets = {{0, 1}, {2, 9, 4, 5}}}),
              "core set 1: ", "hardware threads 4-5,9", "choose from 0-3");
  EXPECT_THROW(divide_machine(Topology(), {}), InternalError);
}

TEST(DeviceTable, HasARowPerDevice) {
  const Topology topology = machine({3, 2});
  EXPECT_EQ(device_table(divide_machine(topology, {.devices = 2}), topology),
            "device   workers  NUMA node  shared  hardware threads\n"
            "0              3  0          no      0-2\n"
            "1              2  1          no      3-4\n"
            "(5 workers in all, 5 usable cores)\n");
  const Topology small = machine({1});
  EXPECT_EQ(device_table(divide_machine(small, {.devices = 1, .cores_per_device = 2}), small),
            "device   workers  NUMA node  shared  hardware threads\n"
            "0              2  0          yes     0\n"
            "(2 workers in all, 1 usable core)\n");
  EXPECT_NE(device_table(divide_machine(topology, {}), topology).find(" 0-1 "), std::string::npos);
}

TEST(CoreSets, AreParsed) {
  EXPECT_EQ(parse_core_sets("0-3;4-7,9"), (Sets{{0, 1, 2, 3}, {4, 5, 6, 7, 9}}));
  EXPECT_EQ(parse_core_sets(" 2 ; 5 - 6 "), (Sets{{2}, {5, 6}}));
  EXPECT_EQ(parse_core_sets("7"), (Sets{{7}}));
}

TEST(CoreSets, RefusesWhatIsNoSet) {
  for (const char* text : {"", "0;", "0,,1", "a", "-1", "1-", "0-70000", "1-2-3", "0.5"}) {
    const std::string message = error_of([&] { parse_core_sets(text); });
    EXPECT_SAYS(message, concat("core sets '", text, "': "), "from 0 to 65535", "got '");
  }
  EXPECT_SAYS(error_of([] { parse_core_sets("0;5-2"); }),
              "core sets '0;5-2': ", "lower number first", "got '5-2'");
}

TEST(DeviceSet, TellsWhatNoDeviceUses) {
  EXPECT_EQ(threads_beside(machine({4}), {0, 1, 2}), (std::vector<int>{3}));
  EXPECT_EQ(threads_beside(machine({2}), {0, 1}), (std::vector<int>{}));
  EXPECT_EQ(threads_beside(machine({2, 2}), {}), (std::vector<int>{0, 1, 2, 3}));
  // The other thread of a core that a device uses is not free.
  EXPECT_EQ(threads_beside(two_threads_per_core(3), {0, 4}), (std::vector<int>{2, 5}));
}

TEST(DeviceSet, ProcessesDivideAMachine) {
  const Topology whole = machine({4, 4});
  EXPECT_EQ(part_of(whole, 0, 1).core_threads, whole.core_threads);
  const Topology second = part_of(whole, 1, 2);
  EXPECT_EQ(second.core_threads, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(second.core_nodes, (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(second.usable_cores(), 4);
  EXPECT_EQ(part_of(machine({2}), 3, 4).usable_cores(), 1);  // shared with another
  // Both threads of a core belong to the same part.
  EXPECT_EQ(part_of(two_threads_per_core(4), 1, 2).affinity, (std::vector<int>{2, 3, 6, 7}));
}

}  // namespace
}  // namespace pando::runtime
