#include "pando/launch/division.h"

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::launch {
namespace {

using testing_support::error_of;

RunOptions request(int instances, std::optional<int> replicas, const std::string& host = "") {
  RunOptions options;
  options.num_instances = instances;
  options.num_replicas = replicas;
  options.host = host;
  return options;
}

TEST(Division, OneReplicaPerInstanceUnlessTold) {
  const JobDivision job = divide_job(request(4, std::nullopt), "");
  EXPECT_EQ(job.replicas, 4);
  EXPECT_EQ(job.replicas_per_instance(), 1);
  EXPECT_EQ(job.instances_per_host(), 4);
  EXPECT_TRUE(job.hosts.empty());
}

TEST(Division, IsEven) {
  RunOptions options = request(4, 8, "a,b");
  options.devices_per_replica = 3;
  const JobDivision job = divide_job(options);
  EXPECT_EQ(job.hosts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(job.instances_per_host(), 2);
  EXPECT_EQ(job.replicas_per_instance(), 2);
  EXPECT_EQ(job.devices_per_instance(), 6);
}

TEST(Division, ReadsHostsFromAFile) {
  const testing_support::TempFolder folder;
  RunOptions options = request(2, 2);
  options.hostfile = folder.write_text("hosts", "a\nb\n");
  EXPECT_EQ(divide_job(options).hosts, (std::vector<std::string>{"a", "b"}));
}

TEST(Division, TakesTheHostsOfAnAllocation) {
  EXPECT_EQ(divide_job(request(4, 4), "node[01-02]").hosts,
            (std::vector<std::string>{"node01", "node02"}));
  EXPECT_EQ(divide_job(request(4, 4, "a,b"), "node[01-04]").hosts,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(divide_job(request(4, 4), "node7").hosts.empty());
  const std::string uneven = error_of<UsageError>([] { divide_job(request(1, 1), "node[1-2]"); });
  for (const char* part : {"--num-instances", "2 hosts", "got 1"}) EXPECT_SAYS(uneven, part);
}

TEST(Division, RefusesWhatIsNotEven) {
  const auto expect_refused = [](const RunOptions& options,
                                 std::initializer_list<const char*> parts) {
    const std::string message = error_of<UsageError>([&] { divide_job(options); });
    for (const char* part : parts) EXPECT_SAYS(message, part);
  };
  expect_refused(request(4, 6), {"--num-replicas", "4 instances", "got 6"});
  expect_refused(request(4, 2), {"--num-instances", "4 instances", "2 replicas"});
  expect_refused(request(4, 4, "a,b,c"), {"--num-instances", "3 hosts", "got 4"});
  expect_refused(request(1, 1, "a,b"), {"--num-instances", "2 hosts", "got 1"});
  expect_refused(request(1025, 1025), {"--num-instances", "at most 1024", "got 1025"});
}

}  // namespace
}  // namespace pando::launch
