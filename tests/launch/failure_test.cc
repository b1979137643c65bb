#include "pando/launch/failure.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::launch {
namespace {

TEST(Failure, AStatusIsALine) {
  const InstanceStatus status{.instance = 12, .host = "b.org", .pid = 123, .text = "exit code 3"};
  EXPECT_EQ(to_line(status), "pando: instance 12 on b.org (pid 123): exit code 3");
  const auto parsed = parse_status(to_line(status));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(to_line(*parsed), to_line(status));
  const auto colons = parse_status("pando: instance 0 on a (pid 1): died: its connection: closed");
  ASSERT_TRUE(colons.has_value());
  EXPECT_EQ(colons->text, "died: its connection: closed");
}

TEST(Failure, OtherLinesAreNoStatus) {
  for (const char* line :
       {"", "pando: error: instance 1 on a (pid 2): x", "pando: instance x on a (pid 2): x",
        "pando: instance 1 on a: x", "pando: instance 1 on a (pid 2): ",
        "say pando: instance 1 on a (pid 2): x", "pando: instance 99999999999 on a (pid 2): x"}) {
    EXPECT_FALSE(parse_status(line).has_value()) << line;
  }
}

TEST(Failure, HowAProgramEnded) {
  EXPECT_EQ(exit_text(3 << 8), "exit code 3");
  EXPECT_EQ(exit_text(9), "killed by signal 9 (Killed)");
  EXPECT_EQ(exit_text(11 | 0x80), "killed by signal 11 (Segmentation fault)");
  const auto from_launcher = [](const std::string& text) {
    return is_from_launcher({.instance = 0, .host = "a", .pid = 1, .text = text});
  };
  EXPECT_TRUE(from_launcher(kStarted));
  EXPECT_TRUE(from_launcher(exit_text(9)));
  EXPECT_TRUE(from_launcher(exit_text(256)));
  EXPECT_FALSE(from_launcher("died: its connection closed without a goodbye"));
}

// Texts printed by Open MPI 4.1.4.
constexpr const char* kNothingSaid =
    "Primary job  terminated normally, but 1 process returned\n"
    "a non-zero exit code. Per user-direction, the job has been aborted.\n";
constexpr const char* kSignal =
    "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).\n";
constexpr const char* kExit =
    "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
    "the job to be terminated. The first process to do so was:\n\n"
    "  Process name: [[6310,1],2]\n"
    "  Exit code:    75\n";
constexpr const char* kAbort =
    "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n"
    "with errorcode 3.\n\n"
    "NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.\n"
    "You may or may not see output from other processes, depending on\n"
    "exactly when Open MPI kills them.\n";
constexpr const char* kLost =
    "ORTE has lost communication with a remote daemon.\n\n"
    "  HNP daemon   : [[14745,0],0] on node vm\n"
    "  Remote daemon: [[14745,0],1] on node hostb\n\n"
    "This is usually due to either a failure of the TCP network\n"
    "connection to the node, or possibly an internal failure of\n"
    "the daemon itself. We cannot recover from this failure, and\n"
    "therefore will terminate the job.\n";
constexpr const char* kNotFound =
    "mpirun was unable to find the specified executable file, and therefore\n"
    "did not launch the job.  This error was first reported for process\n"
    "rank 0; it may have occurred for other processes as well.\n";

TEST(Failure, BlocksOfOpenMpi) {
  const auto by_signal = parse_failure_block(kSignal);
  ASSERT_TRUE(by_signal.has_value());
  EXPECT_EQ(to_line(*by_signal), "pando: instance 1 on vm (pid 0): killed by signal 9 (Killed)");
  const auto by_exit = parse_failure_block(kExit);
  ASSERT_TRUE(by_exit.has_value());
  EXPECT_EQ(by_exit->instance, 2);
  EXPECT_EQ(by_exit->text, "exit code 75");
  const auto by_abort = parse_failure_block(kAbort);
  ASSERT_TRUE(by_abort.has_value());
  EXPECT_EQ(by_abort->instance, 1);
  EXPECT_EQ(by_abort->text, "aborted the job with exit code 3");
  const auto lost = parse_failure_block(kLost);
  ASSERT_TRUE(lost.has_value());
  EXPECT_EQ(lost->instance, -1);
  EXPECT_EQ(lost->host, "hostb");
  const auto nothing = parse_failure_block(kNothingSaid);
  ASSERT_TRUE(nothing.has_value());
  EXPECT_EQ(nothing->text, "");
  EXPECT_FALSE(parse_failure_block(kNotFound).has_value());
  EXPECT_TRUE(parse_failure_block("=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"));
}

TEST(Failure, TheFirstCauseStays) {
  FailureLog log;
  EXPECT_FALSE(log.has_failed());
  EXPECT_EQ(log.summary(1, 2), "the job failed after 2.0 s with exit code 1");
  log.take(parse_status("pando: instance 1 on b (pid 12): started").value());
  EXPECT_FALSE(log.has_failed());
  log.take_failure(parse_failure_block(kNothingSaid).value());
  EXPECT_FALSE(log.has_failed());
  log.take_failure(parse_failure_block(kAbort).value());
  EXPECT_TRUE(log.has_failed());
  log.take(parse_status("pando: instance 0 on a (pid 11): exit code 1").value());
  EXPECT_EQ(
      log.summary(3, 12.345),
      "the job failed after 12.3 s with exit code 3; first failure: instance 1 on b (pid 12): "
      "aborted the job with exit code 3");
}

TEST(Failure, ACauseThatOthersSawAndTheEndOfTheProgram) {
  FailureLog log;
  log.take(parse_status("pando: instance 1 on a (pid 2): died: its connection closed").value());
  log.take(parse_status("pando: instance 0 on a (pid 1): exit code 1").value());
  log.take(parse_status("pando: instance 1 on a (pid 2): killed by signal 9 (Killed)").value());
  EXPECT_EQ(
      log.summary(137, 1),
      "the job failed after 1.0 s with exit code 137; first failure: instance 1 on a (pid 2): "
      "died: its connection closed; killed by signal 9 (Killed)");
}

TEST(Failure, TheCodeOfTheFirst) {
  const auto code_after = [](const std::string& text) {
    FailureLog log;
    log.take({.instance = 0, .host = "a", .pid = 1, .text = text});
    return log.first_code();
  };
  EXPECT_EQ(code_after("exit code 3"), 3);
  EXPECT_EQ(code_after("killed by signal 9 (Killed)"), 137);
  EXPECT_EQ(code_after("died"), std::nullopt);
  EXPECT_EQ(FailureLog().first_code(), std::nullopt);
}

TEST(Failure, AHostMayBeTheCause) {
  FailureLog log;
  log.take_failure(parse_failure_block(kLost).value());
  EXPECT_EQ(
      log.summary(1, 0.5),
      "the job failed after 0.5 s with exit code 1; first failure: host hostb: connection lost");
}

TEST(Failure, AHostThatCannotBeReached) {
  FailureLog log;
  log.take_failure(
      parse_failure_block("ORTE was unable to reliably start one or more daemons.\nThis usually\n")
          .value());
  EXPECT_SAYS(log.summary(255, 0.5), "exit code 255; mpirun cannot start its daemon on a host");
  EXPECT_SAYS(log.summary(255, 0.5), "'ssh HOST true'");
  const auto nothing = parse_failure_block(
      "ORTE does not know how to route a message to the specified daemon\nlocated on the node\n");
  ASSERT_TRUE(nothing.has_value());
  EXPECT_EQ(nothing->text, "");
}

TEST(Failure, AStopIsNoFailure) {
  FailureLog log;
  log.take(parse_status("pando: instance 0 on a (pid 11): exit code 75").value());
  EXPECT_FALSE(log.has_failed());
  EXPECT_TRUE(log.has_stopped());
  FailureLog by_mpirun;
  EXPECT_FALSE(by_mpirun.has_stopped());
  by_mpirun.take_failure(parse_failure_block(kExit).value());
  EXPECT_TRUE(by_mpirun.has_stopped());
  // Instances that stop because another failed may report before or after that failure.
  log.take(parse_status("pando: instance 1 on a (pid 12): killed by signal 9 (Killed)").value());
  EXPECT_FALSE(log.has_stopped());
  EXPECT_EQ(log.first()->instance, 1);
}

TEST(Failure, AnErrorThatWasShownIsNotRepeated) {
  FailureLog log;
  log.take({.instance = 1, .host = "a", .pid = 2, .text = "no such file", .is_shown = true});
  log.take({.instance = 1, .host = "a", .pid = 2, .text = "exit code 1"});
  EXPECT_EQ(
      log.summary(1, 1),
      "the job failed after 1.0 s with exit code 1; first failure: instance 1 on a (pid 2): its "
      "error is above; exit code 1");
}

TEST(Failure, SignalsHaveNames) {
  EXPECT_EQ(signal_name(2), "SIGINT");
  EXPECT_EQ(signal_name(10), "SIGUSR1");
  EXPECT_EQ(signal_name(200), "signal 200");
}

}  // namespace
}  // namespace pando::launch
