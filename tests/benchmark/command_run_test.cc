#include "pando/benchmark/command_run.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "pando/launch/process.h"
#include "tests/support/expect_error.h"

namespace pando::benchmark {
namespace {

class CommandRunTest : public testing::Test {
 protected:
  void SetUp() override { launch::adopt_orphans(); }
  void TearDown() override { EXPECT_TRUE(launch::descendants().empty()); }

  CommandEnd run(const std::string& script, std::optional<double> timeout = std::nullopt) {
    CommandRequest request{
        .words = {"/bin/sh", "-c", script}, .folder = "/tmp", .timeout = timeout};
    request.env = {{"GREETING", "hello"}};
    request.take_output = [this](Stream stream, std::string_view bytes) {
      (stream == Stream::out ? out_ : err_) += bytes;
      if (out_.find("full") != std::string::npos) throw IoError("disk full");
    };
    launch::SignalInbox signals;
    return run_command(request, signals);
  }

  std::string out_;
  std::string err_;
};

TEST_F(CommandRunTest, GivesOutputCodeAndTime) {
  const CommandEnd end = run("echo $GREETING; pwd; echo oops >&2; cat; sleep 0.1; exit 3");
  EXPECT_EQ(end.code, 3);
  EXPECT_EQ(end.killed_by, 0);
  EXPECT_FALSE(end.timed_out);
  EXPECT_EQ(end.left_behind, 0);
  EXPECT_GE(end.seconds, 0.1);
  EXPECT_EQ(out_, "hello\n/tmp\n");
  EXPECT_EQ(err_, "oops\n");
}

TEST_F(CommandRunTest, TellsWhichSignalKilledIt) {
  const CommandEnd end = run("kill -SEGV $$");
  EXPECT_EQ(end.killed_by, SIGSEGV);
  EXPECT_EQ(end.code, 128 + SIGSEGV);
}

TEST_F(CommandRunTest, EndsAllProcessesAtTheTimeout) {
  // A grandchild in a session of its own, which would survive its process group.
  const CommandEnd end = run("setsid sleep 1000 & sleep 1000 & echo begun; wait", 0.3);
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(out_, "begun\n");
  EXPECT_LT(end.seconds, 5);
}

TEST_F(CommandRunTest, KillsWhatDoesNotWantToEnd) {
  const CommandEnd end = run("trap '' TERM; echo begun; while :; do sleep 0.05; done", 0.2);
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(end.killed_by, SIGKILL);
}

TEST_F(CommandRunTest, EndsWhatIsLeftBehind) {
  const CommandEnd end = run("sleep 1000 & echo done");
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.left_behind, 1);
  EXPECT_EQ(out_, "done\n");
}

TEST_F(CommandRunTest, ReadsMegabytes) {
  const CommandEnd end = run("yes 123456789 | head -c 20000000; yes x | head -c 5000000 >&2");
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(out_.size(), 20000000u);
  EXPECT_EQ(err_.size(), 5000000u);
}

TEST_F(CommandRunTest, EndsTheProgramIfItsOutputCannotBeTaken) {
  EXPECT_THROW(run("echo full; sleep 1000"), IoError);
}

TEST_F(CommandRunTest, EndsTheProgramAfterASignalToUs) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t self = getpid();
  const CommandEnd end = run("echo begun; kill -INT " + std::to_string(self) + "; sleep 1000");
  EXPECT_EQ(end.stop_signal, SIGINT);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(CommandRunTest, ShowsTheTimeThatPasses) {
  CommandRequest request{.words = {"/bin/sleep", "0.5"}, .folder = "/", .progress_period = 0.1};
  request.take_output = [](Stream, std::string_view) {};
  int shown = 0;
  request.show_progress = [&](double) { ++shown; };
  launch::SignalInbox signals;
  run_command(request, signals);
  EXPECT_GE(shown, 2);
}

}  // namespace
}  // namespace pando::benchmark
