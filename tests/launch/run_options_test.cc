#include "pando/launch/run_options.h"

#include <sstream>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "pando/launch/words.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::launch {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;
using Words = std::vector<std::string>;

RunOptions parse(const Words& args) {
  std::ostringstream out;
  return parse_run_options(args, out).value();
}

std::string refused(const Words& args) {
  return error_of<UsageError>([&] { parse(args); });
}

TEST(RunOptions, Defaults) {
  const RunOptions options = parse({"echo", "hi"});
  EXPECT_EQ(options.num_instances, 1);
  EXPECT_EQ(options.num_replicas, std::nullopt);
  EXPECT_EQ(options.devices_per_replica, 1);
  EXPECT_TRUE(options.numa_aware);
  EXPECT_EQ(options.max_restarts, 0);
  EXPECT_EQ(options.program, (Words{"echo", "hi"}));
  EXPECT_TRUE(options.idle.empty());
}

TEST(RunOptions, CommandsOfTheOriginal) {
  const RunOptions options = parse({"--num-instance", "2", "--num-replicas=4", "--ipus-per-replica",
                                    "3", "python3", "train.py", "--num-replicas", "9"});
  EXPECT_EQ(options.num_instances, 2);
  EXPECT_EQ(options.num_replicas, 4);
  EXPECT_EQ(options.devices_per_replica, 3);
  EXPECT_EQ(options.program, (Words{"python3", "train.py", "--num-replicas", "9"}));
}

TEST(RunOptions, EveryOption) {
  Words args =
      split_words("--devices-per-replica=2 --numa-aware no -H a,b --host-subnet 10.0.0.0/8", "");
  for (const char* more :
       {"--mpirun=mpiexec.mpich --mpi-global-args '--mca a b' --mpi-local-args='-x A=1'",
        "--allow-run-as-root yes --print-topology 1 --num-instances=4 --max-restarts 2",
        "--only-output-from-instance 3 --heartbeat-period 0.5 --heartbeat-timeout=2",
        "--dry-run -v -- echo"}) {
    for (const std::string& word : split_words(more, "")) args.push_back(word);
  }
  const RunOptions options = parse(args);
  EXPECT_EQ(options.mpirun, "mpiexec.mpich");
  EXPECT_EQ(options.devices_per_replica, 2);
  EXPECT_FALSE(options.numa_aware);
  EXPECT_EQ(options.host, "a,b");
  EXPECT_EQ(options.host_subnet, "10.0.0.0/8");
  EXPECT_EQ(options.mpi_global_args, "--mca a b");
  EXPECT_EQ(options.mpi_local_args, "-x A=1");
  EXPECT_TRUE(options.allow_run_as_root);
  EXPECT_TRUE(options.print_topology);
  EXPECT_EQ(options.only_output_from_instance, 3);
  EXPECT_EQ(options.max_restarts, 2);
  EXPECT_EQ(options.heartbeat_period, 0.5);
  EXPECT_EQ(options.heartbeat_timeout, 2.0);
  EXPECT_TRUE(options.dry_run);
  EXPECT_TRUE(options.verbose);
  EXPECT_EQ(parse({"--hostfile", "f", "echo"}).hostfile, "f");
}

TEST(RunOptions, ThoseOfAResourceManagerHaveNoEffect) {
  const RunOptions options = parse({"--vipu-partition=p",
                                    "--vipu-server-host",
                                    "h",
                                    "--vipu-server-port=8090",
                                    "--vipu-server-timeout=600",
                                    "--vipu-partition-attempts",
                                    "2",
                                    "--update-partition=no",
                                    "--reset-partition",
                                    "0",
                                    "--remove-partition",
                                    "yes",
                                    "--vipu-cluster",
                                    "c",
                                    "--executable-cache-path",
                                    "/c",
                                    "--offline-mode",
                                    "1",
                                    "--num-ilds",
                                    "2",
                                    "--synchronise-python-venv",
                                    "v",
                                    "--synchronise-poplar-sdk=s",
                                    "--distribute-ssh-key=k",
                                    "echo"});
  EXPECT_EQ(options.program, Words{"echo"});
  EXPECT_EQ(options.idle.size(), 15u);
  EXPECT_EQ(options.idle.front(), "--num-ilds");
}

