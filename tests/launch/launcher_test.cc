#include "pando/launch/launcher.h"

#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "pando/app/job/exit_code.h"
#include "pando/launch/words.h"
#include "tests/launch/environment_scope.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::launch {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;
using Words = std::vector<std::string>;

// The mpirun of the test folder reports that it is Open MPI and otherwise runs the given script.
class LauncherTest : public ::testing::Test {
 protected:
  LauncherTest() { mpirun_does("exit 0"); }

  void mpirun_does(const std::string& script) const {
    const std::string path = folder_.write_text(
        "mpirun", "#!/bin/sh\nif [ $1 = --version ]; then echo 'Open MPI'; exit; fi\n" + script);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  int run(Words args) {
    out_.str("");
    err_.str("");
    args.insert(args.begin(), "--allow-run-as-root=1");
    return run_job(parse_run_options(args, out_).value(), out_, err_);
  }

  TempFolder folder_;
  EnvironmentScope path_{"PATH", folder_.path() + ":/usr/bin:/bin"};
  EnvironmentScope language_{"LC_ALL", "C.UTF-8"};
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(LauncherTest, ADryRunPrintsTheCommand) {
  EXPECT_EQ(run({"--num-instances=2", "--dry-run", "echo", "a b"}), 0);
  const Words words = split_words(out_.str(), "x");
  EXPECT_EQ(words.front(), folder_.path("mpirun"));
  EXPECT_EQ(words.back(), "a b");
  EXPECT_SAYS(out_.str(), " -np 2 ");
  EXPECT_SAYS(out_.str(), " run-instance ");
}

TEST_F(LauncherTest, PandoIsThisProgramUnlessOnPath) {
  run({"--dry-run", "pando", "train"});
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  EXPECT_SAYS(out_.str(), " -- " + self + " train\n");
  std::filesystem::permissions(folder_.write_text("pando", "#!/bin/sh\n"),
                               std::filesystem::perms::owner_all);
  run({"--dry-run", "pando", "train"});
  EXPECT_SAYS(out_.str(), " -- pando train\n");
}

TEST_F(LauncherTest, RefusesAProgramThatIsNotHere) {
  EXPECT_EQ(run({"no-such-program"}), 127);
  EXPECT_SAYS(err_.str(), "pando: error: program 'no-such-program': ");
  EXPECT_SAYS(err_.str(), "PATH");
  EXPECT_EQ(run({"/no/program"}), 127);
  EXPECT_SAYS(err_.str(), "pando: error: program '/no/program': ");
  const std::string text = folder_.write_text("text", "");
  EXPECT_EQ(run({text}), 126);
  EXPECT_SAYS(err_.str(), "pando: error: program '" + text + "': ");
  EXPECT_EQ(run({"--numa-aware", "maybe", "echo"}), 127);
  EXPECT_SAYS(err_.str(), "'maybe': ");
  EXPECT_SAYS(err_.str(), "--numa-aware");
  EXPECT_EQ(run({"-H", "other", "--dry-run", "no-such-program"}), 0)
      << "the program may exist on the other host";
}

TEST_F(LauncherTest, PrintsTheTopology) {
  EXPECT_EQ(run({"--num-instances=2", "-H", "b,c", "--print-topology"}), 0);
  EXPECT_SAYS(out_.str(), "│ host      │ b │ c │\n");
  const EnvironmentScope plain("LC_ALL", "C");
  run({"-H", "b", "--print-topology"});
  EXPECT_SAYS(out_.str(), "| host      | b |\n");
}

TEST_F(LauncherTest, SaysWhatHasNoEffect) {
  run({"--vipu-partition=p", "--offline-mode=1", "-H", "b", "--dry-run", "echo"});
  EXPECT_SAYS(err_.str(), "pando: warning: --vipu-partition, --offline-mode: ");
}

TEST_F(LauncherTest, RootNeedsAWord) {
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  const EnvironmentScope first("OMPI_ALLOW_RUN_AS_ROOT", std::nullopt);
  EXPECT_SAYS(error_of<UsageError>([&] {
                run({"--allow-run-as-root=no", "echo"});
              }),
              "--allow-run-as-root");
}

TEST_F(LauncherTest, ASubnetIsForOpenMpi) {
  std::filesystem::permissions(
      folder_.write_text("hydra", "#!/bin/sh\necho HYDRA build details:\n"),
      std::filesystem::perms::owner_all);
  EXPECT_SAYS(error_of<UsageError>([&] {
                run({"--mpirun=hydra", "--host-subnet=10.0.0.0/8", "echo"});
              }),
              "--host-subnet: ");
}

TEST_F(LauncherTest, GivesTheCodeOfTheJob) {
  EXPECT_EQ(run({"echo"}), 0);
  EXPECT_EQ(err_.str(), "");
  mpirun_does("exit 3");
  EXPECT_EQ(run({"--max-restarts=2", "echo"}), 3);
  EXPECT_SAYS(err_.str(), " s with exit code 3\n");
  EXPECT_EQ(err_.str().find("restart"), std::string::npos);
}

TEST_F(LauncherTest, SaysHowTheJobStopped) {
  mpirun_does("exit 75");
  EXPECT_EQ(run({"--max-restarts=2", "echo"}), 75);
  EXPECT_SAYS(err_.str(), "pando: the job stopped after ");
  EXPECT_SAYS(err_.str(), " s with exit code 75\n");
  mpirun_does("trap 'exit 75' USR1; kill -INT $PPID; while :; do sleep 0.01; done");
  EXPECT_EQ(run({"--max-restarts=2", "echo"}), 75);
  EXPECT_SAYS(err_.str(), " s with exit code 75: received SIGINT\n");
  mpirun_does("kill -TERM $PPID; sleep 60");
  EXPECT_EQ(run({"--max-restarts=2", "echo"}), 143);
  EXPECT_SAYS(err_.str(), " s with exit code 143: killed by SIGTERM\n");
  mpirun_does("trap '' USR1; kill -INT $PPID; sleep 1.1; kill -TERM $PPID; exec sleep 60");
  EXPECT_EQ(run({"--max-restarts=2", "echo"}), 143);
  EXPECT_SAYS(err_.str(), " s with exit code 143: received another signal, SIGTERM\n");
  mpirun_does("trap 'exit 4' USR1; kill -INT $PPID; while :; do sleep 0.01; done");
  EXPECT_EQ(run({"--max-restarts=2", "echo"}), 4);
  EXPECT_SAYS(err_.str(), "the job failed after ");
  EXPECT_SAYS(err_.str(), " s with exit code 4; ");
  EXPECT_SAYS(err_.str(), "SIGINT\n");
}

TEST_F(LauncherTest, RestartsWhatFailed) {
  // The first attempt fails; the second prints the variables that it got.
  mpirun_does("if [ -e " + folder_.path("mark") +
              " ]; then echo $* | tr ' ' '\\n' | grep PANDO_; exit 0; fi\necho $* | tr ' ' '\\n' | "
              "grep PANDO_ > " +
              folder_.path("mark") + "; exit 1\n");
  EXPECT_EQ(run({"--max-restarts=2", "echo"}), 0);
  EXPECT_SAYS(err_.str(), "(restart 1 of 2)\n");
  EXPECT_SAYS(out_.str(), "PANDO_RESTART=1\n");
  const std::string first = folder_.read("mark");
  EXPECT_SAYS(first, "PANDO_RESTART=0\n");
  const std::string job = first.substr(0, first.find('\n'));
  EXPECT_SAYS(job, "PANDO_JOB=");
  EXPECT_SAYS(out_.str(), job + "\n");
}

TEST_F(LauncherTest, GivesUpWithTheLastCode) {
  mpirun_does("echo attempt; exit 9");
  EXPECT_EQ(run({"--max-restarts=2", "echo"}), 9);
  EXPECT_EQ(out_.str(), "attempt\nattempt\nattempt\n");
}

TEST_F(LauncherTest, VerboseShowsTheCommand) {
  run({"-v", "echo", "hi"});
  EXPECT_SAYS(err_.str(), "pando: " + folder_.path("mpirun") + " --tag-output");
}

TEST_F(LauncherTest, ExportsTheConfiguration) {
  run({"--num-instances=3", "-H", "b", "--export-config", folder_.path("c.yml"), "--dry-run", "x"});
  EXPECT_SAYS(folder_.read("c.yml"), "num-instances: 3 ");
}

}  // namespace
}  // namespace pando::launch
