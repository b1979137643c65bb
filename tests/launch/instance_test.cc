#include "pando/launch/instance.h"

#include <map>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "tests/launch/environment_scope.h"
#include "tests/support/expect_error.h"

namespace pando::launch {
namespace {

using testing_support::error_of;
using Environment = std::map<std::string, std::string>;

Lookup lookup(Environment environment) {
  return [environment =
              std::move(environment)](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  };
}

void expect_place(const InstancePlace& place, int index, int local_index, int local_count) {
  EXPECT_EQ(place.index, index);
  EXPECT_EQ(place.local_index, local_index);
  EXPECT_EQ(place.local_count, local_count);
}

TEST(Instance, PlaceByOpenMpi) {
  expect_place(find_place(lookup({{"OMPI_COMM_WORLD_RANK", "5"},
                                  {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}}),
                          1),
               5, 2, 3);
}

TEST(Instance, PlaceByOthers) {
  expect_place(find_place(lookup({{"PMI_RANK", "5"}}), 4), 5, 1, 4);
  expect_place(find_place(lookup({{"PMI_RANK", "5"}, {"MPI_LOCALRANKID", "3"}}), 4), 5, 3, 4);
  expect_place(find_place(lookup({{"PMIX_RANK", "1"}}), 1), 1, 0, 1);
  expect_place(find_place(lookup({{"SLURM_PROCID", "7"}, {"SLURM_LOCALID", "1"}}), 2), 7, 1, 2);
}

TEST(Instance, PlaceIsUnknownWithoutALauncher) {
  for (const Environment& environment :
       {Environment{}, Environment{{"PMI_RANK", "x"}}, Environment{{"PMI_RANK", "-1"}}}) {
    EXPECT_SAYS(error_of([&] { find_place(lookup(environment), 1); }),
                "OMPI_COMM_WORLD_RANK, PMI_RANK, ");
  }
}

TEST(Instance, VariablesOfItsOwn) {
  const Variables variables =
      instance_variables(lookup({{"POPDIST_NUM_LOCAL_REPLICAS", "4"}}), {3, 1, 2});
  EXPECT_EQ(variables, (Variables{{"POPDIST_REPLICA_INDEX_OFFSET", "12"},
                                  {"POPDIST_LOCAL_INSTANCE_INDEX", "1"},
                                  {"TERM", "dumb"}}));
}

TEST(Instance, RefusesWhatPandoRunDoesNotGive) {
  const auto refused = [](const std::vector<std::string>& args) {
    return error_of<UsageError>([&] { run_instance(args); });
  };
  EXPECT_SAYS(refused({}), "run-instance: ");
  EXPECT_SAYS(refused({"--instances-per-host=0", "--", "echo"}), "--instances-per-host: ");
  EXPECT_SAYS(refused({"--other", "echo"}), "--other: ");
}

// Call it in a process of its own, because it changes signals, affinity and the environment.
int code_of_instance(const std::vector<std::string>& args) {
  const EnvironmentScope rank("OMPI_COMM_WORLD_RANK", "0");
  const EnvironmentScope size("OMPI_COMM_WORLD_LOCAL_SIZE", "1");
  const EnvironmentScope local("OMPI_COMM_WORLD_LOCAL_RANK", "0");
  return run_instance(args);
}

TEST(InstanceDeathTest, GivesTheCodeAndTellsTheLauncher) {
  EXPECT_EXIT(_exit(code_of_instance({"--", "sh", "-c", "exit 3"})), ::testing::ExitedWithCode(3),
              "pando: instance 0 on .* \\(pid [0-9]+\\): exit code 3");
  EXPECT_EXIT(_exit(code_of_instance({"sh", "-c", "kill -9 $$"})), ::testing::ExitedWithCode(137),
              "killed by signal 9");
  EXPECT_EXIT(_exit(code_of_instance({"/no/such/program"})), ::testing::ExitedWithCode(127),
              "cannot start '/no/such/program': No such file");
  EXPECT_EXIT(_exit(code_of_instance({"/etc/passwd"})), ::testing::ExitedWithCode(126),
              "cannot start '/etc/passwd': Permission denied");
}

TEST(InstanceDeathTest, SurvivesSignalsOfTheGroup) {
  EXPECT_EXIT(_exit(code_of_instance({"sh", "-c", "kill -USR1 $PPID; exit 75"})),
              ::testing::ExitedWithCode(75), "exit code 75");
}

}  // namespace
}  // namespace pando::launch
