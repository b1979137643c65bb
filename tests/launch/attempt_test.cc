// A shell script takes the place of mpirun.
#include "pando/launch/attempt.h"

#include <sstream>

#include <gtest/gtest.h>
#include <signal.h>

#include "pando/launch/process.h"
#include "tests/support/expect_error.h"

namespace pando::launch {
namespace {

struct Ended {
  AttemptResult result;
  std::string out;
  std::string err;
  std::string cause;
};

// Runs one attempt. This process receives `signals` before it starts.
Ended attempt(const std::string& script, const std::vector<int>& signals = {},
              MpiKind kind = MpiKind::open_mpi) {
  adopt_orphans();
  SignalInbox inbox;
  std::ostringstream out;
  std::ostringstream err;
  JobOutput output(out, err, {});
  for (const int number : signals) raise(number);
  const AttemptResult result = run_attempt({"/bin/sh", "-c", script}, kind, inbox, output);
  const auto& first = output.failures().first();
  return {result, out.str(), err.str(), first ? first->text : ""};
}

TEST(Attempt, PassesOutputAndCodeOn) {
  const Ended ended = attempt("echo '[1,0]<stdout>:a'; echo '[1,1]<stderr>:b' >&2; exit 3");
  EXPECT_EQ(ended.result.code, 3);
  EXPECT_EQ(ended.result.signal, 0);
  EXPECT_EQ(ended.out, "[1,0]<stdout>:a\n");
  EXPECT_EQ(ended.err, "[1,1]<stderr>:b\n");
  EXPECT_EQ(attempt("true").result.code, 0);
  EXPECT_EQ(attempt("kill -11 $$").result.code, 139);
}

TEST(Attempt, TheFirstSignalBecomesUsr1) {
  // The script itself sends the signal, after it has installed its trap.
  const Ended ended =
      attempt("trap 'echo got it; exit 75' USR1; kill -HUP $PPID; while :; do sleep 0.01; done");
  EXPECT_EQ(ended.result.code, 75);
  EXPECT_EQ(ended.result.signal, SIGHUP);
  EXPECT_SAYS(ended.err, "SIGHUP");
  EXPECT_EQ(ended.out, "got it\n");
}

TEST(Attempt, ASignalThatTheProgramDoesNotKnowIsTheOneThatCame) {
  const Ended ended = attempt("sleep 60", {SIGINT});
  EXPECT_EQ(ended.result.code, 128 + SIGINT);
  EXPECT_EQ(ended.result.signal, SIGINT);
}

TEST(Attempt, EndlessOutputDoesNotHoldSignalsUp) {
  const Ended ended = attempt("kill -HUP $PPID; exec yes '[1,0]<stdout>:x'");
  EXPECT_EQ(ended.result.code, 128 + SIGHUP);
  EXPECT_EQ(ended.result.signal, SIGHUP);
}

// `timeout` signals its child and the group of the child.
TEST(Attempt, SignalsWithinASecondAreOneRequest) {
  const Ended ended = attempt(
      "trap 'kill -TERM $PPID; exit 75' USR1; kill -TERM $PPID; kill -HUP $PPID; "
      "while :; do sleep 0.01; done");
  EXPECT_EQ(ended.result.code, 75);
  EXPECT_NE(ended.result.signal, 0);
  EXPECT_EQ(ended.result.second_signal, 0);
}

TEST(Attempt, ASignalContinuesWhatWasStopped) {
  const Ended ended = attempt(
      "trap 'exit 75' USR1; (until grep -q 'State:.T' /proc/$$/status; do sleep 0.01; done;"
      " kill -TERM $PPID) & kill -STOP $$; sleep 60");
  EXPECT_EQ(ended.result.code, 75);
  EXPECT_EQ(ended.result.signal, SIGTERM);
}

TEST(Attempt, AKilledMpirunIsTheCause) {
  const Ended ended = attempt("kill -9 $$");
  EXPECT_EQ(ended.result.code, 137);
  EXPECT_SAYS(ended.cause, "mpirun");
  EXPECT_SAYS(ended.cause, "signal 9");
  EXPECT_EQ(attempt("kill -USR1 $$", {SIGTERM}).cause, "");
}

TEST(Attempt, LeavesNothingBehindAfterAFailure) {
  const Ended ended = attempt("sleep 100 >/dev/null 2>&1 & exit 1");
  EXPECT_EQ(ended.result.code, 1);
  EXPECT_TRUE(descendants().empty());
}

TEST(Attempt, KnowsTheCause) {
  const Ended ended = attempt(
      "echo '[1,1]<stderr>:pando: instance 1 on a (pid 2): killed by signal 9 (Killed)' >&2; "
      "exit 137");
  EXPECT_EQ(ended.cause, "killed by signal 9 (Killed)");
  EXPECT_GE(ended.result.seconds, 0);
}

TEST(Attempt, ProgramsThatSavedAndStoppedDecideTheCode) {
  const std::string stopped =
      "echo '[1,0]<stderr>:pando: instance 0 on a (pid 1): exit code 75' >&2; ";
  EXPECT_EQ(attempt(stopped + "exit 1").result.code, 75);
  EXPECT_EQ(attempt(stopped + "exit 0").result.code, 75);
  const std::string failed =
      "echo '[1,1]<stderr>:pando: instance 1 on a (pid 2): exit code 1' >&2; ";
  EXPECT_EQ(attempt(stopped + failed + "exit 1").result.code, 1);
}

TEST(Attempt, AHostOutOfReachIsAFailureLikeOthers) {
  const std::string rule = std::string(74, '-');
  const Ended ended =
      attempt("echo '" + rule + "\nORTE has lost communication with a remote daemon." +
              "\n  Remote daemon: [[1,0],1] on node b\n" + rule + "' >&2; exit 255");
  EXPECT_EQ(ended.result.code, 1);
  EXPECT_SAYS(ended.cause, "connection");
}

TEST(Attempt, TheCodeIsThatOfTheFirst) {
  const std::string script = "echo '[1,1]<mpi>:pando: instance 1 on a (pid 2): exit code 1' >&2; ";
  EXPECT_EQ(attempt(script + "exit 3", {}, MpiKind::hydra).result.code, 1);
  EXPECT_EQ(attempt(script + "exit 0", {}, MpiKind::hydra).result.code, 0);
  EXPECT_EQ(attempt("exit 3", {}, MpiKind::hydra).result.code, 3);
}

}  // namespace
}  // namespace pando::launch
