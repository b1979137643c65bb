#include "pando/launch/mpirun.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/launch/words.h"
#include "tests/launch/environment_scope.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::launch {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

RunOptions some_options() {
  RunOptions options;
  options.num_instances = 4;
  options.num_replicas = 8;
  options.devices_per_replica = 2;
  options.program = {"echo", "a b"};
  return options;
}

std::string script(const TempFolder& folder, const std::string& name, const std::string& prints) {
  std::string path = folder.write_text(name, "#!/bin/sh\necho '" + prints + "'\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(MpiRun, CommandOfOpenMpi) {
  RunOptions options = some_options();
  options.host = "a,b";
  options.host_subnet = "10.0.0.0/8";
  options.mpi_global_args = "--mca plm_rsh_agent '/my shell'";
  options.mpi_local_args = "--wdir /x";
  options.heartbeat_period = 0.5;
  options.heartbeat_timeout = 2;
  const JobDivision job = divide_job(options);
  const LaunchContext context = {.mpirun = {"/bin/mpirun", MpiKind::open_mpi},
                                 .pando = "/bin/pando",
                                 .is_root = true,
                                 .variables = job_variables(options, job, "job1", 1),
                                 .passed_names = {"PATH"}};
  EXPECT_EQ(quote_words(mpi_command(options, job, context)),
            "/bin/mpirun --tag-output --bind-to none --map-by slot --oversubscribe "
            "--allow-run-as-root --host a:2,b:2 --mca oob_tcp_if_include 10.0.0.0/8 "
            "--mca btl_tcp_if_include 10.0.0.0/8 --mca plm_rsh_agent '/my shell' -np 4 "
            "-x POPDIST_NUM_TOTAL_REPLICAS=8 -x POPDIST_NUM_LOCAL_REPLICAS=2 "
            "-x POPDIST_NUM_IPUS_PER_REPLICA=2 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 "
            "-x PANDO_JOB=job1 -x PANDO_RESTART=1 -x PANDO_DEFAULT_REPLICAS=0 "
            "-x PANDO_HEARTBEAT_PERIOD=0.5 -x PANDO_HEARTBEAT_TIMEOUT=2 -x PATH --wdir /x "
            "/bin/pando run-instance "
            "--instances-per-host=2 --numa-aware=1 -- echo 'a b'");
}

TEST(MpiRun, CommandOfMpich) {
  RunOptions options = some_options();
  options.host = "a,b";
  options.numa_aware = false;
  options.mpi_global_args = "-launcher rsh";
  options.mpi_local_args = "-wdir /x";
  const JobDivision job = divide_job(options);
  const LaunchContext context = {.mpirun = {"/bin/mpirun", MpiKind::hydra},
                                 .pando = "/bin/pando",
                                 .is_root = false,
                                 .variables = {{"A", "1"}},
                                 .passed_names = {"PATH"}};
  EXPECT_EQ(quote_words(mpi_command(options, job, context)),
            "/bin/mpirun -prepend-pattern '[1,%r]<mpi>:' -hosts a:2,b:2 -launcher rsh -genv A 1 -n "
            "4 -wdir /x "
            "/bin/pando run-instance --instances-per-host=2 --numa-aware=0 -- echo 'a b'");
}

TEST(MpiRun, ReplicasThatNobodyAskedForAreADefault) {
  RunOptions options;
  const auto has = [](const Variables& variables, const std::string& value) {
    return std::find(variables.begin(), variables.end(),
                     std::pair<std::string, std::string>("PANDO_DEFAULT_REPLICAS", value)) !=
           variables.end();
  };
  EXPECT_TRUE(has(job_variables(options, divide_job(options), "job1", 0), "1"));
  options.num_replicas = 1;
  EXPECT_TRUE(has(job_variables(options, divide_job(options), "job1", 0), "0"));
}

TEST(MpiRun, KindByVersion) {
  EXPECT_EQ(kind_of_mpirun("mpirun (Open MPI) 4.1.4\n\nReport bugs to", "x"), MpiKind::open_mpi);
  EXPECT_EQ(kind_of_mpirun("mpirun.real (OpenRTE) 2.1.1\n", "x"), MpiKind::open_mpi);
  EXPECT_EQ(kind_of_mpirun("HYDRA build details:\n    Version: 4.0.2\n", "x"), MpiKind::hydra);
  EXPECT_EQ(kind_of_mpirun("Intel(R) MPI Library for Linux* OS, Version 2021", "x"),
            MpiKind::hydra);
  const std::string message =
      error_of<ResourceError>([] { kind_of_mpirun("LAM 7.1\nmore", "/bin/mpirun"); });
  EXPECT_SAYS(message, "/bin/mpirun --version: ");
  EXPECT_SAYS(message, "'LAM 7.1'");
  EXPECT_SAYS(message, "Open MPI or MPICH");
}

TEST(MpiRun, IsFoundOnPath) {
  const TempFolder folder;
  const EnvironmentScope path("PATH", folder.path() + ":/usr/bin:/bin");
  const std::string expected = script(folder, "mpirun", "HYDRA build details:");
  const MpiRun found = find_mpirun("mpirun");
  EXPECT_EQ(found.path, expected);
  EXPECT_EQ(found.kind, MpiKind::hydra);
}

TEST(MpiRun, ItsAbsenceNamesTheRemedy) {
  const TempFolder folder;
  const EnvironmentScope path("PATH", folder.path());
  const std::string message = error_of<ResourceError>([] { find_mpirun("mpirun"); });
  for (const char* part : {"'mpirun' on PATH", "install Open MPI", "openmpi-bin", "--mpirun"}) {
    EXPECT_SAYS(message, part);
  }
  EXPECT_SAYS(error_of<ResourceError>([] { find_mpirun("/no/mpirun"); }), "'/no/mpirun'; install");
}

TEST(MpiRun, ProgramsOnPath) {
  const TempFolder folder;
  const std::string program = script(folder, "program", "");
  folder.write_text("text", "");
  EXPECT_EQ(find_on_path(program), program);
  EXPECT_EQ(find_on_path(folder.path("text")), "");
  EXPECT_EQ(find_on_path(folder.path()), "");
  const EnvironmentScope path("PATH", "/nowhere:" + folder.path());
  EXPECT_EQ(find_on_path("program"), program);
  EXPECT_EQ(find_on_path("text"), "");
}

TEST(MpiRun, PassesOnTheNamesThatMatter) {
  std::vector<std::string> entries = {"POPDIST_X=1", "PATH=/bin",        "PANDO_JOB=old",
                                      "PANDO_LOG=1", "LD_LIBRARY_PATH=", "HOME=/root"};
  std::vector<char*> environment;
  for (std::string& entry : entries) environment.push_back(entry.data());
  environment.push_back(nullptr);
  EXPECT_EQ(passed_names(environment.data(), {{"PANDO_JOB", "new"}}),
            (std::vector<std::string>{"LD_LIBRARY_PATH", "PANDO_LOG", "PATH", "POPDIST_X"}));
}

TEST(MpiRun, RootNeedsAWord) {
  const EnvironmentScope first("OMPI_ALLOW_RUN_AS_ROOT", std::nullopt);
  const EnvironmentScope second("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", std::nullopt);
  RunOptions options;
  EXPECT_FALSE(may_run_as_root(options));
  options.mpi_global_args = "--allow-run-as-root";
  EXPECT_TRUE(may_run_as_root(options));
  options.mpi_global_args = "";
  options.allow_run_as_root = true;
  EXPECT_TRUE(may_run_as_root(options));
  options.allow_run_as_root = false;
  const EnvironmentScope one("OMPI_ALLOW_RUN_AS_ROOT", "1");
  EXPECT_FALSE(may_run_as_root(options));
  const EnvironmentScope both("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  EXPECT_TRUE(may_run_as_root(options));
}

}  // namespace
}  // namespace pando::launch
