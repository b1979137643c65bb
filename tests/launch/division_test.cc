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
  EXPECT_EQ(error_of<UsageError>([] { divide_job(request(1, 1), "node[1-2]"); }),
            "--num-instances: found 1, which 2 hosts do not divide evenly");
}

TEST(Division, RefusesWhatIsNotEven) {
  const auto refused = [](const RunOptions& options) {
    return error_of<UsageError>([&] { divide_job(options); });
  };
  EXPECT_EQ(refused(request(4, 6)),
            "--num-replicas: found 6, which 4 instances do not divide evenly");
  EXPECT_EQ(refused(request(4, 2)),
            "--num-instances: found 4 for 2 replicas, wanted at most one instance for each "
            "replica");
  EXPECT_EQ(refused(request(4, 4, "a,b,c")),
            "--num-instances: found 4, which 3 hosts do not divide evenly");
  EXPECT_EQ(refused(request(1, 1, "a,b")),
            "--num-instances: found 1, which 2 hosts do not divide evenly");
  EXPECT_EQ(refused(request(1025, 1025)),
            "--num-instances: found 1025 for each host, wanted at most 1024");
}

}  // namespace
}  // namespace pando::launch
