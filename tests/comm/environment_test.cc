// SPDX-License-Identifier: MIT
#include "pando/comm/environment.h"

#include <cstdlib>
#include <map>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::comm {
namespace {

using testing_support::error_of;
using Values = std::map<std::string, std::string>;

Variables from(const Values& values) {
  return [values](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

TEST(FindLaunch, NothingWithoutALauncher) {
  EXPECT_FALSE(find_launch(from({})));
  EXPECT_FALSE(find_launch(from({{"POPDIST_NUM_TOTAL_REPLICAS", "4"}})));
}

TEST(FindLaunch, KnowsTheLaunchers) {
  const struct {
    const char* size;
    const char* rank;
    const char* launcher;
  } launchers[] = {
      {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI"},
      {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MVAPICH2"},
      {"PMI_SIZE", "PMI_RANK", "MPICH"},
      {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"},
  };
  for (const auto& each : launchers) {
    const auto launch = find_launch(from({{each.size, "4"}, {each.rank, "1"}}));
    ASSERT_TRUE(launch) << each.launcher;
    EXPECT_EQ(launch->instances, 4);
    EXPECT_SAYS(launch->launcher, each.launcher);
    EXPECT_EQ(launch->evidence, std::string(each.size) + "=4");
    EXPECT_FALSE(find_launch(from({{each.size, "4"}})))
        << "without a rank it is not one of the processes";
  }
}

TEST(FindLaunch, StepsOfSlurmNeedPmix) {
  Values step = {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "0"}};
  EXPECT_FALSE(find_launch(from(step))->introduces);
  step["PMIX_RANK"] = "0";
  EXPECT_TRUE(find_launch(from(step))->introduces);
  EXPECT_TRUE(find_launch(from({{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}))->introduces);
}

TEST(FindLaunch, PmixAloneDoesNotSayHowMany) {
  const auto launch = find_launch(from({{"PMIX_RANK", "3"}}));
  ASSERT_TRUE(launch);
  EXPECT_FALSE(launch->instances);
  EXPECT_EQ(launch->evidence, "PMIX_RANK=3");
}

TEST(FindLaunch, TheInnerLauncherCounts) {
  const auto launch = find_launch(from({{"OMPI_COMM_WORLD_SIZE", "2"},
                                        {"OMPI_COMM_WORLD_RANK", "0"},
                                        {"SLURM_STEP_NUM_TASKS", "1"},
                                        {"SLURM_PROCID", "0"},
                                        {"PMIX_RANK", "0"}}));
  EXPECT_EQ(launch->instances, 2);
}

TEST(FindLaunch, ABatchScriptOfSlurmIsNoStep) {
  EXPECT_FALSE(find_launch(from({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}})));
}

TEST(FindLaunch, RefusesBrokenSizes) {
  for (const char* broken : {"", "two", "0", "-1", "2.5", "99999999999"}) {
    const std::string message = error_of([&] {
      find_launch(from({{"OMPI_COMM_WORLD_SIZE", broken}, {"OMPI_COMM_WORLD_RANK", "0"}}));
    });
    EXPECT_SAYS(message, "OMPI_COMM_WORLD_SIZE");
    EXPECT_SAYS(message, concat("'", broken, "'"));
    EXPECT_SAYS(message, "at least 1");
  }
}

TEST(ProcessVariable, IsThatOfTheProcess) {
  setenv("PANDO_TEST_VARIABLE", "here", 1);
  EXPECT_STREQ(process_variable("PANDO_TEST_VARIABLE"), "here");
  unsetenv("PANDO_TEST_VARIABLE");
  EXPECT_EQ(process_variable("PANDO_TEST_VARIABLE"), nullptr);
}

TEST(ReadDivision, NothingSaid) {
  const Division division = read_division(from({}), 2, 1);
  EXPECT_FALSE(division.total_replicas);
  EXPECT_FALSE(division.devices_per_replica);
  EXPECT_FALSE(division.local_instance_index);
}

TEST(ReadDivision, AllSaid) {
  const Division division = read_division(from({{"POPDIST_NUM_TOTAL_REPLICAS", "8"},
                                                {"POPDIST_NUM_LOCAL_REPLICAS", "2"},
                                                {"POPDIST_NUM_IPUS_PER_REPLICA", "3"},
                                                {"POPDIST_REPLICA_INDEX_OFFSET", "6"},
                                                {"POPDIST_LOCAL_INSTANCE_INDEX", "1"},
                                                {"POPDIST_UNIFORM_REPLICAS_PER_INSTANCE", "1"}}),
                                          4, 3);
  EXPECT_EQ(division.total_replicas, 8);
  EXPECT_EQ(division.devices_per_replica, 3);
  EXPECT_EQ(division.local_instance_index, 1);
}

TEST(ReadDivision, LocalReplicasMakeTheTotal) {
  const auto division = read_division(from({{"POPDIST_NUM_LOCAL_REPLICAS", "2"}}), 3, 0);
  EXPECT_EQ(division.total_replicas, 6);
}

TEST(ReadDivision, OneReplicaInEachWhenNothingSaysOtherwise) {
  const Values offset = {{"POPDIST_REPLICA_INDEX_OFFSET", "1"}};
  EXPECT_NO_THROW(read_division(from(offset), 2, 1));
  const std::string message = error_of([&] { read_division(from(offset), 2, 0); });
  EXPECT_SAYS(message, "POPDIST_REPLICA_INDEX_OFFSET");
  EXPECT_SAYS(message, "expected 0");
  EXPECT_SAYS(message, "got 1");
}

TEST(ReadDivision, RefusesWhatIsNoNumber) {
  const struct {
    const char* name;
    const char* value;
    const char* least;
  } broken[] = {
      {"POPDIST_NUM_TOTAL_REPLICAS", "0", "1"},     {"POPDIST_NUM_LOCAL_REPLICAS", "x", "1"},
      {"POPDIST_NUM_IPUS_PER_REPLICA", "", "1"},    {"POPDIST_REPLICA_INDEX_OFFSET", "-1", "0"},
      {"POPDIST_LOCAL_INSTANCE_INDEX", "1e9", "0"},
  };
  for (const auto& each : broken) {
    const std::string message = error_of([&] {
      read_division(from({{each.name, each.value}}), 2, 0);
    });
    EXPECT_SAYS(message, each.name);
    EXPECT_SAYS(message, concat("'", each.value, "'"));
    EXPECT_SAYS(message, concat("at least ", each.least));
  }
}

TEST(ReadDivision, RefusesReplicasThatDoNotDivide) {
  const std::string message = error_of([] {
    read_division(from({{"POPDIST_NUM_TOTAL_REPLICAS", "5"}}), 2, 0);
  });
  EXPECT_SAYS(message, "POPDIST_NUM_TOTAL_REPLICAS is 5");
  EXPECT_SAYS(message, "multiple of 2");
}

TEST(ReadDivision, RefusesContradictions) {
  const std::string message = error_of([] {
    read_division(from({{"POPDIST_NUM_TOTAL_REPLICAS", "4"}, {"POPDIST_NUM_LOCAL_REPLICAS", "4"}}),
                  2, 0);
  });
  EXPECT_SAYS(message, "POPDIST_NUM_LOCAL_REPLICAS");
  EXPECT_SAYS(message, "expected 2");
  EXPECT_SAYS(message, "got 4");
}

TEST(ReadDivision, RefusesInstancesThatDiffer) {
  for (const char* no : {"0", "False", "no"}) {
    EXPECT_SAYS(error_of([&] {
                  read_division(from({{"POPDIST_UNIFORM_REPLICAS_PER_INSTANCE", no}}), 2, 0);
                }),
                "the same number of replicas");
  }
  EXPECT_NO_THROW(read_division(from({{"POPDIST_UNIFORM_REPLICAS_PER_INSTANCE", "True"}}), 2, 0));
  EXPECT_SAYS(error_of([&] {
                read_division(from({{"POPDIST_UNIFORM_REPLICAS_PER_INSTANCE", "maybe"}}), 2, 0);
              }),
              "'maybe'");
}

}  // namespace
}  // namespace pando::comm