TEST(RunOptions, HelpNamesThemAndIsOnlyOurs) {
  std::ostringstream out;
  EXPECT_FALSE(parse_run_options(Words{"--num-instances", "2", "--help"}, out).has_value());
  for (const char* part : {"usage: pando run", "--num-replicas N", "alias --ipus-per-replica",
                           "--max-restarts", "--vipu-partition"}) {
    EXPECT_SAYS(out.str(), part);
  }
  EXPECT_EQ(parse({"pando", "train", "--help"}).program.back(), "--help");
}

void expect_refused(const Words& args, std::initializer_list<const char*> parts) {
  const std::string message = refused(args);
  for (const char* part : parts) EXPECT_SAYS(message, part);
}

TEST(RunOptions, Refusals) {
  expect_refused({}, {"no program", "pando run [flags] program"});
  expect_refused({"--num-instances", "0", "x"}, {"--num-instances: ", "'0'"});
  expect_refused({"--num-instances", "two", "x"}, {"--num-instances: ", "'two'"});
  expect_refused({"--num-replicas", "0", "x"}, {"--num-replicas: ", "'0'"});
  expect_refused({"--ipus-per-replica", "0", "x"}, {"--devices-per-replica: ", "'0'"});
  expect_refused({"--max-restarts", "-1", "x"}, {"--max-restarts: ", "'-1'"});
  expect_refused({"--heartbeat-period", "0", "x"}, {"--heartbeat-period: ", "'0'"});
  expect_refused({"--numa-aware=maybe", "x"}, {"--numa-aware: ", "'maybe'"});
  expect_refused({"--num-instance-count", "2", "x"}, {"--num-instance-count: "});
  expect_refused({"-H", "", "x"}, {"--host: ", "''", "unset"});
  expect_refused({"--hostfile=", "x"}, {"--hostfile: ", "''", "unset"});
  expect_refused({"-H", "a", "--hostfile", "f", "x"}, {"--hostfile: ", "--host;"});
  expect_refused({"--num-instances=2", "--only-output-from-instance=2", "x"},
                 {"--only-output-from-instance: ", "at most 1", "2 instances", "got 2"});
  expect_refused({"--heartbeat-period=3", "--heartbeat-timeout=3", "x"},
                 {"--heartbeat-timeout: ", "3 s of --heartbeat-period", "got 3 s"});
}

TEST(RunOptions, AnExportedConfigurationImports) {
  const TempFolder folder;
  const std::string path = folder.path("run.yml");
  RunOptions options = parse({"--num-instances=2", "--num-replicas=4", "--host", "n[0-1]",
                              "--mpi-global-args=--mca a 'b c'", "--export-config", path, "echo"});
  export_config(options);
  const RunOptions read = parse({"--import-config", path, "--num-replicas", "8", "ls"});
  EXPECT_EQ(read.num_instances, 2);
  EXPECT_EQ(read.num_replicas, 8) << "the command line overrides the file";
  EXPECT_EQ(read.host, "n[0-1]");
  EXPECT_EQ(read.mpi_global_args, "--mca a 'b c'");
  EXPECT_EQ(read.program, Words{"ls"});

  EXPECT_SAYS(error_of<UsageError>([&] { export_config(options); }), "--overwrite-config");
  options.overwrite_config = true;
  export_config(options);
  options.export_config = folder.path("none/run.yml");
  EXPECT_SAYS(error_of<IoError>([&] { export_config(options); }), "none/run.yml");
}

TEST(RunOptions, RefusesABadConfiguration) {
  const TempFolder folder;
  const auto imported = [&](const std::string& text) {
    return refused({"--import-config", folder.write_text("c.yml", text), "echo"});
  };
  EXPECT_SAYS(imported("num-instance-count: 2\n"), "c.yml:1:");
  EXPECT_SAYS(imported("num-instances: 0\n"), "num-instances: ");
  EXPECT_SAYS(imported("num-instances: 0\n"), "'0'");
  EXPECT_SAYS(imported("import-config: x\n"), "command line");
  EXPECT_SAYS(imported("- a\n"), "'name: value'");
  EXPECT_SAYS(refused({"--import-config", folder.path("none.yml"), "echo"}), "--import-config: ");
  folder.write_text("empty.yml", "");
  EXPECT_EQ(parse({"--import-config", folder.path("empty.yml"), "echo"}).num_instances, 1);
}

}  // namespace
}  // namespace pando::launch
