#include "pando/base/memory_limit.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pando/base/control_group.h"
#include "pando/base/memory_use.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

constexpr int64_t kMiB = int64_t{1} << 20;

class MemoryLimits : public ::testing::Test {
 protected:
  void SetUp() override {
    write("proc/meminfo", "MemTotal:   8192 kB\nMemFree:  1 kB\nMemAvailable:  4096 kB\n");
  }
  void TearDown() override { set_memory_limit(0); }

  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_.path(name)).parent_path());
    folder_.write_text(name, text);
  }
  std::vector<MemoryLimit> read(const std::string& membership) {
    write("proc/self/cgroup", membership);
    return memory_limits({.proc = folder_.path("proc"), .control_groups = folder_.path("groups")});
  }
  static const MemoryLimit* find(const std::vector<MemoryLimit>& limits, const std::string& name) {
    const auto found = std::ranges::find(limits, name, &MemoryLimit::name);
    return found == limits.end() ? nullptr : &*found;
  }

  TempFolder folder_;
};

TEST_F(MemoryLimits, TheMachineLeavesWhatIsAvailable) {
  const auto limits = read("");
  ASSERT_FALSE(limits.empty());
  EXPECT_EQ(limits[0].name, "the memory of this machine");
  EXPECT_EQ(limits[0].bytes, 8 * kMiB);
  EXPECT_EQ(limits[0].left, 4 * kMiB);
}

TEST_F(MemoryLimits, EveryGroupOnTheWayLeavesWhatNobodyUsesExceptFiles) {
  write("groups/a/memory.max", "104857600\n");
  write("groups/a/memory.current", "52428800\n");
  write("groups/a/memory.stat", "anon 7\ninactive_file 10485760\nactive_file 5242880\n");
  write("groups/a/b/memory.max", "max\n");
  write("groups/a/b/memory.high", "20971520\n");
  write("groups/a/b/memory.current", "1048576\n");
  const auto limits = read("0::/a/b\n");
  const MemoryLimit* outer = find(limits, "the control group /a");
  ASSERT_NE(outer, nullptr);
  EXPECT_EQ(outer->bytes, 100 * kMiB);
  EXPECT_EQ(outer->left, (100 - 50 + 15) * kMiB);
  const MemoryLimit* inner = find(limits, "the control group /a/b");
  ASSERT_NE(inner, nullptr);  // memory.high counts too
  EXPECT_EQ(inner->bytes, 20 * kMiB);
  EXPECT_EQ(inner->left, 19 * kMiB);
}

TEST_F(MemoryLimits, VersionOneGroupsCountTheirHierarchy) {
  write("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("groups/memory/x/memory.limit_in_bytes", "157286400\n");
  write("groups/memory/x/memory.usage_in_bytes", "62914560\n");
  write("groups/memory/x/memory.stat",
        "active_file 1\ntotal_inactive_file 2097152\ntotal_active_file 1048576\n");
  const auto limits = read("4:memory:/x\n3:cpuset:/x\n");
  const MemoryLimit* group = find(limits, "the control group /x");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->left, (150 - 60 + 3) * kMiB);
  EXPECT_EQ(find(limits, "the control group /"), nullptr);
}

TEST_F(MemoryLimits, LimitsOfTheProcessLeaveWhatItHasNotMapped) {
  for (const auto& [resource, name] :
       {std::pair(RLIMIT_AS, "ulimit -v"), std::pair(RLIMIT_DATA, "ulimit -d")}) {
    rlimit before{};
    ASSERT_EQ(getrlimit(resource, &before), 0);
    const int64_t bytes = memory_use().addresses + 1024 * kMiB;
    rlimit now = before;
    now.rlim_cur = static_cast<rlim_t>(bytes);
    ASSERT_EQ(setrlimit(resource, &now), 0);
    const auto limits = read("");
    EXPECT_EQ(setrlimit(resource, &before), 0);
    const MemoryLimit* limit = find(limits, name);
    ASSERT_NE(limit, nullptr) << name;
    EXPECT_EQ(limit->bytes, bytes);
    EXPECT_LT(limit->left, bytes);
    EXPECT_GE(limit->left, 512 * kMiB);
    EXPECT_FALSE(limit->is_shared);  // with the other instances
    EXPECT_TRUE(limit->counts_addresses);
  }
}

TEST_F(MemoryLimits, InstancesOfAMachineDivideWhatTheyShare) {
  const MemoryLimit shared{"nowhere", 100 * kMiB, 80 * kMiB, true, false};
  EXPECT_EQ(left_for(shared, {}), 80 * kMiB);
  EXPECT_EQ(left_for(shared, {.processes = 4}), 20 * kMiB);
  MemoryLimit own = shared;
  own.is_shared = false;
  own.counts_addresses = true;
  EXPECT_EQ(left_for(own, {.addresses = 30 * kMiB, .processes = 4}), 50 * kMiB);
  EXPECT_SAYS(describe(shared, {.processes = 4}), "20.0 MiB of 100.0 MiB (nowhere) are left for");
  EXPECT_SAYS(describe(shared, {.processes = 4}), "4 instances");
}

// What another instance has taken since the start does not count twice.
TEST_F(MemoryLimits, InstancesDivideWhatWasLeftAtTheStart) {
  remember_memory_at_start();
  const auto limits = memory_limits();
  MemoryLimit machine = limits[0];
  const int64_t at_start = machine.left;
  machine.left = at_start * 3 / 4;  // the other one has taken its part
  const int64_t half = left_for(machine, {.processes = 2});
  EXPECT_NEAR(static_cast<double>(half), static_cast<double>(at_start) / 2,
              static_cast<double>(at_start) / 20);
  machine.left = kMiB;
  EXPECT_EQ(left_for(machine, {.processes = 2}), kMiB);
}

TEST_F(MemoryLimits, ATightLimitRefusesBeforeAnythingIsTaken) {
  EXPECT_NO_THROW(require_memory("a few numbers", 1000));
  EXPECT_NO_THROW(require_memory("some numbers", 17 * kMiB));
  const std::string text =
      error_of<OverMemoryLimit>([] { require_memory("the weights", int64_t{1} << 50); });
  EXPECT_SAYS(text, "the weights need 1024.0 TiB");
  EXPECT_SAYS(text, "are left");
}

TEST_F(MemoryLimits, AChosenLimitReplacesThoseOfTheSystem) {
  const int64_t resident = memory_use().resident;
  set_memory_limit(resident + 64 * kMiB);
  ASSERT_EQ(memory_limits().size(), 1u);
  EXPECT_NO_THROW(require_memory("numbers", 17 * kMiB));
  EXPECT_SAYS(error_of<OverMemoryLimit>([] { require_memory("numbers", 128 * kMiB); }),
              "memory limit");
  set_memory_limit(int64_t{1} << 60);
  EXPECT_NO_THROW(require_memory("numbers", int64_t{1} << 50));
}

TEST(ControlGroups, ListsEveryFolderOnTheWay) {
  const auto groups = control_groups("/g", "4:memory:/a/b\n0::/\nrubbish");
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[2].folder, "/g/memory/a/b");
  EXPECT_EQ(groups[2].name, "/a/b");
  EXPECT_FALSE(groups[2].is_version_2());
  EXPECT_TRUE(groups[3].is_version_2());
}

}  // namespace
}  // namespace pando
